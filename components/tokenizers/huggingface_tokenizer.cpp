#include <algorithm>

#include "components/tokenizers/added_tokens.hpp"
#include "components/tokenizers/pre_tokenizer.hpp"
#include "components/tokenizers/sentence_frame.hpp"
#include "components/tokenizers/token_decoder.hpp"
#include "components/tokenizers/tokenizers.hpp"
#include "components/tokenizers/word_model.hpp"

namespace runner {

namespace {

using Json = nlohmann::json;

std::vector<AddedToken> some_of(std::vector<AddedToken> tokens, bool normalized, const Normalize& normalize) {
  std::erase_if(tokens, [&](const AddedToken& token) { return token.normalized != normalized; });
  if (normalized)
    for (AddedToken& token : tokens) token.text = normalize(token.text);
  return tokens;
}

// The tokens of frequent words are computed only once.
class Cache {
 public:
  explicit Cache(const WordModel& model) : model_(model) {}

  void encode(const std::string& word, std::vector<Token>& tokens) {
    constexpr std::size_t longest = 64, most = 1 << 20;
    if (word.size() > longest || known_.size() > most) return model_.encode(word, tokens);
    const auto [entry, added] = known_.try_emplace(word);
    if (added) model_.encode(word, entry->second);
    tokens.insert(tokens.end(), entry->second.begin(), entry->second.end());
  }

 private:
  const WordModel& model_;
  std::unordered_map<std::string, std::vector<Token>> known_;
};

class HuggingFaceTokenizer final : public Tokenizer {
 public:
  explicit HuggingFaceTokenizer(const Json& json) : HuggingFaceTokenizer(JsonStep(json, "top level"), json) {}

  std::int64_t vocabulary() const override { return static_cast<std::int64_t>(texts_.size()); }

  void encode(std::string_view text, std::vector<Token>& tokens) const override {
    Cache cache(*model_);
    as_they_are_.each(text, [&](std::string_view raw, const AddedToken* token) {
      if (token) return tokens.push_back(token->id);
      const bool first_part = raw.data() == text.data();
      const std::string normal = normalize_(std::string(raw));
      normalized_.each(normal, [&](std::string_view part, const AddedToken* inner) {
        if (inner) return tokens.push_back(inner->id);
        const bool first = first_part && part.data() == normal.data();
        for (const TextPiece& piece : pre_tokenize_({{std::string(part), first}}))
          cache.encode(piece.text, tokens);
      });
    });
  }

  std::string decode(std::span<const Token> tokens) const override {
    Texts texts;
    for (const Token token : tokens)
      if (!texts_[token].empty() && !special_[token]) texts.push_back(texts_[token]);
    std::string text;
    for (const std::string& part : decode_(std::move(texts))) text += part;
    return text;
  }

  std::string json() const override { return json_; }
  std::vector<Token> prefix() const override { return frame_.prefix; }
  std::vector<Token> suffix() const override { return frame_.suffix; }
  std::optional<Token> padding() const override { return padding_; }
  std::optional<Token> unknown() const override { return model_->unknown(); }

 private:
  // The truncation in the file is ignored: the dataset has a length of its own.
  HuggingFaceTokenizer(JsonStep file, const Json& json)
      : normalize_(read_normalizer(json.value("normalizer", Json()))),
        pre_tokenize_(read_pre_tokenizer(json.value("pre_tokenizer", Json()))),
        model_(read_word_model(file.at("model"))),
        decode_(read_token_decoder(json.value("decoder", Json()))),
        frame_(read_sentence_frame(json.value("post_processor", Json()))),
        added_(read_added_tokens(json.value("added_tokens", Json()))),
        as_they_are_(some_of(added_, false, normalize_)),
        normalized_(some_of(added_, true, normalize_)),
        json_(json.dump()) {
    for (const char* key : {"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
                            "post_processor", "decoder"}) {
      file.pass(key);
    }
    file.finish();
    for (const auto& [text, id] : model_->vocabulary()) name(id, text, false);
    for (const AddedToken& token : added_) name(token.id, token.text, token.special);
    for (const auto& side : {frame_.prefix, frame_.suffix}) {
      for (const Token token : side)
        if (token >= texts_.size()) file.fail("adds tokens around a sentence that are not in its vocabulary");
    }
    find_padding(file);
  }

  void name(Token id, const std::string& text, bool special) {
    if (id >= texts_.size()) {
      texts_.resize(id + 1);
      special_.resize(id + 1);
    }
    texts_[id] = text;
    special_[id] = special;
  }

  void find_padding(JsonStep& file) {
    if (file.has("padding")) {
      padding_ = JsonStep(file.at("padding"), "padding").token("pad_id");
      if (*padding_ >= texts_.size()) file.fail("pads with a token that it does not have");
      return;
    }
    for (const char* usual : {"[PAD]", "<pad>"}) {
      const auto found = std::ranges::find(texts_, usual);
      if (found != texts_.end()) padding_ = static_cast<Token>(found - texts_.begin());
    }
  }

  Normalize normalize_;
  PreTokenize pre_tokenize_;
  std::unique_ptr<WordModel> model_;
  DecodeTexts decode_;
  SentenceFrame frame_;
  std::vector<AddedToken> added_;
  AddedTokenFinder as_they_are_, normalized_;
  std::string json_;
  std::vector<std::string> texts_;  // of every token; empty if the number is not used
  std::vector<bool> special_;
  std::optional<Token> padding_;
};

}  // namespace

std::unique_ptr<Tokenizer> huggingface_tokenizer(const Json& json) {
  return std::make_unique<HuggingFaceTokenizer>(json);
}

}  // namespace runner
