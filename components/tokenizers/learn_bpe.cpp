#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <queue>
#include <set>
#include <unordered_map>

#include "components/tokenizers/byte_level.hpp"
#include "components/tokenizers/code_points.hpp"
#include "components/tokenizers/regex.hpp"
#include "components/tokenizers/tokenizers.hpp"
#include "registry/base/utf8.hpp"

namespace runner {

namespace {

using Json = nlohmann::json;
using Pair = std::pair<Token, Token>;

struct Word {
  std::vector<Token> tokens;
  std::int64_t count;
};

struct Candidate {
  std::int64_t count;
  Pair pair;
  // Of equally frequent pairs, the one with the lower tokens comes first, to be deterministic.
  bool operator<(const Candidate& other) const {
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

class BpeLearner {
 public:
  explicit BpeLearner(const std::vector<std::string_view>& texts) {
    std::set<char32_t> alphabet;
    for (int byte = 0; byte < 256; ++byte) alphabet.insert(character_of(static_cast<unsigned char>(byte)));
    for (const char32_t character : alphabet) {
      std::string text;
      append_utf8(text, character);
      add(text);
    }
    read(texts);
    for (std::size_t index = 0; index < words_.size(); ++index) {
      const Word& word = words_[index];
      for (std::size_t i = 0; i + 1 < word.tokens.size(); ++i)
        change({word.tokens[i], word.tokens[i + 1]}, word.count, index);
    }
    queue_changed();
  }

  void learn(std::int64_t vocabulary) {
    while (static_cast<std::int64_t>(names_.size()) < vocabulary && !queue_.empty()) {
      const Candidate best = queue_.top();
      queue_.pop();
      const std::int64_t count = counts_[best.pair];
      if (count != best.count) continue;  // outdated: its current count is in the queue, too
      merge(best.pair);
    }
  }

  Json json() const {
    Json vocab = Json::object(), merges = Json::array();
    for (std::size_t id = 0; id < names_.size(); ++id) vocab[names_[id]] = id;
    for (const auto& [left, right] : merges_) merges.push_back({names_[left], names_[right]});
    const Json bytes = {
        {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
    const Json model = {{"type", "BPE"},
                        {"dropout", nullptr},
                        {"unk_token", nullptr},
                        {"continuing_subword_prefix", nullptr},
                        {"end_of_word_suffix", nullptr},
                        {"fuse_unk", false},
                        {"byte_fallback", false},
                        {"ignore_merges", false},
                        {"vocab", vocab},
                        {"merges", merges}};
    return {{"version", "1.0"},
            {"truncation", nullptr},
            {"padding", nullptr},
            {"added_tokens", Json::array()},
            {"normalizer", nullptr},
            {"pre_tokenizer", bytes},
            {"post_processor", nullptr},
            {"decoder", bytes},
            {"model", model}};
  }

 private:
  Token add(const std::string& name) {
    const auto [entry, added] = ids_.try_emplace(name, static_cast<Token>(names_.size()));
    if (added) names_.push_back(name);
    return entry->second;
  }

  void read(const std::vector<std::string_view>& texts) {
    const Regex words(byte_level_words);
    std::map<std::string, std::int64_t> counts;
    for (const std::string_view text : texts) {
      for (std::string_view rest = text; !rest.empty();) {
        const std::string_view part = take_lines(rest);
        words.each(part, [&](const std::string& word, bool) { ++counts[word]; });
      }
    }
    for (const auto& [word, count] : counts) {
      Word tokens{{}, count};
      const std::string text = bytes_as_text(word);
      for (std::string_view rest = text; !rest.empty();) {
        std::string character;
        append_utf8(character, take_code_point(rest));
        tokens.tokens.push_back(ids_.at(character));
      }
      words_.push_back(std::move(tokens));
    }
  }

  void change(Pair pair, std::int64_t by, std::size_t word) {
    counts_[pair] += by;
    if (by > 0) where_[pair].insert(word);
    changed_.insert(pair);
  }

  void queue_changed() {
    for (const Pair& pair : changed_)
      if (counts_[pair] > 0) queue_.push({counts_[pair], pair});
    changed_.clear();
  }

  void merge(Pair pair) {
    const Token merged = add(names_[pair.first] + names_[pair.second]);
    merges_.push_back(pair);
    const std::set<std::size_t> affected = std::move(where_[pair]);
    where_.erase(pair);
    for (const std::size_t index : affected) merge_in(index, pair, merged);
    counts_.erase(pair);
    queue_changed();
  }

  void merge_in(std::size_t index, Pair pair, Token merged) {
    Word& word = words_[index];
    std::map<Pair, std::int64_t> changes;
    const auto count_pairs = [&](std::int64_t sign) {
      for (std::size_t i = 0; i + 1 < word.tokens.size(); ++i)
        changes[{word.tokens[i], word.tokens[i + 1]}] += sign * word.count;
    };
    count_pairs(-1);
    std::vector<Token> after;
    for (std::size_t i = 0; i < word.tokens.size(); ++i) {
      const bool here =
          i + 1 < word.tokens.size() && word.tokens[i] == pair.first && word.tokens[i + 1] == pair.second;
      after.push_back(here ? merged : word.tokens[i]);
      if (here) ++i;
    }
    word.tokens = std::move(after);
    count_pairs(1);
    for (const auto& [changed, by] : changes)
      if (by != 0) change(changed, by, index);
  }

  std::vector<std::string> names_;
  std::unordered_map<std::string, Token> ids_;
  std::vector<Word> words_;
  std::map<Pair, std::int64_t> counts_;
  std::map<Pair, std::set<std::size_t>> where_;
  std::set<Pair> changed_;
  std::priority_queue<Candidate> queue_;
  std::vector<Pair> merges_;
};

}  // namespace

std::unique_ptr<Tokenizer> learn_bpe(const std::vector<std::string_view>& texts, std::int64_t vocabulary) {
  BpeLearner learner(texts);
  learner.learn(vocabulary);
  return huggingface_tokenizer(learner.json());
}

}  // namespace runner
