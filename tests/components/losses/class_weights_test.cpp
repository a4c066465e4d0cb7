#include "components/losses/class_weights.hpp"

#include <catch2/catch_all.hpp>

#include "tests/support/parts.hpp"

namespace runner::testing {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinRel;

const DataSpec animals{.classes = 3, .class_names = {"cat", "dog", "frog"}};

// The loss of one example of that class, whose outputs are all alike.
double loss_of(const Loss& loss, std::int64_t label) {
  return loss.sum(torch::zeros({1, 3}), {torch::zeros({1, 1}), torch::tensor({label})}).item<double>() /
         std::log(3);
}

TEST_CASE("balanced weights are scikit-learn's: examples / (classes * count)") {
  for (const std::string name : {"cross_entropy", "nll"}) {
    const auto described = part<LossKind>(name, {{"class_weights", "balanced"}});
    CHECK(described.facts().needs_class_counts);
    CHECK_FALSE(part<LossKind>(name).facts().needs_class_counts);
    const auto loss = described.build({animals, {60, 30, 10}});
    const Batch batch{torch::zeros({1, 1}), torch::tensor({2})};
    CHECK_THAT(loss->weight(batch), WithinRel(100.0 / 30, 1e-12));
    CHECK_THROWS_WITH(described.build({animals, {}}), ContainsSubstring("knows the class of each"));
    CHECK_THROWS_WITH(described.build({animals, {60, 0, 10}}), ContainsSubstring("\"dog\""));
  }
}

TEST_CASE("weights by name leave the others at 1") {
  const auto loss =
      part<LossKind>("cross_entropy", {{"class_weights", Setting::table({{"frog", 4.0}})}}).build({animals});
  CHECK_THAT(loss_of(*loss, 0), WithinRel(1.0, 1e-6));
  CHECK_THAT(loss_of(*loss, 2), WithinRel(4.0, 1e-6));
  CHECK_THROWS_WITH(
      part<LossKind>("cross_entropy", {{"class_weights", Setting::table({{"forg", 4.0}})}}).build({animals}),
      ContainsSubstring("did you mean \"frog\"?"));
}

TEST_CASE("class weights that the loss cannot use are refused") {
  const auto built = [](std::initializer_list<double> weights) {
    Array list;
    for (const double weight : weights) list.emplace_back(weight);
    return part<LossKind>("cross_entropy", {{"class_weights", Setting(Value(list))}}).build({animals});
  };
  CHECK_NOTHROW(built({0, 0, 2}));
  CHECK_THROWS_WITH(built({0, 0, 0}), ContainsSubstring("0 for every class"));
  CHECK_THROWS_WITH(built({1, 0, 1e-40}), ContainsSubstring("1e-40"));
}

TEST_CASE("class weights are a list, a word or a table, and nothing else") {
  CHECK_THROWS_WITH(part<LossKind>("cross_entropy", {{"class_weights", "balance"}}),
                    ContainsSubstring("did you mean \"balanced\"?"));
  CHECK_THROWS_WITH(part<LossKind>("cross_entropy", {{"class_weights", 3}}),
                    ContainsSubstring("list of number or \"balanced\" or table of number"));
  CHECK_THROWS_WITH(part<LossKind>("cross_entropy", {{"class_weights", Setting::table({{"cat", -1.0}})}}),
                    ContainsSubstring("at least 0"));
  CHECK_THROWS_WITH(part<LossKind>("cross_entropy", {{"class_weights", Setting::list({1.0, -1.0, 1.0})}}),
                    ContainsSubstring("at least 0"));
}

}  // namespace
}  // namespace runner::testing
