#include "registry/base/wording.hpp"
#include "runner/cli/commands.hpp"

#include <ostream>

#include "registry/base/suggest.hpp"
#include "runner/cli/problem.hpp"

namespace runner::cli {

namespace {

// All three ask `runner __complete` for candidates, one per line: the word, a tab, its description.

constexpr const char* bash_script = R"script(# runner completions for bash:  source <(runner completions bash)
_runner() {
  # From the line itself: bash would split words at "=" and ":".
  local line=${COMP_LINE:0:COMP_POINT} words candidate
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  local current=${words[-1]} done_before=""
  # Bash replaces only what follows the last of its word breaks.
  [[ $COMP_WORDBREAKS == *=* ]] && done_before=${current%"${current##*[=:]}"}
  COMPREPLY=()
  while IFS=$'\t' read -r candidate _; do
    COMPREPLY+=("${candidate#"$done_before"}")
  done < <("${words[0]/#\~/$HOME}" __complete -- "${words[@]:1}" 2>/dev/null)
  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=./] ]] && compopt -o nospace
}
complete -F _runner runner
)script";

constexpr const char* zsh_script = R"script(#compdef runner
# runner completions for zsh:  source <(runner completions zsh), after compinit; or save it as _runner in $fpath
_runner() {
  local candidate description
  local -a finished finished_texts open open_texts
  while IFS=$'\t' read -r candidate description; do
    if [[ $candidate == *[=./] ]]; then
      open+=("$candidate") open_texts+=("$candidate${description:+  -- $description}")
    else
      finished+=("$candidate") finished_texts+=("$candidate${description:+  -- $description}")
    fi
  done < <("${(Q)words[1]/#\~/$HOME}" __complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)
  (( $#finished )) && compadd -Q -l -d finished_texts -a finished
  (( $#open )) && compadd -Q -S '' -l -d open_texts -a open
  return $(( $#finished + $#open == 0 ))
}
if [[ ${funcstack[1]-} == _runner ]]; then
  _runner "$@"
else
  compdef _runner runner
fi
)script";

constexpr const char* fish_script = R"script(# runner completions for fish:  runner completions fish | source
function __runner_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program (string replace -r '^~' $HOME -- $words[1])
    $program __complete -- $words[2..-1] "$current" 2>/dev/null
end
complete -c runner -f -a '(__runner_complete)'
)script";

int completions(const Arguments& arguments, Session& session) {
  const std::string shell = arguments.get("SHELL");
  const std::map<std::string, const char*> scripts{
      {"bash", bash_script}, {"fish", fish_script}, {"zsh", zsh_script}};
  const auto found = scripts.find(shell);
  if (found == scripts.end()) {
    Problem problem{"there are no completions for " + in_quotes(shell), {}, "runner completions --help"};
    if (const auto hint = did_you_mean(shell, {"bash", "zsh", "fish"})) problem.hints.push_back(*hint);
    problem.hints.emplace_back("shells: bash, zsh, fish");
    return refuse(problem, session);
  }
  session.out << found->second;
  return Exit::done;
}

}  // namespace

Command completions_command() {
  return {.name = "completions",
          .summary = "Print a script that completes commands, components, keys and values in your shell.",
          .arguments = {{"SHELL", "bash, zsh or fish.", Argument::Count::one, Word::shell}},
          .examples = {{"source <(runner completions bash)", "in ~/.bashrc"},
                       {"source <(runner completions zsh)", "in ~/.zshrc, after compinit"},
                       {"runner completions fish > ~/.config/fish/completions/runner.fish", "once"}},
          .run = &completions,
          .loads_plugins = false};
}

}  // namespace runner::cli
