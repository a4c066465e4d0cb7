#include <algorithm>
#include <mutex>

#include "components/tokenizers/added_tokens.hpp"
#include "components/tokenizers/pre_tokenizer.hpp"
#include "components/tokenizers/sentence_frame.hpp"
#include "components/tokenizers/token_decoder.hpp"
#include "components/tokenizers/tokenizers.hpp"
#include "components/tokenizers/word_model.hpp"

namespace runner {

namespace {

using Json = nlohmann::json;

// Ours, in the files that runs keep: everybody else's have no such setting.
constexpr const char* parse_special_key = "runner_parses_special_tokens";

std::vector<AddedToken> some_of(std::vector<AddedToken> tokens, bool normalized, const Normalize& normalize) {
  std::erase_if(tokens, [&](const AddedToken& token) { return token.normalized != normalized; });
  if (normalized)
    for (AddedToken& token : tokens) token.text = normalize(token.text);
  return tokens;
}

// The tokens of frequent words are computed only once.
class WordCache {
 public:
  void encode(const WordModel& model, const std::string& word, std::vector<Token>& tokens) {
    constexpr std::size_t longest = 64, most = 1 << 20;
    if (word.size() > longest || known_.size() > most) return model.encode(word, tokens);
    const auto [entry, added] = known_.try_emplace(word);
    if (added) model.encode(word, entry->second);
    tokens.insert(tokens.end(), entry->second.begin(), entry->second.end());
  }

 private:
  std::unordered_map<std::string, std::vector<Token>> known_;
};

// Caches that are kept between texts: each is used by one thread at a time, which borrows it.
class WordCaches {
 public:
  class Borrowed {
   public:
    explicit Borrowed(WordCaches& owner) : owner_(owner) {
      const std::lock_guard lock(owner_.mutex_);
      if (!owner_.free_.empty()) {
        cache_ = std::move(owner_.free_.back());
        owner_.free_.pop_back();
      }
      if (!cache_) cache_ = std::make_unique<WordCache>();
    }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    ~Borrowed() {
      const std::lock_guard lock(owner_.mutex_);
      owner_.free_.push_back(std::move(cache_));
    }
    WordCache* operator->() const { return cache_.get(); }

   private:
    WordCaches& owner_;
    std::unique_ptr<WordCache> cache_;
  };

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<WordCache>> free_;
};

class HuggingFaceTokenizer final : public Tokenizer {
 public:
  explicit HuggingFaceTokenizer(const Json& json) : HuggingFaceTokenizer(JsonStep(json, "top level"), json) {}

  std::int64_t vocabulary() const override { return static_cast<std::int64_t>(texts_.size()); }

  void encode(std::string_view text, std::vector<Token>& tokens) const override {
    const WordCaches::Borrowed cache(caches_);
    each_part(
        text,
        [this](const AddedToken& token, std::size_t, std::size_t) {
          return parses_special_ || !token.special;
        },
        [&](std::string_view part, bool first, const AddedToken* token) {
          if (token) return tokens.push_back(token->id);
          for (const TextPiece& piece : pre_tokenize_({{std::string(part), first}}))
            cache->encode(*model_, piece.text, tokens);
        });
  }

  // The places of tokens are counted in the text that the word model sees. Up to a cut it is as long as the
  // text before the cut is when it is prepared by itself: normalizers and pre-tokenizers change characters
  // one by one.
  MarkedTokens encode_marked(const MarkedText& marked) const override {
    const WordCaches::Borrowed cache(caches_);
    const auto foreign = [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        if (marked.foreign[i]) return true;
      return false;
    };
    MarkedTokens result;
    std::size_t next_cut = 0;
    const auto pass_cuts = [&](std::size_t up_to) {  // those where no token stands
      for (; next_cut < marked.cuts.size() && marked.cuts[next_cut] <= up_to; ++next_cut) {
        result.ended.push_back(result.tokens.size());
        result.begun.push_back(result.tokens.size());
      }
    };
    const auto allowed = [&](const AddedToken& token, std::size_t begin, std::size_t end) {
      return !token.special || !foreign(begin, end);
    };
    as_they_are_.each(marked.text, allowed, [&](std::string_view raw, const AddedToken* token) {
      const auto begin = static_cast<std::size_t>(raw.data() - marked.text.data()), end = begin + raw.size();
      pass_cuts(begin);
      const std::size_t before = result.tokens.size();
      std::vector<std::size_t> ends;  // of the tokens of this part
      const bool first = begin == 0;
      if (token) {
        result.tokens.push_back(token->id);
        ends.push_back(raw.size());
      } else {
        encode_places(raw, first, foreign(begin, end), *cache.operator->(), result.tokens, ends);
      }
      for (; next_cut < marked.cuts.size() && marked.cuts[next_cut] < end; ++next_cut) {
        const std::string_view start = raw.substr(0, marked.cuts[next_cut] - begin);
        const std::size_t place = token ? start.size() : prepared_size(start, first);
        const auto ended = static_cast<std::size_t>(std::ranges::upper_bound(ends, place) - ends.begin());
        // A token begins where the one before it ends.
        const bool inside = ended < ends.size() && place > (ended == 0 ? 0 : ends[ended - 1]);
        result.ended.push_back(before + ended);
        const auto begun =
            inside ? std::ranges::upper_bound(ends, ends[ended]) - ends.begin() : std::ptrdiff_t(ended);
        result.begun.push_back(before + static_cast<std::size_t>(begun));
      }
    });
    pass_cuts(marked.text.size());
    return result;
  }

