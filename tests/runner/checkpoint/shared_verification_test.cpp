#include "runner/checkpoint/shared_verification.hpp"

#include <catch2/catch_all.hpp>
#include <nlohmann/json.hpp>

#include "runner/checkpoint/checkpoint.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

fs::path written(const TemporaryFolder& scratch) {
  Checkpoint checkpoint;
  checkpoint.states["model"].tensors["weight"] = torch::ones({1000});
  checkpoint.states["optimizer"].tensors["weight.momentum"] = torch::ones({1000});
  checkpoint.states["times"].tensors["seconds"] = torch::ones({10});
  checkpoint.texts["recipe.toml"] = "model = \"mlp\"\n";
  TemporaryFolderBeside folder(scratch / "step-00000001");
  write_checkpoint(folder, checkpoint);
  return scratch / "step-00000001";
}

// Of the same size.
void damage(const fs::path& file) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(-1, std::ios::end);
  stream.put('~');
}

}  // namespace

TEST_CASE("shared verification: every file has one rank that reads it", "[checkpoint]") {
  const TemporaryFolder scratch;
  const fs::path folder = written(scratch);
  const auto manifest = read_manifest(folder);
  CHECK(damage_of(folder, manifest) == "");
  std::map<int, int> files_of_part;
  for (const auto& [name, file] : manifest["files"].items()) {
    CAPTURE(name);
    const TemporaryFolder other;
    fs::copy(folder, other / "copy");
    damage(other / "copy" / name);
    int readers = 0;
    for (int part = 0; part < 3; ++part) {
      const std::string found = damage_of(other / "copy", manifest, {part, 3});
      if (found.empty()) continue;
      CHECK_THAT(found, ContainsSubstring(name));
      ++readers;
      ++files_of_part[part];
    }
    CHECK(readers == 1);
  }
  CHECK(files_of_part.size() == 3);  // the two large ones are not read by the same rank
}

TEST_CASE("shared verification: rank 0 learns what any rank has found", "[checkpoint]") {
  const TemporaryFolder scratch;
  const fs::path folder = written(scratch);
  for (const char* const name : {"", "model.safetensors", "optimizer.safetensors", "state.json"}) {
    CAPTURE(name);
    const TemporaryFolder other;
    fs::copy(folder, other / "copy");
    if (*name != '\0') damage(other / "copy" / name);
    std::string found;
    on_ranks(3, [&](World& world) {
      SharedVerification shared(world);
      if (!world.is_main()) return shared.help();
      for (int again = 0; again < 2; ++again)
        found = shared.damage_of(other / "copy", read_manifest(other / "copy"));
      shared.finish();
    });
    if (*name == '\0') {
      CHECK(found == "");
    } else {
      CHECK_THAT(found, ContainsSubstring(name));
    }
  }
}

TEST_CASE("shared verification: a rank that does not see the checkpoint says so", "[checkpoint]") {
  const TemporaryFolder scratch;
  const fs::path folder = written(scratch);
  const auto errors = try_on_ranks(2, [&](World& world) {
    SharedVerification shared(world);
    if (!world.is_main()) return shared.help();
    const auto manifest = read_manifest(folder);
    fs::rename(folder, scratch / "elsewhere");  // as on another machine
    shared.damage_of(folder, manifest);
    shared.finish();
  });
  CHECK_THAT(message_of(errors[1]), ContainsSubstring("Rank 1") && ContainsSubstring("shared disk"));
}
