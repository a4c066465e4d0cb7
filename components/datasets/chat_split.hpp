#pragma once

#include <memory>

#include "components/chat/chat_encoder.hpp"
#include "components/datasets/dataset.hpp"

namespace runner {

DataSpec chat_spec(std::int64_t vocabulary, std::int64_t length);

// Conversations of which the answers are trained on: the target of each token is the next one if it is
// trained, and ignored if not. Those that have no token to train on are skipped; what is wrong with the
// others is counted.
class ChatSplit final : public Split {
 public:
  // Throws DataError if nothing is left. `what`, such as "training", is for messages.
  ChatSplit(std::shared_ptr<const ChatEncoder> encoder, const std::vector<const Conversation*>& chats,
            std::int64_t length, const std::string& what);

  std::int64_t size() const override { return std::ssize(ends_); }
  DataSpec spec() const override;
  SplitDetails details() const override { return details_; }
  std::optional<ShownTokens> tokens_of(std::int64_t index) const override;
  void read(std::span<const ExampleRef> examples, Batch& batch, std::int64_t first) const override;

 private:
  struct Row {
    std::span<const Token> tokens;
    std::size_t begin;  // in trained_
  };
  Row row(std::int64_t index) const;

  std::shared_ptr<const ChatEncoder> encoder_;
  std::int64_t length_;
  std::vector<Token> tokens_;
  std::vector<bool> trained_;      // of each token
  std::vector<std::size_t> ends_;  // of each conversation
  std::vector<std::string> places_;
  SplitDetails details_;
};

}  // namespace runner
