#include "components/datasets/selection.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "components/contract/example_random.hpp"

namespace runner {

namespace {

using Indices = std::vector<std::int64_t>;

// Moves a random choice of `count` entries to the front, in random order (Fisher and Yates).
void shuffle_front(Indices& order, std::size_t count, ExampleRandom& random) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto rest = static_cast<std::int64_t>(order.size() - i);
    std::swap(order[i], order[i + static_cast<std::size_t>(random.below(rest))]);
  }
}

std::vector<Indices> by_class(const Split& split) {
  std::map<std::int64_t, Indices> groups;
  for (std::int64_t index = 0; index < split.size(); ++index)
    groups[split.class_of(index).value_or(0)].push_back(index);
  std::vector<Indices> all;
  for (auto& [label, group] : groups) all.push_back(std::move(group));
  return all;
}

// Divides `count` among the groups in proportion to their sizes (largest remainder method), without taking
// the last `kept` examples of any.
std::vector<std::size_t> quotas(const std::vector<Indices>& groups, std::int64_t count, std::int64_t size,
                                std::int64_t kept) {
  const auto most = [&](std::size_t group) {
    return static_cast<std::size_t>(std::max<std::int64_t>(std::ssize(groups[group]) - kept, 0));
  };
  std::size_t available = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) available += most(i);
  count = std::min(count, static_cast<std::int64_t>(available));
  const double share = static_cast<double>(count) / static_cast<double>(size);
  const bool one_of_each = count >= std::ssize(groups);
  std::vector<std::size_t> quota;
  std::vector<std::pair<double, std::size_t>> remainders;
  std::int64_t left = count;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const double exact = share * static_cast<double>(groups[i].size());
    const double whole = std::max(std::floor(exact), one_of_each ? 1.0 : 0.0);
    quota.push_back(std::min(static_cast<std::size_t>(whole), most(i)));
    remainders.emplace_back(whole - exact, i);
    left -= static_cast<std::int64_t>(quota.back());
  }
  std::ranges::sort(remainders);
  for (std::size_t i = 0; left > 0; i = (i + 1) % remainders.size()) {
    std::size_t& own = quota[remainders[i].second];
    if (own == most(remainders[i].second)) continue;
    ++own;
    --left;
  }
  for (std::size_t i = remainders.size(); left < 0; i = i == 1 ? remainders.size() : i - 1) {
    std::size_t& own = quota[remainders[i - 1].second];
    if (own <= 1) continue;
    --own;
    ++left;
  }
  return quota;
}

// Has the same examples in every epoch, even if the split reads from random places.
class Selection final : public Split {
 public:
  Selection(std::shared_ptr<const Split> all, Indices indices)
      : all_(std::move(all)), indices_(std::move(indices)) {}

  std::int64_t size() const override { return std::ssize(indices_); }
  DataSpec spec() const override { return all_->spec(); }
  Batch allocate(std::int64_t examples, torch::MemoryFormat format) const override {
    return all_->allocate(examples, format);
  }
  void read(std::span<const ExampleRef> examples, Batch& batch, std::int64_t first) const override {
    std::vector<ExampleRef> chosen(examples.begin(), examples.end());
    for (ExampleRef& example : chosen) {
      example.index = at(example.index);
      // In a split that reads from random places, the seed decides where an example is.
      if (!all_->examples_are_fixed())
        example.seed = example_seed(0, 0, static_cast<std::uint64_t>(example.index));
    }
    all_->read(chosen, batch, first);
  }
  void finish(Batch& batch, std::uint64_t seed) const override { all_->finish(batch, seed); }
  std::optional<std::int64_t> class_of(std::int64_t index) const override {
    return all_->class_of(at(index));
  }
  SplitDetails details() const override {
    SplitDetails details = all_->details();
    if (details.untruncated_length)
      details.untruncated_length = [this, of_all = details.untruncated_length](std::int64_t index) {
        return of_all(at(index));
      };
    return details;
  }
  std::optional<ShownTokens> tokens_of(std::int64_t index) const override {
    return all_->tokens_of(at(index));
  }

 private:
  std::int64_t at(std::int64_t index) const { return indices_[static_cast<std::size_t>(index)]; }

  std::shared_ptr<const Split> all_;
  Indices indices_;
};

}  // namespace

std::vector<std::int64_t> random_sample(const Split& split, std::int64_t count, std::uint64_t seed,
                                        std::int64_t left) {
  count = std::clamp<std::int64_t>(count, 0, split.size());
  std::vector<Indices> groups = by_class(split);
  const auto quota = quotas(groups, count, split.size(), left);
  ExampleRandom random(scatter(seed + golden_gamma));
  Indices chosen;
  chosen.reserve(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < groups.size(); ++i) {
    shuffle_front(groups[i], quota[i], random);
    chosen.insert(chosen.end(), groups[i].begin(), groups[i].begin() + static_cast<std::ptrdiff_t>(quota[i]));
  }
  shuffle_front(chosen, chosen.size(), random);  // in order of class, batches would have one class each
  return chosen;
}

std::unique_ptr<Split> selection(std::shared_ptr<const Split> split, std::vector<std::int64_t> indices) {
  return std::make_unique<Selection>(std::move(split), std::move(indices));
}

std::vector<std::int64_t> class_counts(const Split& split, std::int64_t classes) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(classes));
  for (std::int64_t index = 0; index < split.size(); ++index) {
    const auto label = split.class_of(index);
    if (label == ignored_label) continue;
    if (!label || *label < 0 || *label >= classes) return {};
    ++counts[static_cast<std::size_t>(*label)];
  }
  return counts;
}

}  // namespace runner
