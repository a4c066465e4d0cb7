#include "runner/data/loader.hpp"

#include <catch2/catch_all.hpp>

#include <set>

#include "components/datasets/image_split.hpp"
#include "registry/base/log.hpp"
#include "tests/support/images.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::image_spec;
using testing::part;

// Small noise images whose label is their index; some cannot be read.
class Numbered : public ImageSplit {
 public:
  explicit Numbered(std::int64_t size, const std::vector<Part<TransformKind>>& transforms = {},
                    std::set<std::int64_t> broken = {})
      : ImageSplit(image_spec(3, 8, 8, size), build_pipeline(transforms, image_spec(3, 8, 8, size)),
                   Phase::training),
        size_(size),
        broken_(std::move(broken)) {}

  std::int64_t size() const override { return size_; }

 private:
  ImageView image(std::int64_t index, Scratch& scratch) const override {
    if (broken_.contains(index))
      throw DataError("image-" + std::to_string(index) + ".png: the file is cut off.");
    scratch.decoded.resize(3 * 8 * 8);
    ExampleRandom noise(static_cast<std::uint64_t>(index));
    for (auto& pixel : scratch.decoded) pixel = static_cast<std::uint8_t>(noise.bits());
    return ImageView::planar(scratch.decoded.data(), 3, 8, 8);
  }
  std::int64_t label(std::int64_t index) const override { return index; }

  std::int64_t size_;
  std::set<std::int64_t> broken_;
};

std::vector<Part<TransformKind>> augmentation() {
  return {part<TransformKind>("random_crop", {{"padding", 2}}), part<TransformKind>("random_flip"),
          part<TransformKind>("color_jitter", {{"brightness", 0.3}}), part<TransformKind>("mixup")};
}

LoaderOptions options(int workers, std::int64_t epochs, std::int64_t batch_size = 8) {
  LoaderOptions options;
  options.batch_size = batch_size;
  options.shuffle = true;
  options.workers = workers;
  options.prefetch = 3;
  options.seed = 17;
  options.epochs = epochs;
  return options;
}

std::vector<LoadedBatch> drain(Loader& loader) {
  std::vector<LoadedBatch> batches;
  while (auto batch = loader.next()) batches.push_back(*std::move(batch));
  return batches;
}

std::vector<LoadedBatch> load(const Split& split, const LoaderOptions& options, Cursor start = {}) {
  Loader loader(split, options, start);
  return drain(loader);
}

bool same(const std::vector<LoadedBatch>& one, const std::vector<LoadedBatch>& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(), [](const auto& a, const auto& b) {
    return a.begin == b.begin && a.end == b.end && torch::equal(a.batch.input, b.batch.input) &&
           torch::equal(a.batch.target, b.batch.target) && a.unreadable == b.unreadable;
  });
}

std::vector<std::int64_t> labels(const std::vector<LoadedBatch>& batches) {
  std::vector<std::int64_t> all;
  for (const auto& loaded : batches) {
    const auto* first = loaded.batch.target.data_ptr<std::int64_t>();
    all.insert(all.end(), first, first + loaded.batch.size());
  }
  return all;
}

TEST_CASE("loader: bit-identical for any number of workers") {
  const Numbered split(53, augmentation());
  const auto reference = load(split, options(0, 3));
  CHECK(reference.size() == 3 * 7);
  CHECK(same(load(split, options(1, 3)), reference));
  CHECK(same(load(split, options(4, 3)), reference));
  auto channels_last = options(2, 3);
  channels_last.format = torch::MemoryFormat::ChannelsLast;
  const auto other_layout = load(split, channels_last);
  CHECK(same(other_layout, reference));
  CHECK(other_layout[0].batch.input.is_contiguous(torch::MemoryFormat::ChannelsLast));
}

TEST_CASE("loader: an epoch holds every example once, in short last batches, never across the border") {
  const auto batches = load(Numbered(53), options(2, 2));
  REQUIRE(batches.size() == 14);
  for (std::size_t epoch = 0; epoch < 2; ++epoch) {
    const std::vector<LoadedBatch> part(batches.begin() + static_cast<std::ptrdiff_t>(7 * epoch),
                                        batches.begin() + static_cast<std::ptrdiff_t>(7 * epoch + 7));
    const auto seen = labels(part);
    CHECK(seen.size() == 53);
    CHECK(std::set(seen.begin(), seen.end()).size() == 53);
    CHECK(part.back().batch.size() == 5);
    CHECK(part.back().last_of_epoch());
    CHECK(part.back().end == Cursor{static_cast<std::int64_t>(epoch) + 1, 0});
    CHECK_FALSE(part.front().last_of_epoch());
  }
  CHECK(labels({batches.begin(), batches.begin() + 7}) != labels({batches.begin() + 7, batches.end()}));
}

