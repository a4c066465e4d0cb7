// Weights are used where they lie in the mapped file: reading makes no second copy of them in memory.
#include <catch2/catch_all.hpp>
#include <fstream>

#include "components/weights/sharded_safetensors.hpp"
#include "runner/checkpoint/checkpoint.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t layers = 16, layer_bytes = 8 << 20, model_bytes = layers * layer_bytes;

State model() {
  State state;
  for (std::int64_t i = 0; i < layers; ++i)
    state.tensors["layer" + std::to_string(i)] = torch::full({layer_bytes / 4}, static_cast<double>(i));
  return state;
}

// Of /proc/self/status, in bytes: "VmHWM" is the most memory that was in use so far, "VmRSS" what is now.
std::int64_t memory(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    std::int64_t kilobytes = 0;
    if (word == name + ":" && file >> kilobytes) return kilobytes << 10;
  }
  return 0;
}

// How much more memory was in use at some moment of the work than before it; mapped pages count.
template <class Work>
std::optional<std::int64_t> peak_of(const Work& work) {
  std::ofstream clear("/proc/self/clear_refs");
  clear << "5" << std::flush;  // forget the peak so far
  if (!clear) return std::nullopt;
  const std::int64_t before = memory("VmRSS");
  work();
  return memory("VmHWM") - before;
}

void read_into(State& target, const std::map<std::string, torch::Tensor>& tensors) {
  for (auto& [name, tensor] : target.tensors) tensor.copy_(tensors.at(name));
}

void require_no_second_copy(const std::optional<std::int64_t>& peak) {
  if (!peak) SKIP("/proc/self/clear_refs cannot be written");
  INFO(*peak / (1 << 20) << " MB at the peak for " << model_bytes / (1 << 20) << " MB of weights");
  CHECK(*peak > model_bytes / 2);      // it was measured
  CHECK(*peak < model_bytes * 5 / 4);  // the mapped file alone
}

}  // namespace

TEST_CASE("peak memory: a checkpoint is restored without a second copy", "[checkpoint]") {
  const TemporaryFolder scratch;
  const fs::path folder = scratch / "step-00000001";
  State target = model();
  {
    Checkpoint checkpoint;
    checkpoint.states["model"] = target;
    TemporaryFolderBeside temporary(folder);
    write_checkpoint(temporary, checkpoint);
  }
  require_no_second_copy(peak_of([&] {
    const Checkpoint read = read_checkpoint(folder);
    read_into(target, read.states.at("model").tensors);
  }));
}

TEST_CASE("peak memory: weights in several files are read without a second copy", "[checkpoint]") {
  const TemporaryFolder scratch;
  State target = model();
  write_sharded_safetensors(scratch.path(), "model", {target.tensors.begin(), target.tensors.end()},
                            3 * layer_bytes);
  const auto is_there = [&](const std::string& file) { return fs::exists(scratch / file); };
  require_no_second_copy(
      peak_of([&] { read_into(target, read_sharded_safetensors(scratch.path(), "model", is_there)); }));
}
