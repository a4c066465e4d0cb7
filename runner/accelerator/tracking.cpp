#include <algorithm>
#include <span>
#include <stdexcept>

#include "components/images/image_codec.hpp"
#include "components/torch/shape_text.hpp"
#include "registry/base/wording.hpp"
#include "registry/make_part.hpp"
#include "runner/accelerator/accelerator.hpp"
#include "runner/accelerator/accelerator_impl.hpp"
#include "runner/runs/tracking/build_trackers.hpp"

namespace runner {

void Accelerator::init_trackers(const std::string& run_name, const std::filesystem::path& folder,
                                std::vector<std::pair<std::string, Setting>> settings,
                                std::optional<std::int64_t> resumed_at) {
  impl_->tracking_since = std::chrono::steady_clock::now();
  if (!is_main_process()) return;
  std::filesystem::create_directories(folder);
  std::vector<Part<TrackerKind>> parts;
  for (const ComponentChoice& choice : impl_->options.trackers)
    parts.push_back(make_part<TrackerKind>(impl_->registry, choice.name, choice.settings));
  RunFacts facts{.name = run_name, .folder = folder, .recipe = "", .settings = std::move(settings)};
  impl_->trackers =
      std::make_unique<Trackers>(build_trackers(parts, impl_->registry, {folder}), std::move(facts));
  impl_->trackers->start(resumed_at);
}

namespace {

Trackers& started(const std::unique_ptr<Trackers>& trackers, const char* call) {
  if (!trackers) throw std::logic_error(std::string(call) + "() needs trackers: call init_trackers() first.");
  return *trackers;
}

// [channels, height, width] or [height, width]; bytes, or numbers from 0 to 1.
Picture picture_of(const torch::Tensor& image) {
  torch::Tensor pixels = image.detach().to(torch::kCPU);
  if (pixels.dim() == 2) pixels = pixels.unsqueeze(0);
  if (pixels.dim() != 3 || (pixels.size(0) != 1 && pixels.size(0) != 3) || pixels.numel() == 0)
    throw std::invalid_argument(
        "log_images() needs images of shape [channels, height, width] with 1 or 3 channels, not of shape " +
        shape_text(image.sizes()) + ".");
  if (pixels.is_floating_point()) pixels = pixels.nan_to_num(0).clamp(0, 1).mul(255).round();
  pixels = pixels.to(torch::kUInt8).expand({3, -1, -1}).permute({1, 2, 0}).contiguous();
  const ImageSize size{pixels.size(0), pixels.size(1)};
  const std::span rgb(pixels.const_data_ptr<std::uint8_t>(), static_cast<std::size_t>(pixels.numel()));
  return {encode_png(rgb, size), size.height, size.width};
}

}  // namespace

void TrackerLine::log(const std::vector<std::pair<std::string, double>>& values, std::int64_t step) {
  if (!trackers_) return;
  Record record{.step = step, .values = values};
  const auto seconds = [](auto since) { return std::chrono::duration<double>(since).count(); };
  record.time = seconds(std::chrono::steady_clock::now() - since_);
  record.wall_time = seconds(std::chrono::system_clock::now().time_since_epoch());
  trackers_->put(std::move(record), only_);
}

void TrackerLine::log_images(const std::vector<std::pair<std::string, torch::Tensor>>& images,
                             std::int64_t step) {
  if (!trackers_) return;
  for (const auto& [tag, image] : images) {
    if (image.dim() != 4) {
      trackers_->put(ImageItem{tag, picture_of(image), step}, only_);
      continue;
    }
    for (std::int64_t i = 0; i < image.size(0); ++i)
      trackers_->put(ImageItem{tag + "/" + std::to_string(i), picture_of(image[i]), step}, only_);
  }
}

void TrackerLine::log_text(const std::vector<std::pair<std::string, std::string>>& texts, std::int64_t step) {
  if (!trackers_) return;
  for (const auto& [tag, text] : texts) trackers_->put(TextItem{tag, text, step}, only_);
}

void TrackerLine::log_artifact(const std::string& name, const std::filesystem::path& file) {
  if (!trackers_) return;
  if (!std::filesystem::is_regular_file(file))
    throw std::invalid_argument("log_artifact(): there is no file " + file.string() + ".");
  if (only_.empty()) return trackers_->artifact(name, file);
  trackers_->put(ArtifactItem{name, std::filesystem::absolute(file)}, only_);
}

TrackerLine Accelerator::line_to(const std::string& only, const char* call) {
  if (!is_main_process()) return {};
  return {&started(impl_->trackers, call), only, impl_->tracking_since};
}

TrackerLine Accelerator::get_tracker(const std::string& name) {
  if (is_main_process()) {
    const auto names = started(impl_->trackers, "get_tracker").names();
    if (std::ranges::find(names, name) == names.end())
      throw std::invalid_argument("There is no tracker " + in_quotes(name) + ", only " + joined(names) + ".");
  }
  return line_to(name, "get_tracker");
}

void Accelerator::log(const std::vector<std::pair<std::string, double>>& values, std::int64_t step) {
  line_to("", "log").log(values, step);
}
void Accelerator::log_images(const std::vector<std::pair<std::string, torch::Tensor>>& images,
                             std::int64_t step) {
  line_to("", "log_images").log_images(images, step);
}
void Accelerator::log_text(const std::vector<std::pair<std::string, std::string>>& texts, std::int64_t step) {
  line_to("", "log_text").log_text(texts, step);
}
void Accelerator::log_artifact(const std::string& name, const std::filesystem::path& file) {
  line_to("", "log_artifact").log_artifact(name, file);
}

void Accelerator::end_training() {
  if (impl_->trackers) impl_->trackers->finish(Outcome::finished);
  wait_for_everyone();
}

}  // namespace runner
