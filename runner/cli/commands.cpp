#include "runner/cli/commands.hpp"

#include <algorithm>

namespace runner::cli {

const std::vector<Command>& commands() {
  static const std::vector<Command> all{
      run_command(),         resume_command(),     launch_command(),  check_command(),
      show_command(),        estimate_command(),   data_command(),    sweep_command(),
      runs_command(),        watch_command(),      report_command(),  compare_command(),
      diff_command(),        sample_command(),     eval_command(),    predict_command(),
      checkpoints_command(), checkpoint_command(), verify_command(),  export_command(),
      track_command(),       new_command(),        list_command(),    describe_command(),
      schema_command(),      plugin_command(),     env_command(),     doctor_command(),
      completions_command(), docs_command(),       complete_command()};
  return all;
}

const Command* find_command(std::string_view name) {
  const auto found = std::ranges::find(commands(), name, &Command::name);
  return found == commands().end() ? nullptr : &*found;
}

}  // namespace runner::cli
