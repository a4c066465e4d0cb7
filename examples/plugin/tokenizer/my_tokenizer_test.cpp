// Run by ctest: text to tokens and back.
#include <iostream>

#include "components/tokenizers/tokenizer.hpp"
#include "registry/make_part.hpp"

int main() {
  using namespace runner;
  const Registry registry = Registry::of_linked();
  const auto tokenizer = make_part<TokenizerKind>(registry, "my_tokenizer").build({});
  std::vector<Token> tokens;
  tokenizer->encode("ab Z", tokens);
  if (tokens != std::vector<Token>{0, 1, 26, 26} || tokenizer->decode(tokens) != "ab  ") {
    std::cerr << "decoded: \"" << tokenizer->decode(tokens) << "\"\n";
    return 1;
  }
}
