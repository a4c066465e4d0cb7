#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "registry/byte_size.hpp"
#include "runner/cli/commands.hpp"
#include "runner/console/console.hpp"
#include "runner/console/plot.hpp"
#include "runner/describe/json.hpp"
#include "runner/inspect/estimate.hpp"
#include "runner/resolve.hpp"
#include "runner/terminal/text.hpp"

namespace runner::cli {

namespace {

std::string bytes(std::int64_t count) { return approximately({static_cast<std::uint64_t>(count)}); }

std::string flops(double count) {
  std::ostringstream text;
  text.precision(3);
  const std::pair<double, const char*> scales[] = {
      {1e15, " PFLOP"}, {1e12, " TFLOP"}, {1e9, " GFLOP"}, {1e6, " MFLOP"}};
  for (const auto& [scale, unit] : scales) {
    if (count >= scale) return (text << count / scale << unit, text.str());
  }
  return (text << count << " FLOP", text.str());
}

std::string steps_text(const Estimate& estimate) {
  if (!estimate.total_steps) return "not known before the data is read, or limited by time alone";
  std::string text = std::to_string(*estimate.total_steps);
  if (estimate.steps_per_epoch) text += ", " + std::to_string(*estimate.steps_per_epoch) + " an epoch";
  return text;
}

void print(const Estimate& found, Session& session) {
  const auto frozen = found.parameters - found.trained_parameters;
  session.out << two_columns({
      {"model", found.model},
      {"parameters",
       std::to_string(found.parameters) + (frozen > 0 ? ", " + std::to_string(frozen) + " frozen" : "")},
      {"weights", bytes(found.weight_bytes)},
      {"gradients", bytes(found.gradient_bytes)},
      {"optimizer", bytes(found.optimizer_bytes) + "  (" + found.optimizer + ")"},
      {"activations", found.passed
                          ? bytes(found.activation_bytes) + "  (" + std::to_string(found.batch_size) +
                                " examples, in full precision)"
                          : "not known: the model is too large for a real pass (" + found.obstacle + ")"},
      {"memory in all", bytes(found.total_bytes())},
      {"forward pass", found.passed ? flops(found.forward_flops_per_example) + " an example" : "not known"},
      {"update", found.passed ? flops(found.step_flops) + "  (forward and backward of " +
                                    std::to_string(found.examples_per_step) + " examples)"
                              : "not known"},
      {"updates", steps_text(found)},
  });
  if (found.lr_curve.empty()) return;
  session.out << "\nlearning rate\n";
  session.out << plot(found.lr_curve, {.utf8 = ConsoleOutput::standard_error().utf8, .x_label = "steps"});
}

nlohmann::ordered_json to_json(const Estimate& found) {
  const auto if_passed = [&](auto value) {
    return found.passed ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
  };
  nlohmann::ordered_json json{{"parameters", found.parameters},
                              {"trained_parameters", found.trained_parameters},
                              {"weight_bytes", found.weight_bytes},
                              {"gradient_bytes", found.gradient_bytes},
                              {"optimizer_bytes", found.optimizer_bytes},
                              {"activation_bytes", if_passed(found.activation_bytes)},
                              {"forward_flops_per_example", if_passed(found.forward_flops_per_example)},
                              {"step_flops", if_passed(found.step_flops)}};
  if (found.steps_per_epoch) json["steps_per_epoch"] = *found.steps_per_epoch;
  if (found.total_steps) json["total_steps"] = *found.total_steps;
  return json;
}

int run(const Arguments& arguments, Session& session) {
  Diagnostics found;
  const auto resolved = resolve_recipe(
      {arguments.get("RECIPE"), session.environment, arguments.all("OVERRIDE")}, session.registry, found);
  session.err << render(found, session.err_style.colour);
  if (!resolved) return Exit::bad_input;
  const Estimate result = estimate(*resolved, session.registry);
  if (arguments.has("json")) {
    session.out << dumped(to_json(result));
  } else {
    print(result, session);
  }
  return Exit::done;
}

}  // namespace

Command estimate_command() {
  return {.name = "estimate",
          .summary = "What a run will take: parameters, memory, arithmetic, steps, learning rate.",
          .arguments = {{"RECIPE", "The recipe, a TOML file.", Argument::Count::one, Word::recipe},
                        {"OVERRIDE", "Changes to it, as for `runner run`.", Argument::Count::any,
                         Word::override_}},
          .options = {{.name = "json", .doc = "The same, for programs."}},
          .examples = {{"runner estimate recipes/cifar10.toml", "as it is"},
                       {"runner estimate recipes/cifar10.toml loader.batch_size=512", "with larger batches"}},
          .run = &run,
          .details =
              "Builds the model and passes two examples of zeros through it; a model that is too large for "
              "that,\n"
              "in shapes alone, without taking memory. Reads no data and no weights."};
}

}  // namespace runner::cli
