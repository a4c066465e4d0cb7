#include "runner/runs/tracking/run_facts.hpp"

#include <catch2/catch_all.hpp>

#include "tests/support/files.hpp"
#include "tests/support/recorded_trackers.hpp"

namespace runner {
namespace {

using namespace testing::trackers;

const std::string id = "0123456789abcdef0123456789abcdef";

State checkpoint_with(const std::string& saved_id) {
  return {.numbers = {{"started_at", 1700000000}}, .texts = {{"id", saved_id}}};
}

TEST_CASE("a run keeps the id and the start in its run.json, whatever a checkpoint says") {
  Case run;
  testing::write_file(run.folder / "run.json", R"({"id": ")" + id + R"(", "started_at": 1700000000.5})");
  identify(run.facts, checkpoint_with(std::string(32, 'f')));
  CHECK(run.facts.id == id);
  CHECK(run.facts.started_at == 1700000000.5);
}

TEST_CASE("what the program would not write into run.json is damage: it becomes names of files") {
  const std::string identity = GENERATE(
      R"("id": "../../../home/user/x", "started_at": 1700000000)", R"("id": "", "started_at": 1700000000)",
      R"("id": "0123456789ABCDEF0123456789ABCDEF", "started_at": 1700000000)",
      R"("id": "0123456789abcdef0123456789abcdef0", "started_at": 1700000000)",
      R"("id": "0123456789abcdef0123456789abcdef", "started_at": 1e300)",
      R"("id": "0123456789abcdef0123456789abcdef", "started_at": -5)");
  CAPTURE(identity);
  Case run;
  Quiet quiet;
  testing::write_file(run.folder / "run.json", "{" + identity + "}");
  const std::string other(32, 'f');
  const bool has_checkpoint = GENERATE(false, true);
  identify(run.facts, has_checkpoint ? checkpoint_with(other) : State{});
  CHECK((run.facts.id == other) == has_checkpoint);
  CHECK(run.facts.id.size() == 32);
  CHECK(run.facts.id.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK((run.facts.started_at >= 1700000000 && run.facts.started_at < 1e11));
  REQUIRE(log::warnings().size() == 1);
  CHECK_THAT(log::warnings()[0], Catch::Matchers::ContainsSubstring("run.json is damaged"));
  RunFacts again = run.facts;
  identify(again, {});  // it was rewritten
  CHECK(again.id == run.facts.id);
  CHECK(log::warnings().size() == 1);
}

TEST_CASE("an id of a checkpoint that is no id is not used") {
  Case run;
  identify(run.facts, checkpoint_with("../x"));
  CHECK(run.facts.id.size() == 32);
}

}  // namespace
}  // namespace runner
