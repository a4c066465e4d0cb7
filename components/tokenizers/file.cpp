#include "components/contract/data_error.hpp"
#include "components/tokenizers/tokenizer.hpp"
#include "components/tokenizers/tokenizers.hpp"
#include "registry/files/folders.hpp"
#include "registry/files/io_error.hpp"
#include "registry/files/mapped_file.hpp"

namespace runner {
namespace {

struct File {
  std::filesystem::path path = {};
  bool special_tokens = false;
};

constexpr auto describe(std::type_identity<File>) {
  return fields(field("path", &File::path, "A HuggingFace tokenizer.json.", required(), non_empty()),
                field("special_tokens", &File::special_tokens,
                      "Special tokens that a text contains, such as <|endoftext|> between documents, are "
                      "these tokens. Otherwise "
                      "they are ordinary text: nobody can end a message by writing its end."));
}

TokenizerFacts facts(const File&) { return {.learns = false}; }

std::unique_ptr<Tokenizer> build(const File& settings, const TokenizerInputs& inputs) {
  if (!inputs.learned.empty()) return read_tokenizer(inputs.learned, "dataset.json");
  const std::string path = settings.path.string();
  if (is_missing(settings.path))
    throw DataError("There is no file " + path + ": set dataset.tokenizer.path to a tokenizer.json.");
  try {
    const MappedFile file(settings.path);
    return read_tokenizer(file.text(), path, settings.special_tokens);
  } catch (const IoError& error) {
    throw DataError(error.what());
  }
}

const Registration<TokenizerKind> registration{"file", "Read from a HuggingFace tokenizer.json.", &build};

}  // namespace
}  // namespace runner
