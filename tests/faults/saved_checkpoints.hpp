// Small checkpoints, as the tests of faults save and read them.
#pragma once

#include <catch2/catch_all.hpp>

#include "registry/files/atomic_file.hpp"
#include "runner/checkpoint/checkpoint_store.hpp"

namespace runner::testing {

inline Checkpoint at_step(std::int64_t step) {
  Checkpoint checkpoint;
  checkpoint.step = step;
  const auto numbers = torch::full({64}, static_cast<double>(step));
  for (const char* name : {"bias", "weight"}) checkpoint.states["model"].tensors[name] = numbers;
  checkpoint.states["optimizer"].tensors["weight.exp_avg"] = numbers;
  checkpoint.states["progress"].integers["step"] = step;
  checkpoint.texts["recipe.toml"] = "a = 1\n";
  return checkpoint;
}

// With a model in two files and an index, and a hook that writes a file of its own, in a folder of its own.
inline void save(const CheckpointStore& store, std::int64_t step, std::int64_t keep = 2) {
  const ModelStatesHook hook = [](ModelStates&, const std::filesystem::path& folder) {
    std::filesystem::create_directory(folder / "extra");
    AtomicFile file(folder / "extra/notes.txt");
    file.write(std::string_view("of a hook\n"));
    file.commit();
  };
  Checkpoint checkpoint = at_step(step);
  const auto folder = store.begin(step, 3 * 64 * sizeof(float));
  call_save_hooks({hook}, checkpoint, store.path_of(step));
  store.write(*folder, checkpoint, {.max_shard_bytes = 64 * sizeof(float)}, keep);
}

// The steps of what can be loaded, the newest first.
inline std::vector<std::int64_t> loadable(const CheckpointStore& store) {
  std::vector<std::int64_t> steps;
  for (const std::filesystem::path& folder : store.all()) {
    if (!damage_of(folder).empty()) continue;
    const Checkpoint read = read_checkpoint(folder);
    for (const auto& [name, tensor] : read.states.at("model").tensors)
      CHECK(tensor[0].item<double>() == static_cast<double>(read.step));
    steps.push_back(read.step);
  }
  return steps;
}

}  // namespace runner::testing
