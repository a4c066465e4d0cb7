#include "runner/engine/zero3/sliced_state.hpp"

#include <torch/utils.h>

#include <catch2/catch_all.hpp>
#include <mutex>

#include "runner/engine/zero3/sharding.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/ranks.hpp"

using namespace runner;
using namespace runner::testing;

namespace {

const DataSpec images{.input_shape = {3, 8, 8}, .classes = 5};

std::shared_ptr<Model> make_model() {
  static std::mutex one_at_a_time;
  const std::scoped_lock lock(one_at_a_time);
  torch::manual_seed(3);
  const std::shared_ptr<Model> model = part<ModelKind>("simple_cnn").build({images});
  for (torch::Tensor& parameter : model->parameters())  // in another order of memory
    if (parameter.dim() == 4) parameter.set_data(parameter.contiguous(torch::MemoryFormat::ChannelsLast));
  return model;
}

// Two tensors like each parameter and what is none, as an optimizer or an average has them.
State whole_state(const Model& model) {
  State state{.integers = {{"updates", 7}}, .numbers = {{"decay", 0.5}}};
  double first = 1;
  for (const auto& item : model.named_parameters()) {
    const torch::Tensor waves =
        torch::arange(item.value().numel(), torch::kFloat).add(first++).sin().view(item.value().sizes());
    state.tensors[item.key() + ".exp_avg"] = waves;
    state.tensors[item.key() + ".step"] = torch::tensor(3.0);
    state.parts["average"].tensors[item.key()] = waves.to(torch::kBFloat16);
  }
  state.parts["average"].tensors["counts"] = torch::arange(4);
  return state;
}

void insert(State& all, const State& part, std::size_t& count) {
  for (const auto& [name, tensor] : part.tensors) {
    all.tensors[name] = tensor;
    ++count;
  }
  all.integers.insert(part.integers.begin(), part.integers.end());
  all.numbers.insert(part.numbers.begin(), part.numbers.end());
  for (const auto& [name, inner] : part.parts) insert(all.parts[name], inner, count);
}

void check_same(const State& one, const State& other) {
  REQUIRE(one.tensors.size() == other.tensors.size());
  for (const auto& [name, tensor] : one.tensors) {
    INFO(name);
    CHECK(tensor.scalar_type() == other.tensors.at(name).scalar_type());
    CHECK(torch::equal(tensor, other.tensors.at(name)));
  }
  CHECK(one.integers == other.integers);
  CHECK(one.numbers == other.numbers);
  for (const auto& [name, part] : one.parts) check_same(part, other.parts.at(name));
}

}  // namespace

TEST_CASE("sliced states: what was cut into slices is joined again, each tensor on one rank", "[zero3]") {
  const auto [ranks, group] = GENERATE(table<int, int>({{2, 0}, {2, 2}, {3, 0}, {4, 0}, {4, 2}}));
  const bool whole_parameters = GENERATE(false, true);
  CAPTURE(ranks, group, whole_parameters);
  std::vector<State> saved(static_cast<std::size_t>(ranks));
  on_ranks(ranks, [&](World& world) {
    const auto model = make_model();
    const State whole = whole_state(*model);
    const Sharding sharding(world, *model,
                            {.unit_bytes = 3000, .whole_parameters = whole_parameters, .group = group});
    const State own = sharding.states.slice(whole);
    if (own.parts.at("average").tensors.at("fc1.weight").numel() >
        whole.tensors.at("fc1.weight.exp_avg").numel())
      throw std::runtime_error("a slice is larger than the whole");
    saved[static_cast<std::size_t>(world.rank())] = sharding.states.join(own).copy();
  });
  State all;
  std::size_t count = 0;
  for (const State& part : saved) insert(all, part, count);
  const State whole = whole_state(*make_model());
  check_same(whole, all);
  CHECK(count == whole.tensors.size() + whole.parts.at("average").tensors.size());  // none of them twice
  for (const State& part : saved) CHECK(part.bytes() <= whole.bytes());
}