TEST_CASE("loader: the shares of all ranks are the batches of one, remainders included") {
  auto transforms = augmentation();
  transforms.pop_back();  // mixing is about the batch that a rank has
  const Numbered split(53, transforms);
  const auto whole = load(split, options(1, 2));
  for (const std::int64_t ranks : {2, 3, 4, 7, 9}) {
    std::vector<std::vector<LoadedBatch>> shares;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      auto own = options(static_cast<int>(rank % 2), 2);
      own.share = {rank, ranks};
      shares.push_back(load(split, own));
      REQUIRE(shares.back().size() == whole.size());
    }
    for (std::size_t i = 0; i < whole.size(); ++i) {
      std::vector<torch::Tensor> inputs, targets;
      for (const auto& share : shares) {
        CHECK(share[i].begin == whole[i].begin);
        CHECK(share[i].end == whole[i].end);
        CHECK(share[i].examples == whole[i].batch.size());
        CHECK(std::abs(share[i].batch.size() * ranks - share[i].examples) < ranks);
        inputs.push_back(share[i].batch.input);
        targets.push_back(share[i].batch.target);
      }
      CHECK(torch::equal(torch::cat(inputs), whole[i].batch.input));
      CHECK(torch::equal(torch::cat(targets), whole[i].batch.target));
    }
  }
}

TEST_CASE("loader: a start in the middle continues as if it had never stopped") {
  const Numbered split(53, augmentation());
  const auto whole = load(split, options(2, 3));
  for (const std::size_t from : {1U, 6U, 7U, 10U}) {
    auto rest = options(2, 3 - static_cast<std::int64_t>(whole[from].begin.epoch));
    CHECK(same(load(split, rest, whole[from].begin),
               {whole.begin() + static_cast<std::ptrdiff_t>(from), whole.end()}));
  }
  CHECK(same(load(split, options(1, 2), {0, 53}), load(split, options(1, 2), {1, 0})));
  CHECK_THROWS_WITH(load(split, options(1, 1), {0, 54}),
                    ContainsSubstring("Example 54 of epoch 0 does not exist"));
}

TEST_CASE("loader: how an example is augmented depends on seed, epoch and index, not on batch or place") {
  auto transforms = augmentation();
  transforms.pop_back();  // mixing is about batches
  const Numbered split(40, transforms);
  const auto by_label = [](const std::vector<LoadedBatch>& batches) {
    std::map<std::int64_t, torch::Tensor> images;
    for (const auto& loaded : batches) {
      for (std::int64_t i = 0; i < loaded.batch.size(); ++i) {
        images[loaded.batch.target[i].item<std::int64_t>()] = loaded.batch.input[i];
      }
    }
    return images;
  };
  const auto differing = [](const auto& one, const auto& other) {
    int count = 0;
    for (const auto& [label, image] : one) count += !torch::equal(image, other.at(label));
    return count;
  };
  const auto reference = by_label(load(split, options(1, 1, 8)));
  auto in_order = options(1, 1, 3);
  in_order.shuffle = false;
  CHECK(differing(reference, by_label(load(split, in_order))) == 0);
  CHECK(differing(reference, by_label(load(split, options(1, 1), {1, 0}))) > 30);
  auto other_seed = options(1, 1);
  other_seed.seed = 18;
  CHECK(differing(reference, by_label(load(split, other_seed))) > 30);
}

TEST_CASE("loader: evaluation keeps the data's own order, and a batch may be larger than the set") {
  auto plain = options(2, 1, 100);
  plain.shuffle = false;
  const auto batches = load(Numbered(53), plain);
  REQUIRE(batches.size() == 1);
  CHECK(torch::equal(batches[0].batch.target, torch::arange(53)));
  CHECK_THROWS_WITH(load(Numbered(0), plain), ContainsSubstring("no examples"));
}

TEST_CASE("loader: an example that cannot be read is named, when its batch is asked for") {
  const int workers = GENERATE(0, 3);
  auto stopping = options(workers, 1);
  stopping.shuffle = false;
  const Numbered split(53, {}, {20});
  Loader loader(split, stopping);
  CHECK(loader.next());
  CHECK(loader.next());
  CHECK_THROWS_AS(loader.next(), DataError);
  CHECK_THROWS_WITH(loader.next(),
                    ContainsSubstring("Cannot read example 20: image-20.png: the file is cut off.") &&
                        ContainsSubstring("loader.on_error = \"skip\""));
}

