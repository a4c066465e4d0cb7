#include "runner/train/best_files.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "components/weights/safetensors.hpp"
#include "components/weights/weights_checksum.hpp"
#include "registry/base/number_text.hpp"
#include "registry/files/folders.hpp"
#include "runner/checkpoint/manifest.hpp"
#include "runner/checkpoint/step_name.hpp"
#include "runner/train/kept_weights.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view ending = ".safetensors";

template <class Number>
Number number_of(const Metadata& metadata, const std::string& key) {
  Number number{};
  if (const auto found = metadata.find(key); found != metadata.end())
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), number);
  return number;
}

}  // namespace

fs::path BestFiles::path_of(std::int64_t step) const {
  return subfolder() / (step_name(step) + std::string(ending));
}

void BestFiles::write(Run& run) const {
  const BestModel& best = *run.best;
  const auto kept = std::ranges::find(best.kept(), run.progress.step, &BestModel::Kept::step);
  if (run.engine.world().is_main()) fs::create_directory(subfolder());
  save_run_weights(run, best.weights(), path_of(kept->step),
                   {{"metric", best.rule().metric},
                    {"mode", best.mode_name()},
                    {"value", number_text(kept->value)},
                    {"step", std::to_string(kept->step)},
                    {"epoch", number_text(kept->epoch)}});
  if (run.engine.world().is_main() && best.is_best(kept->step)) lead_to(kept->step);
}

void BestFiles::lead_to(std::int64_t step) const {
  replace_by_link(folder_ / "best.safetensors", path_of(step));
}

void BestFiles::remove_displaced(BestModel& best) const {
  for (const std::int64_t step : best.take_displaced()) {
    std::error_code gone_already;
    fs::remove(path_of(step), gone_already);
  }
}

std::vector<std::int64_t> BestFiles::unusable(const BestModel& best) const {
  std::vector<std::int64_t> steps;
  for (const auto& one : best.kept()) {
    const fs::path file = path_of(one.step);
    try {
      if (is_missing(file))
        steps.push_back(one.step);
      else
        require_intact_weights(file);
    } catch (const std::exception& error) {
      if (!is_about_checkpoint(error)) throw;  // an error of the disk or of memory: the file may be intact
      steps.push_back(one.step);
    }
  }
  return steps;
}

void BestFiles::restore(const BestModel& best) const {
  std::set<fs::path>
      referred;  // including displaced ones: the checkpoint that the run continues from refers to them
  for (const auto& one : best.kept()) referred.insert(path_of(one.step));
  for (const std::int64_t step : best.displaced()) referred.insert(path_of(step));
  for (const fs::path& file : files()) {
    std::error_code not_a_file;
    if (!referred.contains(file)) fs::remove(file, not_a_file);
  }
  if (best.best())
    lead_to(best.best()->step);
  else
    fs::remove(folder_ / "best.safetensors");
}

std::vector<fs::path> BestFiles::files() const {
  std::set<std::int64_t> steps;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(subfolder(), none)) {
    const fs::path name = entry.path().filename();
    // Any other name is the user's: a copy called step-00000100-good.safetensors.
    const auto step = name.extension() == ending ? step_of_name(name.stem().string()) : std::nullopt;
    if (step) steps.insert(*step);
  }
  std::vector<fs::path> files;
  for (const std::int64_t step : steps) files.push_back(path_of(step));
  return files;
}

std::vector<BestFiles::Listed> BestFiles::all() const {
  std::vector<Listed> all;
  Better mode = Better::max;
  for (const fs::path& file : files()) {
    Listed listed{.file = file};
    try {
      require_intact_weights(file);
      const Metadata metadata = read_safetensors_metadata(file);
      const auto metric = metadata.find("metric"), saved_mode = metadata.find("mode");
      mode = saved_mode != metadata.end() && saved_mode->second == "min" ? Better::min : Better::max;
      const double value = number_of<double>(metadata, "value");
      if (std::isnan(value))  // it could not be compared with others
        throw std::runtime_error(file.string() + " is damaged: the value of its metric is not a number.");
      listed.kept = {value, number_of<std::int64_t>(metadata, "step"), number_of<double>(metadata, "epoch")};
      if (metric != metadata.end()) listed.metric = metric->second;
      listed.bytes = fs::file_size(file);
    } catch (const std::exception& error) {
      if (!fs::exists(file)) continue;  // a run that is training has deleted it meanwhile
      listed.damage = error.what();
    }
    all.push_back(std::move(listed));
  }
  // Equally good ones stay in the order of their steps; damaged ones come last.
  std::ranges::stable_sort(all, [&](const Listed& one, const Listed& other) {
    if (one.damage.empty() != other.damage.empty()) return one.damage.empty();
    return is_better(mode, one.kept.value, other.kept.value);
  });
  return all;
}

}  // namespace runner
