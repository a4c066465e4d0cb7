#pragma once

#include <memory>

#include "components/chat/chat_renderer.hpp"
#include "components/contract/tokenizer.hpp"

namespace runner {

enum class TrainOn { assistant, last, all };

// A conversation as tokens, and what is wrong with it.
struct EncodedChat {
  std::vector<Token> tokens;
  std::vector<bool> trained;  // of each token
  std::size_t cut = 0;        // tokens beyond the length that are not among them
  std::string refusal = {};   // why there are none
  bool two_begins = false;    // begins with two begin tokens
  bool no_end = false;        // has an answer without its end token
  bool other_prompt = false;  // has an answer that the template would not ask for in this way
  bool answers_cut = false;   // had tokens to train on, but not before the length
  std::size_t count_trained() const;
};

// Conversations as tokens. Several threads may use it at once.
class ChatEncoder {
 public:
  // Throws DataError if the tokenizer does not have a token that ends answers.
  ChatEncoder(std::shared_ptr<const Tokenizer> tokenizer, ChatFormat format, std::size_t length,
              TrainOn train_on);

  EncodedChat encode(const Conversation& chat) const;
  // What the template writes before an answer. Throws DataError that completes "row 3 ".
  std::vector<Token> prompt(const Conversation& chat) const;
  std::vector<Token> ends() const;  // an answer is over after any of these

  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const ChatFormat& format() const { return renderer_.format(); }

 private:
  MarkedTokens tokens_of(const jinja::Text& text, std::vector<std::size_t> cuts) const;
  bool is_end(Token token) const;

  std::shared_ptr<const Tokenizer> tokenizer_;
  ChatRenderer renderer_;
  std::size_t length_;
  TrainOn train_on_;
  std::vector<std::string> end_texts_;
};

}  // namespace runner
