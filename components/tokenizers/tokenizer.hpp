#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "components/contract/tokenizer.hpp"
#include "registry/component.hpp"

namespace runner {

// What a tokenizer is made from. A component reads `learned` if it is given, otherwise it learns from the
// texts.
//   struct Letters { std::string alphabet = "abc"; };
//   constexpr auto describe(std::type_identity<Letters>) {
//     return fields(field("alphabet", &Letters::alphabet, "One token for each letter.", non_empty()));
//   }
//   class LetterTokenizer final : public Tokenizer { .. };  // vocabulary(), encode(), decode(), json()
//   std::unique_ptr<Tokenizer> build(const Letters& settings, const TokenizerInputs&) {
//     return std::make_unique<LetterTokenizer>(settings.alphabet);
//   }
//   const Registration<TokenizerKind> registration{"letters", "Single letters.", &build};
struct TokenizerInputs {
  std::vector<std::string_view> texts = {};  // the training set
  std::vector<std::string_view> others =
      {};                    // further texts that will be encoded: only their characters may be learnt
  bool unknown = false;      // text outside the vocabulary becomes a token instead of an error
  std::string learned = {};  // Tokenizer::json() of a run, to restore its tokenizer
};

struct TokenizerFacts {
  std::int64_t vocabulary =
      0;                   // its size, or an upper bound; 0: not known before the texts or a file are read
  bool learns = true;      // from the texts
  bool reversible = true;  // decoding gives the text back
  bool bytes = false;      // tokens are the bytes of the text, which need not be UTF-8
};

struct TokenizerKind {
  static constexpr std::string_view name = "tokenizer";
  static constexpr std::string_view summary = "How text becomes tokens.";
  static constexpr KindOnResume on_resume{.part = OnResume::course, .parameters = OnResume::course};
  using Product = Tokenizer;
  using Inputs = TokenizerInputs;
  using Facts = TokenizerFacts;
};

}  // namespace runner
