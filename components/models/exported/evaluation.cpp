#include "components/models/exported/evaluation.hpp"

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <array>
#include <set>

#include "components/models/exported/archive.hpp"
#include "components/models/exported/operators.hpp"
#include "registry/base/wording.hpp"

namespace runner::exported {

namespace {

constexpr std::string_view remedy =
    "write a program for evaluation beside it, which scripts/export_model.py does";

// The argument that says whether a layer trains.
struct Flag {
  std::string_view op, argument;
  // An argument without which the layer acts in evaluation as in training, as batch norm without statistics.
  std::string_view needs = {};
};
constexpr std::array flags = std::to_array<Flag>({
    {"dropout", "train"},
    {"dropout_", "train"},
    {"feature_dropout", "train"},
    {"feature_dropout_", "train"},
    {"alpha_dropout", "train"},
    {"alpha_dropout_", "train"},
    {"feature_alpha_dropout", "train"},
    {"feature_alpha_dropout_", "train"},
    {"native_dropout", "train"},
    {"batch_norm", "training", "running_mean"},
    {"native_batch_norm", "training", "running_mean"},
    {"_batch_norm_impl_index", "training", "running_mean"},
    {"_native_batch_norm_legit", "training", "running_mean"},
    {"instance_norm", "use_input_stats", "running_mean"},
    {"scaled_dot_product_attention", "dropout_p"},
    {"_scaled_dot_product_attention_math", "dropout_p"},
    {"_scaled_dot_product_flash_attention", "dropout_p"},
    {"_scaled_dot_product_flash_attention_for_cpu", "dropout_p"},
    {"_scaled_dot_product_efficient_attention", "dropout_p"},
    {"lstm", "train"},
    {"gru", "train"},
    {"rnn_tanh", "train"},
    {"rnn_relu", "train"},
    {"rrelu", "training"},
    {"rrelu_", "training"},
    {"rrelu_with_noise", "training"},
});

// "dropout" of "torch.ops.aten.dropout.default".
std::string_view aten_name(const Node& node) {
  constexpr std::string_view aten = "aten.";
  std::string_view name = operator_name(node.target);
  if (!name.starts_with(aten)) return {};
  name.remove_prefix(aten.size());
  return name.substr(0, name.find('.'));
}

const Flag* flag_of(const Node& node) {
  const auto found = std::ranges::find(flags, aten_name(node), &Flag::op);
  return found == flags.end() ? nullptr : &*found;
}

template <class ANode>  // const or not
auto* argument(ANode& node, std::string_view name) {
  const auto found = std::ranges::find(node.inputs, name, &Argument::name);
  return found == node.inputs.end() ? nullptr : &*found;
}

const Item* item_of(const Argument* argument) {
  return argument ? std::get_if<Item>(&argument->value) : nullptr;
}

// Whether the layer acts differently in training, as this node is written. Null: it makes no difference.
std::optional<bool> trains(const Node& node) {
  const Flag* flag = flag_of(node);
  if (!flag) return std::nullopt;
  if (!flag->needs.empty()) {
    const Item* needed = item_of(argument(node, flag->needs));
    if (!needed || std::holds_alternative<std::monostate>(*needed)) return std::nullopt;
  }
  const Item* value = item_of(argument(node, flag->argument));
  if (!value) return std::nullopt;
  if (const auto* on = std::get_if<bool>(value)) return *on;
  if (const auto* probability = std::get_if<double>(value)) return *probability > 0;
  return std::nullopt;
}

// A dropout with a probability of 0 says nothing about the mode.
bool shows_mode(const Node& node) {
  const Item* probability = item_of(argument(node, "p"));
  const auto* number = probability ? std::get_if<double>(probability) : nullptr;
  return !(number && *number == 0) && flag_of(node)->argument != "dropout_p" &&
         !(aten_name(node) == "lstm" || aten_name(node) == "gru" || aten_name(node).starts_with("rnn_"));
}

// Batch norm counts its batches: buffer.add_(1). `counters`: the buffers, and what counting returns.
bool counts_batches(const Node& node, std::set<ValueId>& counters) {
  if (operator_name(node.target) != "aten.add_.Tensor" || node.inputs.size() < 2) return false;
  const Item* into = item_of(&node.inputs[0]);
  const Item* added = item_of(&node.inputs[1]);
  const auto* ref = into ? std::get_if<Ref>(into) : nullptr;
  if (!ref || !counters.contains(ref->value) || !added || !std::holds_alternative<std::int64_t>(*added))
    return false;
  for (const Returned& returned : node.outputs)
    if (returned.values.size() == 1 && returned.values[0]) counters.insert(*returned.values[0]);
  return true;
}

bool is_random(const Node& node) {
  const auto op = find_operator(node);
  return op.hasTag(at::Tag::nondeterministic_seeded);
}

bool is_call(const Node& node) { return !aten_name(node).empty() && !only_checks(node); }

}  // namespace

Program for_evaluation(Program program) {
  if (!program.changes.empty())
    throw Refusal("changes its buffer " + in_quotes(program.changes.front().buffer) +
                  " in a way that cannot be turned off for evaluation: " + std::string(remedy));
  std::set<ValueId> counters;
  for (const ProgramInput& held : program.held)
    if (held.kind == ProgramInput::Kind::buffer) counters.insert(held.value);
  for (Graph& graph : program.graphs) {
    std::erase_if(graph.nodes, [&](const Node& node) { return counts_batches(node, counters); });
    for (Node& node : graph.nodes) {
      if (!is_call(node)) continue;
      if (!flag_of(node)) {
        if (is_random(node))
          throw Refusal("draws random numbers with " + in_quotes("aten::" + std::string(aten_name(node))) +
                        " at " + place_of(node) +
                        ", which cannot be turned off for evaluation: " + std::string(remedy));
        continue;
      }
      if (!trains(node).value_or(false)) continue;
      Item& value = std::get<Item>(argument(node, flag_of(node)->argument)->value);
      if (std::holds_alternative<bool>(value))
        value = false;
      else
        value = 0.0;
    }
  }
  return program;
}

bool exported_for_evaluation(const Program& program) {
  bool off = false;
  for (const Graph& graph : program.graphs)
    for (const Node& node : graph.nodes) {
      const auto on = trains(node);
      if (!on) continue;
      if (*on) return false;
      off = off || shows_mode(node);
    }
  return off;
}

}  // namespace runner::exported
