#include <torch/types.h>

#include <catch2/catch_all.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "components/hooks/hook.hpp"
#include "registry/base/log.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/quiet.hpp"
#include "tests/support/temporary_folder.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::part;
using testing::Settings;
using testing::TemporaryFolder;

// One operator in each step, another one every time.
void step(int number) {
  const torch::Tensor a = torch::ones({64, 64});
  if (number == 0) a.sin();
  if (number == 1) a.matmul(a);
  if (number == 2) a.cos();
  if (number == 3) a.exp();
}

std::set<std::string> operators(const std::filesystem::path& trace) {
  std::ifstream file(trace);
  std::set<std::string> names;
  const auto json = nlohmann::json::parse(file);
  for (const auto& event : json.at("traceEvents")) {
    if (event.value("cat", "") == "cpu_op") names.insert(event.at("name"));
  }
  return names;
}

std::vector<Note> profile(const Settings& settings, int steps, const std::filesystem::path& folder) {
  auto hook = part<HookKind>("profiler", settings).build({});
  Requests requests;
  hook->start({}, folder, requests);
  for (int i = 0; i < steps; ++i) {
    step(i);
    hook->after_step({}, requests);
  }
  hook->finish({}, requests);
  return requests.take_notes();
}

TEST_CASE("profiler writes a trace of the steps asked for, and of no others") {
  const TemporaryFolder folder;
  const auto notes = profile({{"skip", 1}, {"steps", 2}}, 4, folder.path());
  const auto names = operators(folder / "trace.json");
  CHECK(names.contains("aten::mm"));
  CHECK(names.contains("aten::cos"));
  CHECK_FALSE(names.contains("aten::sin"));
  CHECK_FALSE(names.contains("aten::exp"));
  REQUIRE(notes.size() == 1);
  CHECK_THAT(notes[0].text, ContainsSubstring("aten::mm") && ContainsSubstring("trace.json"));
}

TEST_CASE("profiler begins with the first step, and ends with a run that is shorter than it") {
  const TemporaryFolder folder;
  const auto notes = profile({{"skip", 0}, {"steps", 100}, {"rows", 1}}, 2, folder.path());
  const auto names = operators(folder / "trace.json");
  CHECK(names.contains("aten::sin"));
  CHECK(names.contains("aten::mm"));
  REQUIRE(notes.size() == 1);
  CHECK(std::ranges::count(notes[0].text, '\n') == 2);  // the head and one row, and where the trace is
}

TEST_CASE("profiler says so where the run ends before it begins") {
  const TemporaryFolder folder;
  const testing::Quiet quiet;
  CHECK(profile({{"skip", 3}}, 2, folder.path()).empty());
  REQUIRE(log::warnings().size() == 1);
  CHECK_THAT(log::warnings()[0], ContainsSubstring("recorded nothing"));
  CHECK_FALSE(std::filesystem::exists(folder / "trace.json"));
}

}  // namespace
}  // namespace runner
