// How many CIFAR-sized images a second the loader crops, flips, normalises and puts into batches.
//   benchmark_loader [epochs]
#include <ctime>
#include <iostream>

#include "components/datasets/image_split.hpp"
#include "registry/log.hpp"
#include "runner/data/loader.hpp"
#include "tests/support/parts.hpp"

namespace runner {
namespace {

constexpr std::int64_t images = 50000, pixels = 3 * 32 * 32;

DataSpec cifar_like() {
  DataSpec spec;
  spec.input_shape = {3, 32, 32};
  spec.classes = 10;
  spec.images = true;
  spec.mean = {0.4914, 0.4822, 0.4465};
  spec.deviation = {0.2470, 0.2435, 0.2616};
  return spec;
}

// Noise in memory, as a mapped file would be.
class Noise : public ImageSplit {
 public:
  explicit Noise(const TransformPipeline& transforms)
      : ImageSplit(cifar_like(), transforms, Phase::training),
        data_(static_cast<std::size_t>(images * pixels)) {
    SampleRandom random(1);
    for (auto& byte : data_) byte = static_cast<std::uint8_t>(random.bits());
  }
  std::int64_t size() const override { return images; }

 private:
  ImageView image(std::int64_t index, Scratch&) const override {
    return ImageView::planar(data_.data() + index * pixels, 3, 32, 32);
  }
  std::int64_t label(std::int64_t index) const override { return index % 10; }

  std::vector<std::uint8_t> data_;
};

double seconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void measure(const Split& split, int workers, torch::MemoryFormat format, std::int64_t epochs) {
  LoaderOptions options;
  options.batch_size = 128;
  options.shuffle = true;
  options.workers = workers;
  options.format = format;
  options.epochs = epochs;
  const double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
  Loader loader(split, options);
  while (loader.next()) continue;
  const auto count = static_cast<double>(epochs * images);
  std::cout << "workers " << workers
            << (format == torch::MemoryFormat::ChannelsLast ? ", channels_last" : ", contiguous   ") << ": "
            << static_cast<std::int64_t>(count / (seconds(CLOCK_MONOTONIC) - wall)) << " images/s, "
            << static_cast<std::int64_t>(count / (seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu))
            << " for each second of CPU time\n";
}

}  // namespace
}  // namespace runner

int main(int argc, char** argv) {
  using namespace runner;
  const std::int64_t epochs = argc > 1 ? std::atoi(argv[1]) : 10;
  const auto transform = [](const char* name, const testing::Settings& settings = {}) {
    return testing::part<TransformKind>(name, settings);
  };
  const Noise split(build_pipeline(
      {transform("random_crop", {{"padding", 4}}), transform("random_flip"), transform("normalize")},
      cifar_like()));
  for (const int workers : {0, 1, 2}) {
    for (const auto format : {torch::MemoryFormat::Contiguous, torch::MemoryFormat::ChannelsLast}) {
      measure(split, workers, format, epochs);
    }
  }
}
