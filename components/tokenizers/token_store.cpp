#include "components/tokenizers/token_store.hpp"

#include "components/contract/data_error.hpp"

#include <algorithm>
#include <cstring>

#include "components/tokenizers/code_points.hpp"

namespace runner {

namespace {

template <class Narrow>
void widen(const std::uint8_t* from, std::int64_t count, std::int64_t* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    Narrow token;
    std::memcpy(&token, from + static_cast<std::size_t>(i) * sizeof token, sizeof token);
    out[i] = static_cast<std::int64_t>(token);
  }
}

}  // namespace

TokenStore::TokenStore(std::int64_t vocabulary)
    : width_(vocabulary <= 1 << 8    ? 1
             : vocabulary <= 1 << 16 ? 2
                                     : 4) {}

TokenStore::TokenStore(std::span<const std::uint8_t> bytes, std::shared_ptr<const void> owner,
                       std::int64_t vocabulary)
    : TokenStore(vocabulary) {
  size_ = static_cast<std::int64_t>(bytes.size() / width_);
  borrowed_ = bytes.data();
  owner_ = std::move(owner);
}

void TokenStore::append(std::span<const Token> tokens) {
  own_.reserve(own_.size() + tokens.size() * width_);
  for (const Token token : tokens) {
    for (std::size_t byte = 0; byte < width_; ++byte)
      own_.push_back(static_cast<std::uint8_t>(token >> (8 * byte)));
  }
  size_ += static_cast<std::int64_t>(tokens.size());
}

void TokenStore::copy(std::int64_t first, std::int64_t count, std::int64_t* out) const {
  const std::uint8_t* from = (borrowed_ ? borrowed_ : own_.data()) + static_cast<std::size_t>(first) * width_;
  if (width_ == 1) widen<std::uint8_t>(from, count, out);
  if (width_ == 2) widen<std::uint16_t>(from, count, out);
  if (width_ == 4) widen<std::uint32_t>(from, count, out);
}

TokenStore encode_all(const Tokenizer& tokenizer, std::string_view text) {
  TokenStore store(tokenizer.vocabulary());
  std::vector<Token> tokens;
  while (!text.empty()) {
    tokens.clear();
    tokenizer.encode(take_lines(text), tokens);
    store.append(tokens);
  }
  return store;
}

std::vector<Token> in_vocabulary(const Tokenizer& tokenizer, std::span<const std::int64_t> tokens) {
  std::vector<Token> checked;
  for (const std::int64_t token : tokens) {
    if (token < 0 || token >= tokenizer.vocabulary()) {
      throw DataError("There is no token " + std::to_string(token) + ": the vocabulary ends at " +
                      std::to_string(tokenizer.vocabulary() - 1) + ".");
    }
    checked.push_back(static_cast<Token>(token));
  }
  return checked;
}

}  // namespace runner