  std::optional<Token> find(std::string_view text) const override {
    for (const AddedToken& token : added_)
      if (token.text == text) return token.id;
    const auto found = model_->vocabulary().find(std::string(text));
    return found == model_->vocabulary().end() ? std::nullopt : std::optional(found->second);
  }
  bool is_special(Token token) const override { return special_[token]; }
  std::string name(Token token) const override {
    return special_[token] ? texts_[token] : decode(std::span(&token, 1));
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
        parses_special_(json.value(parse_special_key, false)),
        json_(json.dump()) {
    for (const char* key : {"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
                            "post_processor", "decoder", parse_special_key}) {
      file.pass(key);
    }
    file.finish();
    for (const auto& [text, id] : model_->vocabulary()) add_name(id, text, false);
    for (const AddedToken& token : added_) add_name(token.id, token.text, token.special);
    for (const auto& side : {frame_.prefix, frame_.suffix}) {
      for (const Token token : side)
        if (token >= texts_.size()) file.fail("adds tokens around a sentence that are not in its vocabulary");
    }
    find_padding(file);
  }

  // All parts of a text in order: added tokens, and what the pre-tokenizer gets. The rule for tokens that are
  // found in normalized text does not know the places of its bytes.
  template <class See>
  void each_part(std::string_view text, const AddedTokenFinder::Allowed& allowed, const See& see) const {
    as_they_are_.each(text, allowed, [&](std::string_view raw, const AddedToken* token) {
      if (token) return see(raw, false, token);
      each_normal_part(raw, raw.data() == text.data(), allowed, see);
    });
  }

  template <class See>
  void each_normal_part(std::string_view raw, bool first_part, const AddedTokenFinder::Allowed& allowed,
                        const See& see) const {
    const std::string normal = normalize_(std::string(raw));
    normalized_.each(normal, allowed, [&](std::string_view part, const AddedToken* inner) {
      see(part, first_part && part.data() == normal.data(), inner);
    });
  }

  // The bytes that a token stands for in the text that the word model sees.
  std::size_t size_of(Token token) const {
    const std::string& text = texts_[token];
    const bool byte = text.size() == 6 && text.starts_with("<0x") && text.ends_with('>');
    return byte ? 1 : text.size();
  }

  // Appends the tokens of a part without added tokens, and the place where each ends.
  void encode_places(std::string_view raw, bool first_part, bool foreign, WordCache& cache,
                     std::vector<Token>& tokens, std::vector<std::size_t>& ends) const {
    std::size_t place = 0;
    const auto allowed = [&](const AddedToken& token, std::size_t, std::size_t) {
      return !token.special || !foreign;
    };
    each_normal_part(
        raw, first_part, allowed, [&](std::string_view part, bool first, const AddedToken* inner) {
          if (inner) {
            tokens.push_back(inner->id);
            ends.push_back(place += part.size());
            return;
          }
          for (const TextPiece& piece : pre_tokenize_({{std::string(part), first}})) {
            const std::size_t before = tokens.size();
            cache.encode(*model_, piece.text, tokens);
            std::size_t sum = 0;
            for (std::size_t i = before; i < tokens.size(); ++i) sum += size_of(tokens[i]);
            const bool exact = sum == piece.text.size();  // otherwise each token stands for the whole word
            for (std::size_t i = before; i < tokens.size(); ++i)
              ends.push_back(exact ? place += size_of(tokens[i]) : place + piece.text.size());
            if (!exact) place += piece.text.size();
          }
        });
  }

  std::size_t prepared_size(std::string_view raw, bool first_part) const {
    std::size_t size = 0;
    each_normal_part(
        raw, first_part, [](const AddedToken&, std::size_t, std::size_t) { return true; },
        [&](std::string_view part, bool first, const AddedToken* inner) {
          if (inner) {
            size += part.size();
            return;
          }
          for (const TextPiece& piece : pre_tokenize_({{std::string(part), first}}))
            size += piece.text.size();
        });
    return size;
  }

  void add_name(Token id, const std::string& text, bool special) {
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
  bool parses_special_;  // special tokens that a text contains are those tokens, not text
  std::string json_;
  mutable WordCaches caches_;
  std::vector<std::string> texts_;  // of every token; empty if the number is not used
  std::vector<bool> special_;
  std::optional<Token> padding_;
};

}  // namespace

std::unique_ptr<Tokenizer> huggingface_tokenizer(Json json, bool parse_special) {
  if (parse_special) json[parse_special_key] = true;
  return std::make_unique<HuggingFaceTokenizer>(json);
}

}  // namespace runner
