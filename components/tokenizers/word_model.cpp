#include "components/tokenizers/word_model.hpp"

#include <algorithm>

#include "components/tokenizers/code_points.hpp"

namespace runner {

namespace {

Vocabulary read_vocabulary(JsonStep& step) {
  const nlohmann::json& json = step.at("vocab");
  if (!json.is_object() || json.empty()) step.fail("has a vocab that is not a table of tokens");
  Vocabulary vocabulary;
  for (const auto& [text, id] : json.items())
    vocabulary.emplace(text, step.token(id, "the token " + in_quotes(text)));
  return vocabulary;
}

Token need_unknown(JsonStep& step, const Vocabulary& vocabulary, const std::string& usual) {
  const auto unknown = find_unknown(step, vocabulary, usual);
  if (!unknown) step.fail("has no unk_token");
  return *unknown;
}

// Longest match first, from the left; a word that cannot be composed this way is unknown as a whole.
class WordPieceModel final : public WordModel {
 public:
  WordPieceModel(JsonStep& step, Vocabulary vocabulary)
      : WordModel(std::move(vocabulary)),
        unknown_(need_unknown(step, this->vocabulary(), "[UNK]")),
        prefix_(step.short_text("continuing_subword_prefix", "##")),
        longest_(step.get<std::size_t>("max_input_chars_per_word", 100)) {
    // Every substring of a word may have to be looked up: the time grows with the square of its length.
    constexpr std::size_t most = 1000;
    if (longest_ > most) step.fail("has a max_input_chars_per_word above " + std::to_string(most));
    for (const auto& [text, id] : this->vocabulary()) longest_token_ = std::max(longest_token_, text.size());
  }

  void encode(const std::string& word, std::vector<Token>& tokens) const override {
    const std::size_t before = tokens.size();
    std::size_t characters = 0;
    for (std::string_view rest = word; !rest.empty(); ++characters) take_code_point(rest);
    for (std::size_t begin = 0; begin < word.size();) {
      const std::size_t end = characters > longest_ ? begin : append_longest(word, begin, tokens);
      if (end == begin) {
        tokens.resize(before);
        tokens.push_back(unknown_);
        return;
      }
      begin = end;
    }
  }
  std::optional<Token> unknown() const override { return unknown_; }

 private:
  std::size_t append_longest(const std::string& word, std::size_t begin, std::vector<Token>& tokens) const {
    std::size_t end = std::min(word.size(), begin + longest_token_);
    if (end < word.size()) end = character_start(word, end);
    for (; end > begin; end = character_start(word, end - 1)) {
      const auto found = find((begin > 0 ? prefix_ : "") + word.substr(begin, end - begin));
      if (!found) continue;
      tokens.push_back(*found);
      return end;
    }
    return begin;
  }

  Token unknown_;
  std::string prefix_;
  std::size_t longest_, longest_token_ = 0;
};

class WordLevelModel final : public WordModel {
 public:
  WordLevelModel(JsonStep& step, Vocabulary vocabulary)
      : WordModel(std::move(vocabulary)), unknown_(need_unknown(step, this->vocabulary(), "<unk>")) {}

  void encode(const std::string& word, std::vector<Token>& tokens) const override {
    if (!word.empty()) tokens.push_back(find(word).value_or(unknown_));
  }
  std::optional<Token> unknown() const override { return unknown_; }

 private:
  Token unknown_;
};

// The oldest files do not state the type.
std::string type_of(JsonStep& step) {
  if (step.has("type")) return step.type();
  if (step.has("merges")) return "BPE";
  if (step.has("max_input_chars_per_word")) return "WordPiece";
  step.fail("has no type");
}

std::unique_ptr<WordModel> read_one(JsonStep& step) {
  const std::string type = type_of(step);
  if (type == "BPE") return read_bpe(step, read_vocabulary(step));
  if (type == "WordPiece") return std::make_unique<WordPieceModel>(step, read_vocabulary(step));
  if (type == "Unigram") return read_unigram(step);
  if (type == "WordLevel") return std::make_unique<WordLevelModel>(step, read_vocabulary(step));
  step.not_supported();
}

}  // namespace

std::optional<Token> find_unknown(JsonStep& step, const Vocabulary& vocabulary, const std::string& usual) {
  const auto name = step.get<std::string>("unk_token", usual);
  if (name.empty()) return std::nullopt;
  const auto found = vocabulary.find(name);
  if (found == vocabulary.end()) step.fail("has no token " + in_quotes(name) + ", its unk_token");
  return found->second;
}

std::unique_ptr<WordModel> read_word_model(const nlohmann::json& json) {
  JsonStep step(json, "model");
  auto model = read_one(step);
  step.finish();
  return model;
}

}  // namespace runner
