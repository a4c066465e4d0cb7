#include "components/support/text/choose_tokenizer.hpp"

#include "components/contract/data_error.hpp"
#include "components/support/io/io_error.hpp"
#include "components/support/io/mapped_file.hpp"
#include "components/support/text/code_points.hpp"

namespace runner {

namespace {

std::unique_ptr<Tokenizer> from_file(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) {
    throw DataError("There is no tokenizer \"" + path.string() +
                    "\": dataset.tokenizer names one of those known, or the path of a tokenizer.json.");
  }
  try {
    const MappedFile file(path);
    return read_tokenizer({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()},
                          path.string());
  } catch (const IoError& error) {
    throw DataError(error.what());
  }
}

std::set<char32_t> characters_of(const std::vector<std::string_view>& texts) {
  std::vector<bool> seen(0x110000);
  for (std::string_view text : texts)
    while (!text.empty()) seen[take_code_point(text)] = true;
  std::set<char32_t> characters;
  for (char32_t character = 0; character < seen.size(); ++character)
    if (seen[character]) characters.insert(character);
  return characters;
}

}  // namespace

std::int64_t TokenizerChoice::largest() const { return vocab_size.value_or(name == "word" ? 10'000 : 1024); }

void TokenizerChoice::check(Report& report) const {
  if (!vocab_size) return;
  if (!learns()) report.error("vocab_size", "means nothing with a tokenizer that is not learnt");
  if (name == "bpe" && *vocab_size <= 256) {
    report.error("vocab_size", "must be above 256 for \"bpe\", which has a token for every byte");
  }
}

std::unique_ptr<Tokenizer> choose_tokenizer(const TokenizerChoice& choice,
                                            const std::vector<std::string_view>& texts, bool unknown) {
  if (choice.name == "byte") return byte_tokenizer();
  if (choice.name == "char") return char_tokenizer(characters_of(texts), unknown);
  if (choice.name == "word") return learn_words(texts, choice.largest());
  if (choice.name == "bpe") return learn_bpe(texts, choice.largest());
  return from_file(choice.name);
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
