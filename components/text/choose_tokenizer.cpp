#include "components/text/choose_tokenizer.hpp"

#include "components/datasets/dataset.hpp"
#include "components/io/io_error.hpp"
#include "components/io/mapped_file.hpp"
#include "components/text/code_points.hpp"

namespace runner {

namespace {

std::unique_ptr<Tokenizer> from_file(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) {
    throw DataError("There is no tokenizer \"" + path.string() +
                    "\": dataset.tokenizer is char, byte, bpe, or the path of a tokenizer.json.");
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

void check_tokenizer(const std::string& name, const std::optional<std::int64_t>& vocab_size, Report& report) {
  if (vocab_size && name != "bpe") report.error("vocab_size", "means nothing without tokenizer = \"bpe\"");
}

std::int64_t largest_bpe(const std::optional<std::int64_t>& vocab_size) { return vocab_size.value_or(1024); }

std::unique_ptr<Tokenizer> choose_tokenizer(const std::string& name,
                                            const std::optional<std::int64_t>& /*vocab_size*/,
                                            const std::vector<std::string_view>& train,
                                            const std::vector<std::string_view>& others) {
  if (name == "byte") return byte_tokenizer();
  if (name == "char") {
    std::vector<std::string_view> all = train;
    all.insert(all.end(), others.begin(), others.end());
    return char_tokenizer(characters_of(all));
  }
  return from_file(name);
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
