#include <catch2/catch_all.hpp>

#include "components/hooks/hook.hpp"
#include "components/hooks/matmul_peak.hpp"
#include "registry/base/log.hpp"
#include "tests/support/parts.hpp"

namespace runner {
namespace {

using testing::part;

Progress at(std::int64_t step, double seconds) {
  Progress progress;
  progress.step = step;
  progress.examples = 32 * step;
  progress.seconds = seconds;
  return progress;
}

using Quiet = log::Silence;

TEST_CASE("throughput is the examples over the time of `every` steps, the first left out") {
  Quiet quiet;
  auto hook = part<HookKind>("throughput", {{"every", 4}}).build({});
  Requests requests;
  hook->after_step(at(1, 100), requests);  // slow, as first steps are
  for (int step = 2; step <= 4; ++step) hook->after_step(at(step, 100 + 0.5 * (step - 1)), requests);
  CHECK(requests.take_measurements().empty());
  hook->after_step(at(5, 102), requests);
  CHECK(requests.take_measurements() == Measurements{{"perf/examples_per_second", 64}});

  hook->after_eval(at(5, 1000), {}, requests);  // the time of an evaluation does not count
  for (int step = 6; step <= 10; ++step) hook->after_step(at(step, 1000 + step), requests);
  CHECK(requests.take_measurements() == Measurements{{"perf/examples_per_second", 32}});
}

TEST_CASE("throughput goes on from its state where it was") {
  Quiet quiet;
  auto before = part<HookKind>("throughput", {{"every", 4}}).build({});
  auto after = part<HookKind>("throughput", {{"every", 4}}).build({});
  Requests requests;
  for (int step = 1; step <= 3; ++step) before->after_step(at(step, 100 + 0.5 * (step - 1)), requests);
  after->load(before->save());
  after->after_step(at(4, 101.5), requests);
  CHECK(requests.take_measurements().empty());
  after->after_step(at(5, 102), requests);
  CHECK(requests.take_measurements() == Measurements{{"perf/examples_per_second", 64}});
}

TEST_CASE("throughput compares the model's operations with a measured peak") {
  Quiet quiet;
  HookInputs in;
  in.flops_per_example = 1e6;
  auto hook = part<HookKind>("throughput", {{"every", 1}}).build(in);
  Requests requests;
  hook->after_step(at(1, 1), requests);
  hook->after_step(at(2, 2), requests);
  const Measurements logged = requests.take_measurements();
  REQUIRE(logged.size() == 3);
  CHECK(logged[1] == std::pair<std::string, double>("perf/model_flops", 32e6));
  CHECK(logged[2].first == "perf/flops_share");
  // Any machine this runs on multiplies faster than 100 MFLOP/s and slower than 100 PFLOP/s.
  CHECK(logged[2].second > 32e6 / 1e17);
  CHECK(logged[2].second < 32e6 / 1e8);
}

TEST_CASE("throughput compares the operations of all ranks with the peak of all of them") {
  Quiet quiet;
  const auto share = [](std::int64_t ranks) {
    HookInputs in;
    in.flops_per_example = 1e6;
    in.ranks = ranks;
    auto hook = part<HookKind>("throughput", {{"every", 1}}).build(in);
    Requests requests;
    hook->after_step(at(1, 1), requests);
    hook->after_step(at(2, 2), requests);
    return requests.take_measurements().at(2).second;
  };
  CHECK(share(1000) < share(1) / 20);  // two measurements of the peak differ by much less than that
}

TEST_CASE("measuring the peak does not touch the generator of the run") {
  torch::manual_seed(7);
  const double expected = torch::rand({1}).item<double>();
  torch::manual_seed(7);
  measure_matmul_peak(torch::kCPU, torch::kFloat);
  CHECK(torch::rand({1}).item<double>() == expected);
}

}  // namespace
}  // namespace runner
