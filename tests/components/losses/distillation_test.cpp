#include <torch/nn/functional/activation.h>
#include <torch/nn/functional/loss.h>
#include <torch/types.h>

#include <catch2/catch_all.hpp>

#include "components/losses/loss.hpp"
#include "components/models/model.hpp"
#include "components/weights/safetensors.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/wave.hpp"

namespace runner::testing {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinRel;
namespace F = torch::nn::functional;

constexpr std::int64_t classes = 5, inputs = 6, examples = 7;
const DataSpec data{.input_shape = {inputs}, .classes = classes};

// A teacher whose weights are in a file; in training mode it would drop half of its activations.
struct Teacher {
  TemporaryFolder folder;
  std::shared_ptr<Model> model =
      part<ModelKind>("mlp", {{"hidden", Setting::list({8})}, {"dropout", 0.5}}).build({data});

  Teacher() {
    std::vector<std::pair<std::string, torch::Tensor>> weights;
    double start = 0.1;
    const torch::NoGradGuard no_grad;
    for (auto& entry : model->named_parameters()) {
      entry.value().copy_(wave(entry.value().sizes().vec(), start += 0.3));
      weights.emplace_back(entry.key(), entry.value());
    }
    write_safetensors(folder / "teacher.safetensors", weights);
    model->eval();
  }

  Setting setting(std::int64_t width = 8) const {
    return Setting::table({{"name", "mlp"},
                           {"hidden", Setting::list({Setting(width)})},
                           {"dropout", 0.5},
                           {"weights", (folder / "teacher.safetensors").string()}});
  }
  torch::Tensor answer() const { return model->forward({input(), {}}).detach(); }
  static torch::Tensor input() { return wave({examples, inputs}, 0.4); }
};

std::unique_ptr<Loss> loss(const Teacher& teacher, Settings settings = {}) {
  settings.emplace_back("teacher", teacher.setting());
  return part<LossKind>("distillation", settings).build({data});
}

torch::Tensor labels() { return torch::tensor({0, 1, 2, 2, 4, 3, 1}, torch::kInt64); }

double soft(const torch::Tensor& scores, const torch::Tensor& taught, double temperature) {
  const auto options = F::KLDivFuncOptions().reduction(torch::kBatchMean);
  return temperature * temperature *
         F::kl_div((scores / temperature).log_softmax(1), (taught / temperature).softmax(1), options)
             .item<double>();
}

TEST_CASE("distillation mixes the teacher's distribution with the targets, as published", "[losses]") {
  const Teacher teacher;
  const torch::Tensor scores = 3 * wave({examples, classes}, 0.3);
  const double temperature = GENERATE(1.0, 3.0), hard = GENERATE(0.0, 0.3);
  const auto ours = loss(teacher, {{"temperature", temperature}, {"hard", hard}});
  const double expected = hard * F::cross_entropy(scores, labels()).item<double>() +
                          (1 - hard) * soft(scores, teacher.answer(), temperature);
  const Batch batch{Teacher::input(), labels()};
  REQUIRE(ours->weight(batch) == examples);
  REQUIRE_THAT(ours->sum(scores, batch).item<double>() / examples, WithinRel(expected, 1e-5));
}

TEST_CASE("only the student learns, batches add up, and ignored targets count for nothing", "[losses]") {
  const Teacher teacher;
  const auto ours = loss(teacher);
  torch::Tensor target = labels();
  target[5] = -100;
  const torch::Tensor scores = (3 * wave({examples, classes}, 0.3)).requires_grad_();
  const torch::Tensor whole = ours->sum(scores, {Teacher::input(), target});
  double sum = 0, weight = 0;
  for (const auto& [begin, end] : {std::pair{0, 3}, {3, 5}, {6, 7}}) {  // without the ignored one
    const Batch part{Teacher::input().slice(0, begin, end), target.slice(0, begin, end)};
    sum += ours->sum(scores.slice(0, begin, end), part).item<double>();
    weight += ours->weight(part);
  }
  REQUIRE(weight == ours->weight({Teacher::input(), target}));
  REQUIRE_THAT(whole.item<double>(), WithinRel(sum, 1e-5));
  whole.backward();
  REQUIRE(scores.grad()[5].abs().max().item<double>() == 0);
  REQUIRE(scores.grad()[4].abs().max().item<double>() > 0);
  const torch::Tensor taught = teacher.answer().requires_grad_();
  REQUIRE_THAT(loss(teacher, {{"hard", 0.0}})->sum(taught, {Teacher::input(), labels()}).item<double>(),
               Catch::Matchers::WithinAbs(0, 1e-5));  // nothing left to learn
}

TEST_CASE("the teacher is followed for labels that are bytes, too", "[losses]") {
  const Teacher teacher;
  const auto ours = loss(teacher, {{"ignore_index", -252}});  // as a byte, it would be the label 4
  const torch::Tensor scores = 3 * wave({examples, classes}, 0.3);
  REQUIRE(torch::equal(ours->sum(scores, {Teacher::input(), labels().to(torch::kUInt8)}),
                       ours->sum(scores, {Teacher::input(), labels()})));
}

TEST_CASE("a teacher that cannot teach is refused", "[losses]") {
  const auto with = [](const Setting& teacher) {
    return part<LossKind>("distillation", {{"teacher", teacher}});
  };
  REQUIRE_THROWS_WITH(with(Setting::table({{"name", "mlp"}})), ContainsSubstring("nothing to teach"));
  REQUIRE_THROWS_WITH(
      with(Setting::table({{"name", "mlp"}, {"weights", "a"}, {"replace", Setting::list({"fc1"})}})),
      ContainsSubstring("replace"));
  REQUIRE_THROWS_WITH(
      with(Setting::table({{"name", "mlp"}, {"weights", "a"}, {"freeze", Setting::list({"fc1"})}})),
      ContainsSubstring("never trained"));
  const Teacher teacher;
  REQUIRE_THROWS_WITH(with(teacher.setting(9)).build({data}), ContainsSubstring("fc1.weight"));
  REQUIRE_THROWS_WITH(loss(teacher, {{"hard", 1.0}}), ContainsSubstring("cross_entropy"));
  REQUIRE_THROWS_WITH(loss(teacher)->sum(torch::zeros({examples, 9}), {Teacher::input(), labels()}),
                      ContainsSubstring("teacher gives") && ContainsSubstring("[7, 5]"));
}

}  // namespace
}  // namespace runner::testing
