#pragma once

#include <functional>
#include <string>
#include <vector>

#include "components/contract/tokenizer.hpp"
#include "components/tokenizers/normalizer.hpp"

namespace runner {

struct AddedToken {
  Token id = 0;
  std::string text = {};
  bool single_word = false;  // only if it is not part of a longer word
  bool strip_left = false;   // includes the spaces on this side
  bool strip_right = false;
  bool normalized = false;  // searched for after the normalizer, not before
  bool special = false;     // skipped in decoded text
};

// Reads "added_tokens" of a tokenizer.json.
std::vector<AddedToken> read_added_tokens(const nlohmann::json& json);

// Finds added tokens that the text contains literally.
class AddedTokenFinder {
 public:
  explicit AddedTokenFinder(std::vector<AddedToken> tokens);

  // Whether the bytes [begin, end) of the text may be this token.
  using Allowed = std::function<bool(const AddedToken&, std::size_t begin, std::size_t end)>;

  // Calls `see` for all parts of the text in order: tokens, and the text between them (with null).
  void each(std::string_view text, const Allowed& allowed,
            const std::function<void(std::string_view part, const AddedToken*)>& see) const;

 private:
  const AddedToken* longest_at(std::string_view text, std::size_t position, const Allowed& allowed) const;

  std::vector<AddedToken> sorted_;  // by their text
};

}  // namespace runner
