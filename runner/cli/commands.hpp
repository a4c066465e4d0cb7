#pragma once

#include <vector>

#include "runner/cli/command.hpp"

namespace runner::cli {

// Each is defined in the file of its name; commands.cpp groups them, in the order in which help shows them.
Command run_command();
Command resume_command();
Command checkpoints_command();
Command checkpoint_command();
Command verify_command();
Command export_command();
Command launch_command();
Command check_command();
Command show_command();
Command estimate_command();
Command sample_command();
Command eval_command();
Command predict_command();
Command track_command();
Command report_command();
Command runs_command();
Command watch_command();
Command compare_command();
Command diff_command();
Command data_command();
Command sweep_command();
Command new_command();
Command list_command();
Command describe_command();
Command schema_command();
Command env_command();
Command doctor_command();
Command plugin_command();
Command trust_command();
Command completions_command();
Command docs_command();
Command complete_command();

struct CommandGroup {
  std::string_view title;  // "Train"
  std::vector<Command> commands;
};

const std::vector<CommandGroup>& command_groups();
const std::vector<Command>& commands();  // of all groups
const Command* find_command(std::string_view name);

}  // namespace runner::cli
