#include "runner/cli/commands.hpp"

#include <algorithm>

namespace runner::cli {

const std::vector<CommandGroup>& command_groups() {
  static const std::vector<CommandGroup> groups{
      {"Start", {new_command(), check_command(), estimate_command(), data_command(), doctor_command()}},
      {"Train", {run_command(), resume_command(), launch_command(), sweep_command(), checkpoint_command()}},
      {"Look",
       {watch_command(), runs_command(), report_command(), compare_command(), diff_command(),
        checkpoints_command(), verify_command()}},
      {"Use", {predict_command(), eval_command(), sample_command()}},
      {"Share", {export_command(), track_command(), plugin_command(), trust_command()}},
      {"Reference",
       {list_command(), describe_command(), show_command(), schema_command(), env_command(),
        completions_command(), docs_command(), complete_command()}}};
  return groups;
}

const std::vector<Command>& commands() {
  static const std::vector<Command> all = [] {
    std::vector<Command> commands;
    for (const CommandGroup& group : command_groups()) {
      commands.insert(commands.end(), group.commands.begin(), group.commands.end());
    }
    return commands;
  }();
  return all;
}

const Command* find_command(std::string_view name) {
  const auto found = std::ranges::find(commands(), name, &Command::name);
  return found == commands().end() ? nullptr : &*found;
}

}  // namespace runner::cli
