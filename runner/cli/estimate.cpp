#include <nlohmann/json.hpp>
#include <ostream>

#include "registry/base/byte_size.hpp"
#include "runner/cli/commands.hpp"
#include "runner/cli/options/option_number.hpp"
#include "runner/cli/problem.hpp"
#include "runner/describe/json.hpp"
#include "runner/inspect/estimate.hpp"
#include "runner/resolve/resolve.hpp"
#include "runner/terminal/console.hpp"
#include "runner/terminal/format.hpp"
#include "runner/terminal/plot.hpp"
#include "runner/terminal/text.hpp"

namespace runner::cli {

namespace {

std::string bytes(std::int64_t count) { return approximately({static_cast<std::uint64_t>(count)}); }

std::string flops(double count) {
  const std::pair<double, const char*> scales[] = {
      {1e15, " PFLOP"}, {1e12, " TFLOP"}, {1e9, " GFLOP"}, {1e6, " MFLOP"}};
  for (const auto& [scale, unit] : scales) {
    if (count >= scale) return rounded(count / scale, 3) + unit;
  }
  return rounded(count, 3) + " FLOP";
}

std::string steps_text(const Estimate& estimate) {
  if (!estimate.total_steps) return "not known before the data is read, or limited only by time";
  std::string text = std::to_string(*estimate.total_steps);
  if (estimate.steps_per_epoch) text += ", " + std::to_string(*estimate.steps_per_epoch) + " an epoch";
  return text;
}

using Rows = std::vector<std::pair<std::string, std::string>>;

// Rows about several ranks. All sizes in the table are then those of the rank that needs the most memory.
Rows rank_rows(const RankEstimate& ranks) {
  Rows rows{{"communication", bytes(ranks.exchange_bytes) + "  (buffers)"}};
  if (ranks.offloaded_bytes > 0)
    rows.emplace_back("offloaded",
                      bytes(ranks.offloaded_bytes) + "  (distributed.offload; not in the memory of a rank)");
  rows.emplace_back("sent", bytes(ranks.sent_bytes) + "  (per rank and step)");
  if (ranks.smallest_share != ranks.largest_share)
    rows.emplace_back("shares", bytes(ranks.smallest_share) + " to " + bytes(ranks.largest_share) +
                                    "  (of the parameters, updated by one rank)");
  return rows;
}

void print(const Estimate& found, Session& session) {
  const auto frozen = found.parameters - found.trained_parameters;
  Rows rows{
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
      {found.ranks ? "memory of a rank" : "total memory", bytes(found.total_bytes())},
      {"forward pass", found.passed ? flops(found.forward_flops_per_example) + " an example" : "not known"},
      {"update", found.passed ? flops(found.step_flops) + "  (forward and backward of " +
                                    std::to_string(found.examples_per_step) + " examples)"
                              : "not known"},
      {"updates", steps_text(found)},
  };
  if (found.ranks) {
    const Rows more = rank_rows(*found.ranks);
    rows.insert(rows.begin(), {"ranks", std::to_string(found.ranks->ranks)});
    rows.insert(rows.begin() + 6, more.begin(), more.end());
  }
  session.out << two_columns(rows);
  if (found.lr_curve.empty()) return;
  session.out << "\nlearning rate\n";
  session.out << plot(found.lr_curve, {.utf8 = ConsoleOutput::standard_error().utf8, .x_label = "steps"})
              << "\n";
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
  json["memory_bytes"] = if_passed(found.total_bytes());
  if (found.ranks) {
    json["ranks"] = found.ranks->ranks;
    json["exchange_bytes"] = found.ranks->exchange_bytes;
    json["sent_bytes"] = found.ranks->sent_bytes;
    json["offloaded_bytes"] = found.ranks->offloaded_bytes;
    json["smallest_share_bytes"] = found.ranks->smallest_share;
    json["largest_share_bytes"] = found.ranks->largest_share;
  }
  return json;
}

int run(const Arguments& arguments, Session& session) {
  std::int64_t ranks = 1;
  try {
    ranks = whole_option(arguments, "ranks", 1).value_or(1);
    if (ranks > 65536) throw BadNumber{"--ranks needs a number of at most 65536"};
  } catch (const BadNumber& bad) {
    return refuse({bad.message}, session);
  }
  if (arguments.has("strategy") && ranks == 1)
    return refuse({"--strategy applies only to several ranks: give their number with --ranks"}, session);
  std::vector<std::string> overrides = arguments.all("OVERRIDE");
  if (arguments.has("strategy")) overrides.push_back("distributed.strategy=" + arguments.get("strategy"));
  Diagnostics found;
  const auto resolved =
      resolve_recipe({arguments.get("RECIPE"), session.environment, overrides}, session.registry, found);
  session.err << render(found, session.err_style.colour);
  if (!resolved) return Exit::bad_input;
  const Estimate result = estimate(*resolved, session.registry, static_cast<int>(ranks));
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
          .summary = "Estimate a run: parameters, memory, FLOPs, steps, the learning-rate curve.",
          .arguments = {{"RECIPE", "The recipe, a TOML file.", Argument::Count::one, Word::recipe},
                        {"OVERRIDE", "Changes to it, as for `runner run`.", Argument::Count::any,
                         Word::override_}},
          .options = {{.name = "json", .doc = "The same as JSON, for programs."},
                      {.name = "ranks",
                       .doc = "Estimate memory and communication of each of N ranks.",
                       .value = "N"},
                      {.name = "strategy", .doc = "Use this distributed.strategy.", .value = "NAME"}},
          .examples = {{"runner estimate recipes/cifar10.toml", "as it is"},
                       {"runner estimate recipes/shakespeare_gpt.toml --ranks 128 --strategy zero2",
                        "for many ranks, without starting any"},
                       {"runner estimate recipes/cifar10.toml loader.batch_size=512", "with larger batches"}},
          .run = &run,
          .details =
              "Builds the model and passes two examples of zeros through it; for a model that is too large "
              "for memory it\ncomputes shapes only. Reads no data and no weights."};
}

}  // namespace runner::cli
