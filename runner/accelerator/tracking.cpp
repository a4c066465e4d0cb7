#include <stdexcept>

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

void Accelerator::log(const std::vector<std::pair<std::string, double>>& values, std::int64_t step) {
  if (!is_main_process()) return;
  if (!impl_->trackers) throw std::logic_error("log() needs trackers: call init_trackers() first.");
  Record record{.step = step, .values = values};
  const auto seconds = [](auto since) { return std::chrono::duration<double>(since).count(); };
  record.time = seconds(std::chrono::steady_clock::now() - impl_->tracking_since);
  record.wall_time = seconds(std::chrono::system_clock::now().time_since_epoch());
  impl_->trackers->log(std::move(record));
}

void Accelerator::end_training() {
  if (impl_->trackers) impl_->trackers->finish(Outcome::finished);
  wait_for_everyone();
}

}  // namespace runner
