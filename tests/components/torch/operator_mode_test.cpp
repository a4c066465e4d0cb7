#include "components/torch/operator_mode.hpp"

#include <ATen/ThreadLocalState.h>
#include <torch/types.h>

#include <atomic>
#include <catch2/catch_all.hpp>
#include <string>
#include <thread>
#include <vector>

#include "components/precisions/autocast.hpp"

using namespace runner;

namespace {

struct Counting final : OperatorMode {
  void run(const c10::OperatorHandle& op, torch::jit::Stack& stack) override {
    ++count;
    op.callBoxed(&stack);
  }
  std::atomic<int> count = 0;
};

}  // namespace

TEST_CASE("operator mode: the innermost one sees every operator, unless it pauses") {
  Counting outer, inner;
  const torch::Tensor ones = torch::ones(3);
  {
    const OperatorModeScope scope(outer);
    ones.add(ones);
    {
      const OperatorModeScope nested(inner);
      ones.add(ones);
      ones.mul(ones);
      const OperatorModePause pause;
      ones.add(ones);
    }
    ones.add(ones);
  }
  ones.add(ones);
  CHECK(outer.count == 2);
  CHECK(inner.count == 2);
}

TEST_CASE("operator mode: one that looks inside an operator sees what autocast calls with its arguments") {
  struct Inside final : OperatorMode {
    void run(const c10::OperatorHandle& op, torch::jit::Stack& stack) override {
      seen.push_back(op.operator_name().name);
      op.callBoxed(&stack);
    }
    bool looks_inside(const c10::OperatorHandle&, const torch::jit::Stack&) override {
      return at::autocast::is_autocast_enabled(torch::kCPU);
    }
    std::vector<std::string> seen;
  } mode;
  const torch::Tensor ones = torch::ones({2, 2});
  {
    const OperatorModeScope scope(mode);
    const AutocastScope autocast(torch::kCPU, torch::kBFloat16);
    CHECK(torch::mm(ones, ones).scalar_type() == torch::kBFloat16);
  }
  CHECK(mode.seen == std::vector<std::string>{"aten::to", "aten::to", "aten::mm"});
}

TEST_CASE("operator mode: threads that get this thread's state have it, others do not") {
  Counting mode;
  const torch::Tensor ones = torch::ones(3);
  std::optional<at::ThreadLocalState> state;
  {
    const OperatorModeScope scope(mode);
    state.emplace();
    std::thread([&] { ones.add(ones); }).join();
    CHECK(mode.count == 0);
    std::thread([&] {
      const at::ThreadLocalStateGuard as_there(*state);
      ones.add(ones);
    }).join();
    CHECK(mode.count == 1);
  }
}
