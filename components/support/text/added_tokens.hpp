#pragma once

#include <functional>
#include <string>
#include <vector>

#include "components/contract/tokenizer.hpp"
#include "components/support/text/normalizer.hpp"

namespace runner {

struct AddedToken {
  Token id = 0;
  std::string text = {};
  bool single_word = false;  // only where no letter touches it
  bool strip_left = false;   // takes the spaces beside it
  bool strip_right = false;
  bool normalized = false;  // looked for after the normalizer, not before
  bool special = false;     // left out of decoded text
};

// Reads "added_tokens" of a tokenizer.json.
std::vector<AddedToken> read_added_tokens(const nlohmann::json& json);

// Finds special tokens that the text contains literally.
class AddedTokenFinder {
 public:
  explicit AddedTokenFinder(std::vector<AddedToken> tokens);

  // The text in order: what is between tokens, and the tokens.
  void each(std::string_view text,
            const std::function<void(std::string_view part, const AddedToken*)>& see) const;

 private:
  const AddedToken* longest_at(std::string_view text, std::size_t position) const;

  std::vector<AddedToken> sorted_;  // by their text
};

}  // namespace runner
