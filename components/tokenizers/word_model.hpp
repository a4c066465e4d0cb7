#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "components/contract/tokenizer.hpp"
#include "components/tokenizers/json_step.hpp"

namespace runner {

using Vocabulary = std::unordered_map<std::string, Token>;

// Converts a word (a piece of text from the pre-tokenizer) to tokens.
class WordModel {
 public:
  explicit WordModel(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}
  virtual ~WordModel() = default;
  virtual void encode(const std::string& word, std::vector<Token>& tokens) const = 0;
  virtual std::optional<Token> unknown() const = 0;
  const Vocabulary& vocabulary() const { return vocabulary_; }

 protected:
  std::optional<Token> find(const std::string& text) const {
    const auto found = vocabulary_.find(text);
    return found == vocabulary_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  Vocabulary vocabulary_;
};

// Reads "model" of a tokenizer.json: BPE, WordPiece, WordLevel or Unigram. Throws std::runtime_error that
// names what is not supported.
std::unique_ptr<WordModel> read_word_model(const nlohmann::json& json);

std::unique_ptr<WordModel> read_bpe(JsonStep& step, Vocabulary vocabulary);
std::unique_ptr<WordModel> read_unigram(JsonStep& step);
std::optional<Token> find_unknown(JsonStep& step, const Vocabulary& vocabulary,
                                  const std::string& usual = {});

}  // namespace runner
