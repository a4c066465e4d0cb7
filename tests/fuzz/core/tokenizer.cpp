// tokenizer.json files: never a crash, and a decent message; what is read encodes and decodes any text.
#include <cstdint>
#include <string>
#include <vector>

#include "components/contract/data_error.hpp"
#include "components/tokenizers/tokenizers.hpp"
#include "tests/fuzz/core/message.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace runner;
  try {
    const auto tokenizer = read_tokenizer({reinterpret_cast<const char*>(data), size}, "fuzz.json");
    std::vector<Token> tokens;
    tokenizer->encode("To be, or not to be: Zwölf Boxkämpfer 42 </s> aaaaaaaa", tokens);
    for (const Token token : tokens)
      if (token >= static_cast<Token>(tokenizer->vocabulary())) std::abort();
    tokenizer->decode(tokens);
  } catch (const std::exception& error) {
    require_decent(error.what());
  }
  return 0;
}
