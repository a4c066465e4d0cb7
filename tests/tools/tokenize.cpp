// Text through tokenizers, for the comparison with HuggingFace's library (tests/python/test_tokenizers.py):
//   tokenize text ..: the same, but special tokens in the texts are text
//   tokenize encode TEXTS.json TOKENIZER.json..   prints for each [{"ids": [..], "framed": [..], "text":
//   ".."}, ..] tokenize learn TEXTS.json VOCABULARY..        prints for each the tokenizer.json
// What fails is {"error": ".."} in its place.
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "components/tokenizers/tokenizer.hpp"
#include "components/tokenizers/tokenizers.hpp"
#include "registry/make_part.hpp"

namespace {

using Json = nlohmann::json;
using Texts = std::vector<std::string>;

Json encoded(const Texts& texts, const std::string& path, bool special) {
  const auto tokenizer =
      runner::make_part<runner::TokenizerKind>(runner::Registry::of_linked(), "file",
                                               {{"path", path}, {"special_tokens", special}})
          .build({});
  Json results = Json::array();
  for (const std::string& text : texts) {
    std::vector<runner::Token> ids, framed = tokenizer->prefix();
    tokenizer->encode(text, ids);
    framed.insert(framed.end(), ids.begin(), ids.end());
    for (const runner::Token token : tokenizer->suffix()) framed.push_back(token);
    results.push_back({{"ids", ids}, {"framed", framed}, {"text", tokenizer->decode(ids)}});
  }
  return {{"vocabulary", tokenizer->vocabulary()}, {"results", results}};
}

Json encode(const Texts& texts, const std::string& path) { return encoded(texts, path, true); }
Json encode_text(const Texts& texts, const std::string& path) { return encoded(texts, path, false); }

Json learn(const Texts& texts, const std::string& vocabulary) {
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  return Json::parse(runner::learn_bpe(views, std::stoll(vocabulary))->json());
}

}  // namespace

int main(int count, char** arguments) try {
  if (count < 4)
    throw std::invalid_argument("usage: tokenize encode|text|learn TEXTS.json TOKENIZER.json|VOCABULARY..");
  const std::string what = arguments[1];
  const auto work = what == "encode" ? encode : what == "text" ? encode_text : learn;
  const Texts texts = Json::parse(std::ifstream(arguments[2]));
  Json all = Json::array();
  for (int i = 3; i < count; ++i) {
    try {
      all.push_back(work(texts, arguments[i]));
    } catch (const std::exception& error) {
      all.push_back({{"error", error.what()}});
    }
  }
  std::cout << all << '\n';
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
