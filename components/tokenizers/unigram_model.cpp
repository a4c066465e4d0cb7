#include <algorithm>
#include <cstdio>

#include "components/tokenizers/code_points.hpp"
#include "components/tokenizers/word_model.hpp"
#include "registry/base/utf8.hpp"

namespace runner {

namespace {

// The tokens whose probabilities multiply to the most (Kudo 2018), found by Viterbi's algorithm.
class UnigramModel final : public WordModel {
 public:
  UnigramModel(JsonStep& step, Vocabulary vocabulary, std::vector<double> scores)
      : WordModel(std::move(vocabulary)), scores_(std::move(scores)) {
    if (step.has("unk_id")) {
      unknown_ = step.token("unk_id");
      if (*unknown_ >= scores_.size()) step.fail("has an unk_id that is not in its vocab");
    }
    step.pass("unk_id");
    if (step.get("byte_fallback", false)) find_bytes(step);
    for (const auto& [text, token] : this->vocabulary()) longest_ = std::max(longest_, text.size());
    lowest_ = std::ranges::min(scores_);
  }

  void encode(const std::string& word, std::vector<Token>& tokens) const override {
    const std::vector<Step> best = best_steps(word);
    std::vector<std::pair<std::size_t, std::size_t>> parts;  // from the end, unknown neighbours together
    bool after_unknown = false;
    for (std::size_t end = word.size(); end > 0; end = best[end].begin) {
      const bool unknown = best[end].unknown;
      if (unknown && after_unknown) {
        parts.back().first = best[end].begin;
      } else {
        parts.emplace_back(best[end].begin, end);
      }
      after_unknown = unknown;
    }
    for (auto part = parts.rbegin(); part != parts.rend(); ++part)
      append(word.substr(part->first, part->second - part->first), tokens);
  }
  std::optional<Token> unknown() const override { return unknown_; }

 private:
  struct Step {
    std::size_t begin = 0;
    double score = 0;
    bool reached = false, unknown = false;
  };

  // The last step of the best way to every place.
  std::vector<Step> best_steps(const std::string& word) const {
    constexpr double penalty = 10;  // of an unknown character, below the rarest token
    std::vector<Step> best(word.size() + 1);
    const auto reach = [&](std::size_t begin, std::size_t end, double score, bool unknown) {
      const double sum = best[begin].score + score;
      if (!best[end].reached || sum > best[end].score) best[end] = {begin, sum, true, unknown};
    };
    for (std::size_t begin = 0; begin < word.size();) {
      std::string_view rest = std::string_view(word).substr(begin);
      take_code_point(rest);
      const std::size_t next = word.size() - rest.size();
      bool single = false;
      for (std::size_t end = next; end - begin <= longest_;) {
        if (const auto token = find(word.substr(begin, end - begin))) {
          reach(begin, end, scores_[*token], false);
          single = single || end == next;
        }
        if (end == word.size()) break;
        do ++end;
        while (end < word.size() && continues_utf8(word[end]));
      }
      if (!single) reach(begin, next, lowest_ - penalty, true);
      begin = next;
    }
    return best;
  }

  void append(const std::string& text, std::vector<Token>& tokens) const {
    if (const auto token = find(text)) return tokens.push_back(*token);
    if (!bytes_.empty()) {
      for (const char byte : text) tokens.push_back(bytes_[static_cast<unsigned char>(byte)]);
    } else if (unknown_) {
      tokens.push_back(*unknown_);
    }
  }

  void find_bytes(JsonStep& step) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      char name[8];
      std::snprintf(name, sizeof name, "<0x%02X>", byte);
      const auto token = find(name);
      if (!token) step.fail("has byte_fallback, but no token " + std::string(name));
      bytes_.push_back(*token);
    }
  }

  std::vector<double> scores_;  // of every token
  std::vector<Token> bytes_;
  std::optional<Token> unknown_;
  std::size_t longest_ = 0;
  double lowest_ = 0;
};

}  // namespace

std::unique_ptr<WordModel> read_unigram(JsonStep& step) {
  const nlohmann::json& json = step.at("vocab");
  if (!json.is_array() || json.empty()) step.fail("has a vocab that is not a list of tokens");
  constexpr std::size_t longest = 1000;
  Vocabulary vocabulary;
  std::vector<double> scores;
  for (const auto& each : json) {
    if (!each.is_array() || each.size() != 2 || !each[0].is_string() || !each[1].is_number())
      step.fail("has a vocab with something that is not a token and its score");
    const auto text = each[0].get<std::string>();
    if (text.size() > longest) step.fail("has a token of more than 1000 bytes");
    vocabulary[text] = static_cast<Token>(scores.size());
    scores.push_back(each[1].get<double>());
  }
  return std::make_unique<UnigramModel>(step, std::move(vocabulary), std::move(scores));
}

}  // namespace runner
