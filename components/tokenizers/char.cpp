#include "components/tokenizers/code_points.hpp"
#include "components/tokenizers/tokenizer.hpp"
#include "components/tokenizers/tokenizers.hpp"

namespace runner {
namespace {

struct Char {};

constexpr auto describe(std::type_identity<Char>) { return fields(); }

// Of all texts: a character that occurs only in the validation set must not be an error.
std::set<char32_t> characters_of(const TokenizerInputs& inputs) {
  std::vector<bool> seen(0x110000);
  for (const auto* texts : {&inputs.texts, &inputs.others}) {
    for (std::string_view text : *texts)
      while (!text.empty()) seen[take_code_point(text)] = true;
  }
  std::set<char32_t> characters;
  for (char32_t character = 0; character < seen.size(); ++character)
    if (seen[character]) characters.insert(character);
  return characters;
}

std::unique_ptr<Tokenizer> build(const Char&, const TokenizerInputs& inputs) {
  if (!inputs.learned.empty()) return read_tokenizer(inputs.learned, "dataset.json");
  return char_tokenizer(characters_of(inputs), inputs.unknown);
}

const Registration<TokenizerKind> registration{"char", "Every character that occurs is a token.", &build};

}  // namespace
}  // namespace runner
