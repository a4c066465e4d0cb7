#include <catch2/catch_all.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "registry/base/log.hpp"
#include "registry/files/io_error.hpp"
#include "registry/files/written_file.hpp"
#include "runner/checkpoint/environment_changes.hpp"
#include "runner/checkpoint/resume.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

namespace {

// A run with checkpoints of steps 1 and 2.
class TwoCheckpoints {
 public:
  TwoCheckpoints() {
    for (std::int64_t step : {1, 2}) {
      Checkpoint checkpoint;
      checkpoint.step = step;
      checkpoint.ranks = 2;
      checkpoint.states["model"].tensors["weight"] = torch::ones({4});
      checkpoint.versions = {{"libtorch", "2.6.0"}, {"plugin focal.so", "sha256 aa"}, {"runner", "1"}};
      const auto folder = store_.begin(step, 100);
      store_.write(*folder, checkpoint, {}, 2);
    }
  }

  const CheckpointStore& store() const { return store_; }
  fs::path newest() const { return store_.path_of(2); }

  // Replaces or removes one entry of the newest manifest.
  void set(const std::string& pointer, const nlohmann::json& value) const {
    patch({{"op", "add"}, {"path", pointer}, {"value", value}});
  }
  void remove(const std::string& pointer) const { patch({{"op", "remove"}, {"path", pointer}}); }

 private:
  void patch(const nlohmann::json& change) const {
    const auto manifest = nlohmann::json::parse(read_text(newest() / "manifest.json"));
    std::ofstream(newest() / "manifest.json") << manifest.patch(nlohmann::json::array({change}));
  }

  TemporaryFolder scratch_;
  CheckpointStore store_{scratch_.path()};
};

}  // namespace

TEST_CASE("checkpoint store: a folder that the user made beside them is not a checkpoint", "[checkpoint]") {
  const TwoCheckpoints run;
  const std::vector<std::string> names{"step-00000001-good", "step-1", "step-", "step-mine",
                                       "step-99999999999999999999"};
  for (const std::string& name : names) fs::create_directory(run.store().folder() / name);
  CHECK(run.store().all() == std::vector<fs::path>({run.store().path_of(2), run.store().path_of(1)}));
  Checkpoint third;
  third.step = 3;
  third.states["model"].tensors["weight"] = torch::ones({4});
  run.store().write(*run.store().begin(3, 100), third, {}, 1);
  CHECK(run.store().all() == std::vector{run.store().path_of(3)});
  for (const std::string& name : names) CHECK(fs::exists(run.store().folder() / name));
}

TEST_CASE("checkpoint store: one that is known to be damaged does not count as one of those to keep",
          "[checkpoint]") {
  const TwoCheckpoints run;
  const auto write = [&](std::int64_t step, const std::set<fs::path>& damaged) {
    Checkpoint next;
    next.step = step;
    next.states["model"].tensors["weight"] = torch::ones({4});
    run.store().write(*run.store().begin(step, 100), next, {}, 2, {}, damaged);
  };
  write(3, {run.newest()});
  CHECK(run.store().all() ==
        std::vector{run.store().path_of(3), run.store().path_of(2), run.store().path_of(1)});
  write(4, {run.newest()});
  CHECK(run.store().all() == std::vector{run.store().path_of(4), run.store().path_of(3)});
}

TEST_CASE("checkpoint store: the one just written stays, and one to keep, even if it is damaged",
          "[checkpoint]") {
  const TwoCheckpoints run;
  const auto write = [&](std::int64_t step, bool kept, const std::set<fs::path>& damaged) {
    Checkpoint next;
    next.step = step;
    next.kept = kept;
    next.states["model"].tensors["weight"] = torch::ones({4});
    run.store().write(*run.store().begin(step, 100), next, {}, 1, {}, damaged);
  };
  write(1, false, {});  // step 2 is newer
  CHECK(run.store().all() == std::vector{run.store().path_of(2), run.store().path_of(1)});
  write(3, true, {});
  write(4, false, {run.store().path_of(3)});
  CHECK(run.store().all() == std::vector{run.store().path_of(4), run.store().path_of(3)});
}

TEST_CASE("checkpoint store: without room, nothing is begun", "[checkpoint]") {
  const TwoCheckpoints run;
  CHECK_THROWS_WITH(run.store().begin(3, std::uint64_t{1} << 60), ContainsSubstring("Not enough disk space"));
  CHECK(std::distance(fs::directory_iterator(run.store().folder()), {}) == 3);  // both, and the link
}

