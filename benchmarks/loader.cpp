// The data loader alone, one worker thread: images a second.
//   benchmark_loader cifar|images FOLDER COUNT      prints JSON
#include <ATen/Parallel.h>

#include <chrono>
#include <iostream>

#include "benchmarks/datasets.hpp"
#include "runner/data/loader.hpp"

namespace runner {
namespace {

Splits augmented(const std::string& kind, const std::string& folder) {
  const Setting flip = Setting::table({{"name", "random_flip"}});
  if (kind == "cifar") {
    const Setting crop = Setting::table({{"name", "random_crop"}, {"padding", 4}});
    return opened("cifar10", {{"dir", folder}, {"transform", Setting::list({crop, flip, normalized()})}});
  }
  const Setting crop = Setting::table({{"name", "random_resized_crop"}, {"size", 64}});
  const Setting resize =
      Setting::table({{"name", "resize"}, {"height", 64}, {"width", 64}, {"when", "eval"}});
  return opened("image_folder",
                {{"dir", folder}, {"transform", Setting::list({crop, flip, resize, normalized()})}});
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void measure(const std::string& kind, const std::string& folder, std::int64_t count) {
  const Splits splits = augmented(kind, folder);
  LoaderOptions options;
  options.shuffle = true;
  Loader loader(*splits.train, options);
  loader.next();
  const double began = now();
  std::int64_t seen = 0;
  while (seen < count) seen += loader.next()->batch.size();
  std::cout << "{\"images_per_second\": " << static_cast<double>(seen) / (now() - began) << "}\n";
}

}  // namespace
}  // namespace runner

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: benchmark_loader cifar|images FOLDER COUNT\n";
    return 2;
  }
  at::set_num_threads(1);
  runner::measure(argv[1], argv[2], std::atoll(argv[3]));
}