TEST_CASE("loader: skipping puts the next readable example in its place, counts and reports") {
  auto skipping = options(0, 1);
  skipping.shuffle = false;
  skipping.broken = LoaderOptions::Broken::replace;
  const Numbered split(53, {}, {20, 21, 52});
  log::clear_warnings();
  Loader loader(split, skipping);
  const auto batches = drain(loader);
  auto expected = torch::arange(53);
  expected[20] = 22;
  expected[21] = 22;
  expected[52] = 0;  // after the last comes the first
  const auto seen = labels(batches);
  CHECK(torch::equal(torch::tensor(seen), expected));
  CHECK(loader.unreadable_examples() == 3);
  CHECK(batches[2].unreadable.size() == 2);
  REQUIRE(log::warnings().size() == 3);
  CHECK_THAT(log::warnings()[0], ContainsSubstring("image-20.png") && ContainsSubstring("takes its place"));
  skipping.workers = 4;
  CHECK(same(load(split, skipping), batches));
}

TEST_CASE(
    "loader: only the first few broken examples are written out; if none can be read, that is an error") {
  auto skipping = options(1, 1);
  skipping.broken = LoaderOptions::Broken::replace;
  log::clear_warnings();
  const Numbered mostly_broken(30, {}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  Loader loader(mostly_broken, skipping);
  drain(loader);
  CHECK(loader.unreadable_examples() == 12);
  CHECK(log::warnings().size() == 6);  // five, and that further ones are only counted
  CHECK_THROWS_WITH(load(Numbered(3, {}, {0, 1, 2}), skipping), ContainsSubstring("None of the 3 examples"));
}

TEST_CASE("loader: a skipped example makes its batch smaller, and moves no other") {
  auto skipping = options(0, 1);
  skipping.shuffle = false;
  skipping.broken = LoaderOptions::Broken::skip;
  std::set<std::int64_t> broken{20, 21, 52};
  for (std::int64_t i = 32; i < 40; ++i) broken.insert(i);  // a whole batch
  const Numbered split(53, {}, broken);
  log::clear_warnings();
  Loader loader(split, skipping);
  const auto batches = drain(loader);
  REQUIRE(batches.size() == 7);
  CHECK(batches[2].batch.size() == 6);
  CHECK(batches[4].batch.size() == 0);
  CHECK(batches[4].end == Cursor{0, 40});
  CHECK(batches[6].batch.size() == 4);
  std::vector<std::int64_t> expected;
  for (std::int64_t i = 0; i < 53; ++i) {
    if (!broken.contains(i)) expected.push_back(i);
  }
  CHECK(labels(batches) == expected);
  const auto whole = load(Numbered(53), skipping);  // the images are those of the labels
  CHECK(torch::equal(batches[2].batch.input[5], whole[2].batch.input[7]));
  CHECK(loader.unreadable_examples() == 11);
  CHECK_THAT(log::warnings().at(0), ContainsSubstring("image-20.png") && ContainsSubstring("It is skipped."));
  skipping.workers = 4;
  CHECK(same(load(split, skipping), batches));
}

TEST_CASE("loader: memory is used again once nobody holds it, and never before") {
  auto endless = options(1, 1, 8);
  endless.epochs.reset();
  const Numbered split(64);
  Loader loader(split, endless);
  const LoadedBatch kept = *loader.next();
  const torch::Tensor view = loader.next()->batch.input.variable_data();  // shares the storage alone
  const torch::Tensor copy = kept.batch.input.clone(), view_copy = view.clone();
  std::set<const void*> places;
  for (int i = 0; i < 300; ++i) places.insert(loader.next()->batch.input.data_ptr());
  CHECK(places.size() <= 8);
  CHECK_FALSE(places.contains(kept.batch.input.data_ptr()));
  CHECK_FALSE(places.contains(view.data_ptr()));
  CHECK(torch::equal(kept.batch.input, copy));
  CHECK(torch::equal(view, view_copy));
}

TEST_CASE("loader: given up in the middle of an epoch") {
  const Numbered split(1000, augmentation());
  for (int round = 0; round < 30; ++round) {
    Loader loader(split, options(1 + round % 3, 5));
    for (int i = 0; i < round % 5; ++i) REQUIRE(loader.next());
  }
}

TEST_CASE("loader: examples are mixed within parts that do not depend on the number of ranks") {
  const Numbered split(53, augmentation());
  auto one = options(1, 2, 16);
  const auto plain = load(split, one);
  one.mixed_parts = 4;
  const auto whole = load(split, one);
  CHECK_FALSE(same(whole, plain));
  for (const std::int64_t ranks : {2, 4}) {
    for (std::size_t i = 0; i < whole.size(); ++i) {
      std::vector<torch::Tensor> inputs, targets;
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        auto own = one;
        own.share = {rank, ranks};
        const LoadedBatch share = load(split, own).at(i);
        if (share.batch.size() == 0) continue;
        inputs.push_back(share.batch.input);
        targets.push_back(share.batch.target);
      }
      CHECK(torch::equal(torch::cat(inputs), whole[i].batch.input));
      CHECK(torch::equal(torch::cat(targets), whole[i].batch.target));
    }
  }
}

}  // namespace
}  // namespace runner