TEST_CASE("checkpoint store: one that cannot be examined is not deleted, because it may be one to keep",
          "[checkpoint]") {
  const TwoCheckpoints run;
  const auto write = [&](std::int64_t step) {
    Checkpoint next;
    next.step = step;
    next.kept = step == 10;
    next.states["model"].tensors["weight"] = torch::ones({4});
    run.store().write(*run.store().begin(step, 100), next, {}, 1);
  };
  write(10);
  const fs::path kept = run.store().path_of(10), manifest = kept / "manifest.json";
  fs::rename(manifest, kept / "aside");
  fs::create_symlink("manifest.json", manifest);  // the system refuses to follow it
  CHECK_THROWS_AS(damage_of(kept), IoError);
  CHECK(run.store().is_kept(10));
  log::clear_warnings();
  write(11);
  REQUIRE_FALSE(log::warnings().empty());
  CHECK_THAT(log::warnings().front(), ContainsSubstring(kept.string() + " is not deleted"));
  write(12);
  CHECK(run.store().all() == std::vector{run.store().path_of(12), kept});
  fs::rename(kept / "aside", manifest);
  CHECK(damage_of(kept) == "");
  fs::remove(kept / "model.safetensors");
  fs::create_symlink("model.safetensors", kept / "model.safetensors");
  CHECK_THROWS_AS(damage_of(kept), IoError);
  log::clear_warnings();
}

TEST_CASE("checkpoint store: of a copy without links that was broken off, the whole checkpoint is kept",
          "[checkpoint]") {
  const TwoCheckpoints run;
  const fs::path latest = run.store().folder() / "latest";
  fs::remove(latest);
  fs::copy(run.newest(), latest, fs::copy_options::recursive);
  const fs::path broken = GENERATE(fs::path("step-00000002"), fs::path("latest"));
  const bool without_manifest = GENERATE(false, true);
  CAPTURE(broken, without_manifest);
  if (without_manifest)
    fs::remove(run.store().folder() / broken / "manifest.json");
  else
    fs::resize_file(run.store().folder() / broken / "model.safetensors", 20);
  run.store().clear_leftovers();
  CHECK(damage_of(run.newest()) == "");
  // Without its manifest, `latest` could be anything, and stays until the link takes its name.
  const bool stays = without_manifest && broken == "latest";
  CHECK(fs::is_symlink(latest) != stays);
}

TEST_CASE("checkpoint store: a damaged copy does not replace a damaged checkpoint", "[checkpoint]") {
  const TwoCheckpoints run;
  const fs::path latest = run.store().folder() / "latest";
  fs::remove(latest);
  fs::copy(run.newest(), latest, fs::copy_options::recursive);
  fs::resize_file(run.newest() / "model.safetensors", 20);
  fs::resize_file(latest / "model.safetensors", 10);
  run.store().clear_leftovers();
  CHECK(fs::file_size(run.newest() / "model.safetensors") == 20);
  CHECK(fs::file_size(latest / "model.safetensors") == 10);
}

TEST_CASE("a run folder given as a checkpoint is recognised as a run folder", "[checkpoint]") {
  const TwoCheckpoints run;
  CHECK_THROWS_WITH(read_checkpoint(run.store().folder().parent_path()),
                    ContainsSubstring("whose newest checkpoint is"));
}

