#include <algorithm>

#include "components/transforms/extent.hpp"
#include "components/transforms/transform.hpp"

namespace runner {
namespace {

struct Normalize {
  std::vector<double> mean;
  std::vector<double> std;
};
constexpr auto describe(std::type_identity<Normalize>) {
  return fields(
      field("mean", &Normalize::mean,
            "Subtracted from each channel, of pixels scaled to 0..1; default: the mean of the dataset."),
      field("std", &Normalize::std,
            "Each channel is divided by it; default: the standard deviation of the dataset."));
}
void check(const Normalize& settings, Report& report) {
  if (settings.mean.empty() != settings.std.empty()) {
    report.error(settings.mean.empty() ? "std" : "mean", std::string("needs ") +
                                                             (settings.mean.empty() ? "mean" : "std") +
                                                             ", too: the two are given together");
  } else if (settings.mean.size() != settings.std.size()) {
    report.error("std", "has " + std::to_string(settings.std.size()) + " numbers, mean has " +
                            std::to_string(settings.mean.size()));
  }
  if (std::any_of(settings.std.begin(), settings.std.end(), [](double value) { return value <= 0; })) {
    report.error("std", "must be above 0");
  }
}

// (value / 255 - mean) / std, per channel.
class NormalizeTransform : public Transform {
 public:
  NormalizeTransform(const std::vector<double>& mean, const std::vector<double>& deviation)
      : table_(mean, deviation) {}

  DataSpec output(DataSpec input) const override {
    input.pixels_final = true;
    return input;
  }
  void apply(Image& image, ExampleRandom&) const override { image.normalize(table_); }

 private:
  PixelTable table_;
};

std::unique_ptr<Transform> build(const Normalize& settings, const TransformInputs& inputs) {
  require_bytes(inputs.data, "normalize acts once and");
  std::vector<double> mean = settings.mean.empty() ? inputs.data.mean : settings.mean;
  std::vector<double> deviation = settings.std.empty() ? inputs.data.deviation : settings.std;
  if (mean.empty()) throw std::runtime_error("this dataset has no mean and std of its own: give both.");
  const auto channels = static_cast<std::size_t>(inputs.data.input_shape.at(0));
  if (mean.size() == 1) mean.resize(channels, mean[0]), deviation.resize(channels, deviation[0]);
  if (mean.size() != channels) {
    throw std::runtime_error("mean and std have " + std::to_string(mean.size()) +
                             " numbers, the images have " + std::to_string(channels) + " channels.");
  }
  return std::make_unique<NormalizeTransform>(mean, deviation);
}

const Registration<TransformKind> registration{
    "normalize", "Normalises each channel to mean 0 and standard deviation 1.", &build};

}  // namespace
}  // namespace runner
