// A process is killed at every system call of saving: the last complete checkpoint is usable, and the next
// start clears what is left.
#include <catch2/catch_all.hpp>
#include <set>

#include "tests/faults/failing_calls.hpp"
#include "tests/faults/saved_checkpoints.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
namespace fs = std::filesystem;

namespace {

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

}  // namespace

TEST_CASE("checkpoint: wherever a process is killed while it saves, the next one finds all but the last") {
  // One that is there already, which is replaced, with and without an exchange of names; and a new one.
  const auto given = GENERATE(table<std::int64_t, int>({{3, 0}, {3, EINVAL}, {4, 0}}));
  const std::int64_t step = std::get<0>(given);
  const int exchange_fails_with = std::get<1>(given);
  CAPTURE(step, exchange_fails_with);
  const NoExchange mode(exchange_fails_with);
  std::set<std::string> left;
  int number = 1;
  for (bool crashed = true; crashed; ++number) {
    CAPTURE(number);
    const TemporaryFolder scratch;
    const CheckpointStore store(scratch.path());
    for (const std::int64_t earlier : {1, 2, 3}) save(store, earlier, 3);
    store.point_latest_to(store.path_of(2));
    crashed = crashes_at(number, scratch.path().string(), [&] { save(store, step, /*keep=*/1); });
    for (const std::string& name : names_in(store.folder())) left.insert(name.substr(0, name.find('-')));

    store.clear_leftovers();
    const auto steps = loadable(store);
    REQUIRE_FALSE(steps.empty());
    CHECK(steps.front() >= 3);
    if (!crashed) CHECK(steps == std::vector<std::int64_t>{step});
    store.point_latest_to(store.path_of(steps.front()));
    std::set<std::string> expected{"latest"};
    for (const std::int64_t each : steps) expected.insert(store.path_of(each).filename());
    CHECK(names_in(store.folder()) == expected);
    CHECK(fs::read_symlink(store.folder() / "latest") == store.path_of(steps.front()).filename());
    CHECK(damage_of(store.folder() / "latest").empty());
    save(store, 5);
    CHECK(loadable(store).front() == 5);
  }
  CHECK(number > 60);
  // The moments that matter have been met.
  CHECK(left.contains(".unfinished"));
  CHECK(left.contains(".removed"));
  CHECK(left.contains(".replaced") == (step == 3 && exchange_fails_with != 0));
}