TEST_CASE("newest checkpoint: whatever is wrong with one, the one before it is used", "[checkpoint]") {
  const TwoCheckpoints run;
  REQUIRE(newest_checkpoint(run.store())->checkpoint.step == 2);
  const auto require_refused = [&](const std::string& why) {
    CHECK_THAT(damage_of(run.newest()), ContainsSubstring(why));
    CHECK_THROWS_WITH(read_checkpoint(run.newest()),
                      ContainsSubstring(why) && ContainsSubstring("step-00000002"));
    const auto found = newest_checkpoint(run.store());
    REQUIRE(found);
    CHECK(found->checkpoint.step == 1);
  };
  SECTION("no manifest") {
    fs::remove(run.newest() / "manifest.json");
    require_refused("manifest.json is missing");
  }
  SECTION("a folder for the manifest") {
    fs::remove(run.newest() / "manifest.json");
    fs::create_directory(run.newest() / "manifest.json");
    require_refused("manifest.json is missing");
  }
  SECTION("a manifest that is cut off") {
    fs::resize_file(run.newest() / "manifest.json", 20);
    require_refused("not valid JSON");
  }
  SECTION("a text for a number") {
    run.set("/step", "two");
    require_refused("\"step\" is missing or wrong");
  }
  SECTION("numbers that cannot be") {
    const std::vector<std::pair<std::string, nlohmann::json>> lies{
        {"step", -1}, {"step", std::numeric_limits<std::uint64_t>::max()}, {"ranks", 0}};
    for (const auto& [name, lie] : lies) {
      const std::string right = read_text(run.newest() / "manifest.json");
      run.set("/" + name, lie);
      require_refused("\"" + name + "\" is missing or wrong");
      std::ofstream(run.newest() / "manifest.json") << right;
    }
  }
  SECTION("a text for a file") {
    run.set("/files/model.safetensors", "there");
    require_refused("\"files\" is missing or wrong");
  }
  SECTION("a negative size") {
    run.set("/files/model.safetensors/size", -1);
    require_refused("\"files\" is missing or wrong");
  }
  SECTION("a text for the format") {
    run.set("/format", "new");
    require_refused("\"format\" is missing or wrong");
  }
  SECTION("no files") {
    run.set("/files", nlohmann::json::object());
    require_refused("manifest.json does not list state.json");
  }
  SECTION("the weights are not listed") {
    run.remove("/files/model.safetensors");
    require_refused("manifest.json does not list model.safetensors");
  }
  SECTION("the other states are not listed") {
    run.remove("/files/state.safetensors");
    require_refused("manifest.json does not list state.safetensors");
  }
  SECTION("a file of the weights, which are in several, is not listed") {
    run.remove("/files/model.safetensors");
    const std::string index = R"({"weight_map": {"weight": "model.safetensors"}})";
    write_file(run.newest() / "model.safetensors.index.json", index);
    run.set("/files/model.safetensors.index.json", to_json(written_file(index)));
    require_refused("manifest.json does not list model.safetensors");
  }
  SECTION("a file outside") {
    run.set("/files/..~1secret", {{"size", 1}, {"sha256", ""}});
    require_refused("outside the checkpoint");
  }
  SECTION("another byte") {
    std::fstream file(run.newest() / "model.safetensors", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('x');
    file.close();
    require_refused("model.safetensors has the wrong checksum");
    run.remove("/files/model.safetensors/xxh3_of_pieces");  // the other checksum is enough
    require_refused("model.safetensors has the wrong checksum");
  }
  SECTION("a byte too many") {
    std::ofstream(run.newest() / "model.safetensors", std::ios::app) << 'x';
    require_refused("bytes instead of");
  }
}

TEST_CASE("newest checkpoint: what is not damage is no reason to use an older one", "[checkpoint]") {
  const TwoCheckpoints run;
  SECTION("the disk") {
    CHECK_THROWS_AS(newest_checkpoint(run.store(),
                                      [](const auto&, const auto&) -> std::string {
                                        throw IoError("Cannot read it: Input/output error.");
                                      }),
                    IoError);
  }
  SECTION("memory") {
    CHECK_THROWS_AS(newest_checkpoint(
                        run.store(), [](const auto&, const auto&) -> std::string { throw std::bad_alloc(); }),
                    std::bad_alloc);
  }
  SECTION("another version of the runner") {
    run.set("/format", manifest_format + 1);
    CHECK_THROWS_AS(newest_checkpoint(run.store()), OtherFormat);
    CHECK_THROWS_WITH(newest_checkpoint(run.store()), ContainsSubstring("another version of the runner") &&
                                                          ContainsSubstring("step-00000002"));
  }
}

TEST_CASE("newest checkpoint: files that its manifest does not list are not read", "[checkpoint]") {
  const TwoCheckpoints run;
  write_file(run.newest() / "model.safetensors.index.json",
             R"({"weight_map": {"weight": "other.safetensors"}})");
  const auto found = newest_checkpoint(run.store());
  REQUIRE(found);
  CHECK(found->checkpoint.step == 2);
  CHECK(torch::equal(found->checkpoint.states.at("model").tensors.at("weight"), torch::ones({4})));
}

TEST_CASE("newest checkpoint: what wrote it is compared with what reads it", "[checkpoint]") {
  const TwoCheckpoints run;
  const CheckpointSummary read = read_summary(run.newest());
  CHECK(environment_changes(read, read.versions, 2).empty());
  const auto changes = environment_changes(read,
                                           {{"libtorch", "2.7.0"},
                                            {"plugin focal.so", "sha256 bb"},
                                            {"plugin new.so", "sha256 cc"},
                                            {"runner", "1"}},
                                           4);
  CHECK(changes == std::vector<std::string>{"libtorch: 2.6.0 -> 2.7.0",
                                            "plugin focal.so: sha256 aa -> sha256 bb",
                                            "plugin new.so: (none) -> sha256 cc", "ranks: 2 -> 4"});
}
