#include "components/tokenizers/tokenizers.hpp"
#include "components/tokenizers/unicode.hpp"

namespace runner {

namespace {

class ByteTokenizer final : public Tokenizer {
 public:
  std::int64_t vocabulary() const override { return 256; }

  void encode(std::string_view text, std::vector<Token>& tokens) const override {
    for (const char byte : text) tokens.push_back(static_cast<unsigned char>(byte));
  }

  std::string decode(std::span<const Token> tokens) const override {
    std::string bytes;
    for (const Token token : tokens) bytes += static_cast<char>(token);
    return unicode::repaired(bytes);
  }

  std::string json() const override { return R"({"tokenizer": "byte"})"; }
};

}  // namespace

std::unique_ptr<Tokenizer> byte_tokenizer() { return std::make_unique<ByteTokenizer>(); }

}  // namespace runner
