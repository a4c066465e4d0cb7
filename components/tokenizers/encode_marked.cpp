#include "components/contract/tokenizer.hpp"

namespace runner {

// For tokenizers without special tokens whose tokens depend on no neighbour.
MarkedTokens Tokenizer::encode_marked(const MarkedText& marked) const {
  MarkedTokens result;
  std::size_t done = 0;
  for (const std::size_t cut : marked.cuts) {
    encode(marked.text.substr(done, cut - done), result.tokens);
    result.ended.push_back(result.tokens.size());
    result.begun.push_back(result.tokens.size());
    done = cut;
  }
  encode(marked.text.substr(done), result.tokens);
  return result;
}

}  // namespace runner
