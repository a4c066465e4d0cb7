#include <torch/utils.h>

#include <algorithm>
#include <catch2/catch_all.hpp>

#include "components/hooks/hook.hpp"
#include "tests/support/parts.hpp"

namespace runner {
namespace {

using testing::part;

std::string shown(const DataSpec& data, const std::vector<std::pair<Batch, torch::Tensor>>& batches,
                  int count) {
  HookInputs in;
  in.data = data;
  auto hook = part<HookKind>("sample_predictions", {{"count", count}}).build(in);
  Requests requests;
  std::string text;
  for (int evaluation = 0; evaluation < 2; ++evaluation) {  // the second shows the same again
    for (const auto& [batch, output] : batches) hook->after_eval_batch(batch, output);
    hook->after_eval({}, {}, requests);
    const auto notes = requests.take_notes();
    REQUIRE(notes.size() == 1);
    if (evaluation == 1) CHECK(notes[0].text == text);
    text = notes[0].text;
  }
  return text;
}

TEST_CASE("sample_predictions names the classes, across batches") {
  DataSpec data;
  data.classes = 3;
  data.class_names = {"cat", "dog"};  // the third has none
  const auto batch = [](std::vector<std::int64_t> labels) {
    const auto size = static_cast<std::int64_t>(labels.size());
    return Batch{torch::zeros({size, 1}), torch::tensor(labels)};
  };
  const auto sure_of = [](std::int64_t label) {
    return torch::zeros({3}).index_fill(0, torch::tensor(label), 100.0);
  };
  const std::string text = shown(
      data, {{batch({0, 1}), torch::stack({sure_of(0), sure_of(0)})}, {batch({2}), torch::zeros({1, 3})}}, 3);
  CHECK(text ==
        "  0: true cat, predicted cat (1.00)\n"
        "  1: true dog, predicted cat (1.00)  wrong\n"
        "  2: true 2, predicted cat (0.33)  wrong");
}

TEST_CASE("sample_predictions are spread over a set that is sorted by class, whatever the batch size") {
  DataSpec data;
  data.classes = 4;
  const torch::Tensor labels = torch::arange(400).div(100, "floor");
  const auto in_batches = [&](std::int64_t size) {
    std::vector<std::pair<Batch, torch::Tensor>> batches;
    for (std::int64_t first = 0; first < 400; first += size) {
      const std::int64_t count = std::min<std::int64_t>(size, 400 - first);
      batches.emplace_back(Batch{torch::zeros({count, 1}), labels.narrow(0, first, count)},
                           torch::zeros({count, 4}));
    }
    return batches;
  };
  const std::string text = shown(data, in_batches(32), 16);
  for (const char* name : {"true 0", "true 1", "true 2", "true 3"})
    CHECK(text.find(name) != std::string::npos);
  CHECK(std::ranges::count(text, '\n') == 15);
  CHECK(shown(data, in_batches(7), 16) == text);
}

TEST_CASE("sample_predictions shows numbers where there are no classes") {
  const Batch batch{torch::zeros({2, 4}), torch::tensor({{1.5F}, {2.0F}})};
  CHECK(shown({}, {{batch, torch::tensor({{1.25F}, {-3.0F}})}}, 8) ==
        "  0: true 1.5, predicted 1.25\n  1: true 2, predicted -3");
}

}  // namespace
}  // namespace runner
