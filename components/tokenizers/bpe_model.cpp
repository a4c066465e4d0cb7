#include <cstdio>
#include <queue>

#include "components/tokenizers/code_points.hpp"
#include "components/tokenizers/word_model.hpp"

namespace runner {

namespace {

struct Merge {
  std::uint32_t rank;
  Token merged;
};
using Merges = std::unordered_map<std::uint64_t, Merge>;

std::uint64_t pair_of(Token left, Token right) { return std::uint64_t{left} << 32 | right; }

// A linked list of tokens in which neighbours are merged: the pair of the lowest rank first, of equal ranks
// the leftmost. Pairs in the queue that no longer exist when their turn comes are skipped.
class Chain {
 public:
  Chain(std::vector<Token> tokens, const Merges& merges) : merges_(merges) {
    for (std::size_t i = 0; i < tokens.size(); ++i) links_.push_back({tokens[i], i, i + 1});
  }

  void merge_all() {
    for (std::size_t i = 0; i + 1 < links_.size(); ++i) propose(i);
    while (!queue_.empty()) {
      const auto [rank, left, merged] = queue_.top();
      queue_.pop();
      if (links_[left].gone || links_[left].next >= links_.size()) continue;
      const std::size_t right = links_[left].next;
      const auto found = merges_.find(pair_of(links_[left].token, links_[right].token));
      if (found == merges_.end() || found->second.merged != merged) continue;
      links_[right].gone = true;
      links_[left].token = merged;
      links_[left].next = links_[right].next;
      if (links_[left].next < links_.size()) {
        links_[links_[left].next].previous = left;
        propose(left);
      }
      if (left > 0) propose(links_[left].previous);
    }
  }

  void append_to(std::vector<Token>& tokens) const {
    for (const Link& link : links_)
      if (!link.gone) tokens.push_back(link.token);
  }

 private:
  struct Link {
    Token token;
    std::size_t previous, next;
    bool gone = false;

    Link(Token token_, std::size_t index, std::size_t next_)
        : token(token_), previous(index == 0 ? 0 : index - 1), next(next_) {}
  };
  struct Proposal {
    std::uint32_t rank;
    std::size_t left;
    Token merged;
    bool operator>(const Proposal& other) const {
      return rank != other.rank ? rank > other.rank : left > other.left;
    }
  };

  void propose(std::size_t left) {
    const auto found = merges_.find(pair_of(links_[left].token, links_[links_[left].next].token));
    if (found != merges_.end()) queue_.push({found->second.rank, left, found->second.merged});
  }

  const Merges& merges_;
  std::vector<Link> links_;
  std::priority_queue<Proposal, std::vector<Proposal>, std::greater<>> queue_;
};

class BpeModel final : public WordModel {
 public:
  BpeModel(JsonStep& step, Vocabulary vocabulary)
      : WordModel(std::move(vocabulary)),
        unknown_(find_unknown(step, this->vocabulary())),
        prefix_(step.short_text("continuing_subword_prefix", "")),
        suffix_(step.short_text("end_of_word_suffix", "")),
        fuse_unknown_(step.get("fuse_unk", false)),
        whole_words_(step.get("ignore_merges", false)) {
    if (step.get("dropout", 0.0) != 0) step.fail("has a dropout, which is not supported");
    if (step.get("byte_fallback", false)) find_bytes();
    for (const auto& merge : step.at("merges")) read_merge(step, merge);
  }

  void encode(const std::string& word, std::vector<Token>& tokens) const override {
    if (word.empty()) return;
    if (whole_words_) {
      if (const auto whole = find(word)) {
        tokens.push_back(*whole);
        return;
      }
    }
    Chain chain(characters(word), merges_);
    chain.merge_all();
    chain.append_to(tokens);
  }
  std::optional<Token> unknown() const override { return unknown_; }

 private:
  void find_bytes() {
    for (int byte = 0; byte < 256; ++byte) {
      char name[8];
      std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(byte));
      bytes_.push_back(find(name));
    }
  }

  void read_merge(JsonStep& step, const nlohmann::json& merge) {
    std::string left, right;
    if (merge.is_string()) {
      const auto text = merge.get<std::string>();
      const std::size_t space = text.find(' ');
      if (space == std::string::npos) step.fail("has a merge without a space: " + in_quotes(text));
      left = text.substr(0, space);
      right = text.substr(space + 1);
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      left = merge[0];
      right = merge[1];
    } else {
      step.fail("has a merge that is not a pair of tokens: " + escaped_name(merge.dump()));
    }
    const std::string tail = right.starts_with(prefix_) ? right.substr(prefix_.size()) : right;
    const auto token = [&](const std::string& text) {
      const auto found = find(text);
      if (!found) step.fail("merges into or from " + in_quotes(text) + ", which is not in its vocabulary");
      return *found;
    };
    merges_[pair_of(token(left), token(right))] = {rank_++, token(left + tail)};
  }

  // The tokens of the single characters. A character without one becomes its bytes, or the unknown token, or,
  // if the file has none, nothing.
  std::vector<Token> characters(const std::string& word) const {
    std::vector<Token> tokens;
    bool after_unknown = false;
    for (std::string_view rest = word; !rest.empty();) {
      const std::string_view before = rest;
      take_code_point(rest);
      const std::string_view own = before.substr(0, before.size() - rest.size());
      const std::string text =
          (before.size() == word.size() ? "" : prefix_) + std::string(own) + (rest.empty() ? suffix_ : "");
      if (const auto token = find(text)) {
        tokens.push_back(*token);
        after_unknown = false;
      } else if (!append_bytes_of(text, tokens) && unknown_ && !(after_unknown && fuse_unknown_)) {
        tokens.push_back(*unknown_);
        after_unknown = true;
      }
    }
    return tokens;
  }

  bool append_bytes_of(const std::string& text, std::vector<Token>& tokens) const {
    if (bytes_.empty()) return false;
    for (const char byte : text)
      if (!bytes_[static_cast<unsigned char>(byte)]) return false;
    for (const char byte : text) tokens.push_back(*bytes_[static_cast<unsigned char>(byte)]);
    return true;
  }

  std::optional<Token> unknown_;
  std::string prefix_, suffix_;
  bool fuse_unknown_, whole_words_;
  std::vector<std::optional<Token>> bytes_;  // empty: no byte fallback
  Merges merges_;
  std::uint32_t rank_ = 0;
};

}  // namespace

std::unique_ptr<WordModel> read_bpe(JsonStep& step, Vocabulary vocabulary) {
  return std::make_unique<BpeModel>(step, std::move(vocabulary));
}

}  // namespace runner
