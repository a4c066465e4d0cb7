// The data loader alone, one worker thread: images a second.
//   benchmark_loader cifar|images FOLDER COUNT      prints JSON
#include <ATen/Parallel.h>

#include <chrono>
#include <iostream>

#include "components/datasets/dataset.hpp"
#include "runner/data/loader.hpp"
#include "tests/support/parts.hpp"

namespace runner {
namespace {

using testing::Setting;
using testing::Settings;

Setting transform(const char* name, std::initializer_list<std::pair<std::string, Setting>> settings = {}) {
  Table table;
  table.set("name", Value(Value::Data(std::string(name))));
  for (const auto& [key, setting] : settings) table.set(key, setting.value);
  return Value(Value::Data(std::move(table)));
}

Part<DatasetKind> dataset(const std::string& kind, const std::string& folder) {
  const auto colours = [](double r, double g, double b) { return Setting::list({r, g, b}); };
  const Setting normalize = transform(
      "normalize", {{"mean", colours(0.4914, 0.4822, 0.4465)}, {"std", colours(0.247, 0.2435, 0.2616)}});
  if (kind == "cifar") {
    return testing::part<DatasetKind>(
        "cifar10", {{"dir", folder},
                    {"transform", Setting::list({transform("random_crop", {{"padding", 4}}),
                                                 transform("random_flip"), normalize})}});
  }
  return testing::part<DatasetKind>(
      "image_folder",
      {{"dir", folder},
       {"transform",
        Setting::list({transform("random_resized_crop", {{"size", 64}}), transform("random_flip"),
                       transform("resize", {{"height", 64}, {"width", 64}, {"when", "eval"}}), normalize})}});
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void measure(const std::string& kind, const std::string& folder, std::int64_t count) {
  const Part<DatasetKind> part = dataset(kind, folder);
  const auto data = part.build({0});
  const Splits splits = data->open(build_pipeline(part.common.transform, data->spec()));
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
