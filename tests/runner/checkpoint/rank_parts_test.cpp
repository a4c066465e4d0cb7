#include "runner/checkpoint/rank_parts.hpp"

#include <catch2/catch_all.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runner/checkpoint/state_json.hpp"
#include "tests/support/rank_states.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

namespace {

fs::path saved_by(int ranks, const TemporaryFolder& scratch) {
  const auto errors = save_together(ranks, scratch.path(), 3, [](int rank) { return part_of_rank(rank, 3); });
  for (const auto& error : errors) CHECK(message_of(error) == "");
  return CheckpointStore(scratch.path()).path_of(3);
}

}  // namespace

TEST_CASE("checkpoint: each rank writes its part, and together they are one state") {
  const int ranks = GENERATE(2, 4);
  const TemporaryFolder scratch;
  const fs::path folder = saved_by(ranks, scratch);
  CHECK(damage_of(folder) == "");
  for (int rank = 0; rank < ranks; ++rank)
    CHECK(fs::exists(folder / RankPart{"optimizer", rank, ranks}.file()));
  CHECK_FALSE(fs::exists(folder / "optimizer.safetensors"));
  for (const auto& entry : fs::directory_iterator(folder))
    CHECK_FALSE(entry.path().filename().string().starts_with("."));  // notes are gone

  const Checkpoint read = read_checkpoint(folder);
  const State& optimizer = read.states.at("optimizer");
  CHECK(optimizer.tensors.size() == static_cast<std::size_t>(ranks));
  CHECK(optimizer.integers.at("of_all") == 7);
  for (int rank = 0; rank < ranks; ++rank) {
    const State part = part_of_rank(rank, 3);
    for (const auto& [name, tensor] : part.tensors) CHECK(torch::equal(optimizer.tensors.at(name), tensor));
    for (const auto& [name, tensor] : part.parts.at("inner").tensors)
      CHECK(torch::equal(optimizer.parts.at("inner").tensors.at(name), tensor));
    CHECK(optimizer.integers.at("layer" + std::to_string(rank) + ".step") == 3);
  }
  CHECK(read.states.at("model").tensors.at("weight")[0].item<double>() == 3);
}

TEST_CASE("checkpoint: a state without tensors is spread over ranks as well") {
  const TemporaryFolder scratch;
  for (const auto& error :
       save_together(2, scratch.path(), 3, [](int) { return State{.integers = {{"step", 3}}}; }))
    CHECK(message_of(error) == "");
  const Checkpoint read = read_checkpoint(CheckpointStore(scratch.path()).path_of(3));
  CHECK(read.states.at("optimizer").integers.at("step") == 3);
}

TEST_CASE("checkpoint: what all ranks have is that of the first, number and tensor alike") {
  const State first{.tensors = {{"weight", torch::ones({1})}}, .integers = {{"step", 3}}};
  const State second{.tensors = {{"weight", torch::ones({1})}}, .integers = {{"step", 4}}};
  const std::vector<nlohmann::json> layouts{to_json(first), to_json(second)};
  CHECK(joined(layouts) == to_json(first));
  const auto index = nlohmann::json::parse(index_of("optimizer", layouts).value());
  CHECK(index["weight_map"] == nlohmann::json{{"weight", RankPart{"optimizer", 0, 2}.file()}});
}

TEST_CASE("checkpoint: a part that its rank could not write is an error that names the rank") {
  const TemporaryFolder scratch;
  const RankPart part{"optimizer", 1, 2};
  CHECK_THROWS(write_part(scratch / "nowhere", part, {}));
  fs::create_directory(scratch / part.file());  // a folder where its file should be
  CHECK_THROWS(write_part(scratch.path(), part, {.tensors = {{"weight", torch::ones({1})}}}));
  CHECK_THROWS_WITH(wait_for_part(scratch.path(), part, {std::chrono::seconds(20)}),
                    ContainsSubstring("Rank 1 could not write its part"));
}

TEST_CASE("checkpoint: a damaged or missing part is named") {
  const TemporaryFolder scratch;
  const fs::path folder = saved_by(3, scratch);
  const std::string part = RankPart{"optimizer", 2, 3}.file();
  SECTION("damaged") {
    std::fstream file(folder / part, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-3, std::ios::end);
    file.put('x');
    file.close();
    CHECK_THAT(damage_of(folder), ContainsSubstring(part) && ContainsSubstring("checksum"));
  }
  SECTION("missing") {
    fs::remove(folder / part);
    CHECK_THAT(damage_of(folder), ContainsSubstring(part + " is missing"));
  }
  CHECK_THROWS_WITH(read_checkpoint(folder), ContainsSubstring(part));
}

TEST_CASE("checkpoint: a rank that leaves no note is named, and nobody waits for a run that has ended") {
  const TemporaryFolder scratch;
  const RankPart part{"optimizer", 1, 2};
  CHECK_THROWS_WITH(wait_for_part(scratch.path(), part, {std::chrono::milliseconds(20)}),
                    ContainsSubstring("rank 1") && ContainsSubstring(part.file()) &&
                        ContainsSubstring("a disk that they share"));
  const std::atomic<bool> cancelled = true;
  CHECK_THROWS_WITH(wait_for_part(scratch.path(), part, {std::chrono::hours(1), &cancelled}),
                    ContainsSubstring("has ended"));
}

TEST_CASE("checkpoint: a rank that dies before it has written its part is noticed at once") {
  const TemporaryFolder scratch;
  const RankPart part{"optimizer", 1, 2};
  WaitOptions wait{std::chrono::hours(1)};
  wait.trouble_with = [](int rank) { return "rank " + std::to_string(rank) + " has ended"; };
  CHECK_THROWS_AS(wait_for_part(scratch.path(), part, wait), RankError);
  CHECK_THROWS_WITH(wait_for_part(scratch.path(), part, wait), ContainsSubstring("rank 1 has ended"));
  write_part(scratch.path(), part, {.integers = {{"step", 3}}});  // it died after that
  const WrittenPart written = wait_for_part(scratch.path(), part, wait);
  CHECK(written.layout == to_json({.integers = {{"step", 3}}}));
  CHECK_FALSE(written.file);
}

TEST_CASE("checkpoint: a part without tensors has no file") {
  const TemporaryFolder scratch;
  const auto errors = save_together(2, scratch.path(), 3, [](int rank) {
    return rank == 0 ? State{.integers = {{"step", 3}}} : part_of_rank(rank, 3);
  });
  for (const auto& error : errors) CHECK(message_of(error) == "");
  const fs::path folder = CheckpointStore(scratch.path()).path_of(3);
  CHECK_FALSE(fs::exists(folder / RankPart{"optimizer", 0, 2}.file()));
  CHECK(damage_of(folder) == "");
  CHECK(read_checkpoint(folder).states.at("optimizer").tensors.size() == 1);
}
