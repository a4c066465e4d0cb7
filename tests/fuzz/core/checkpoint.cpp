// A checkpoint whose manifest.json (first byte even) or state.json (odd) is anything: never a crash, never
// more memory than the files account for, and a decent message.
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "registry/files/written_file.hpp"
#include "runner/checkpoint/checkpoint.hpp"
#include "tests/fuzz/core/message.hpp"
#include "tests/support/temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
}

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A checkpoint that is right, to be damaged.
struct Model {
  runner::testing::TemporaryFolder scratch;
  fs::path folder = scratch / "step-00000001";
  std::string manifest, state;

  Model() {
    runner::Checkpoint checkpoint;
    checkpoint.step = 1;
    checkpoint.states["model"].tensors["weight"] = torch::ones({2, 3});
    checkpoint.states["optimizer"].tensors["weight.momentum"] = torch::ones({2, 3});
    checkpoint.states["progress"].integers["step"] = 1;
    checkpoint.states["journal"].parts["loss"].numbers["sum"] = 0.5;
    checkpoint.states["hook"].tensors["average"] = torch::zeros({2});
    runner::TemporaryFolderBeside temporary(folder);
    write_checkpoint(temporary, checkpoint);
    manifest = text_of(folder / "manifest.json");
    state = text_of(folder / "state.json");
  }

  // The manifest that says of this state.json what is true, so that it gets past the checksum.
  std::string manifest_of(std::string_view text) const {
    const runner::WrittenFile now = runner::written_file(text), before = runner::written_file(state);
    std::string changed = manifest;
    const auto replace = [&](const std::string& old, const std::string& other) {
      changed.replace(changed.find(old, changed.find("\"state.json\"")), old.size(), other);
    };
    replace(before.sha256, now.sha256);
    replace(before.xxh3_of_pieces, now.xxh3_of_pieces);
    replace("\"size\": " + std::to_string(before.size), "\"size\": " + std::to_string(now.size));
    return changed;
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Model model;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  const bool is_manifest = data[0] % 2 == 0;
  write(model.folder / "state.json", is_manifest ? std::string_view(model.state) : text);
  write(model.folder / "manifest.json", is_manifest ? std::string(text) : model.manifest_of(text));
  try {
    runner::read_summary(model.folder);
    runner::read_checkpoint(model.folder);
  } catch (const std::exception& error) {
    require_decent(error.what());
  }
  return 0;
}
