#include <unistd.h>

#include <chrono>

#include "registry/base/machine.hpp"
#include "runner/terminal/console.hpp"

namespace runner {
namespace {

// As the C library decides: the first of the three that is set and not empty.
bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string value = environment_variable(name);
    if (value.empty()) continue;
    for (const char* spelling : {"UTF-8", "utf-8", "UTF8", "utf8"}) {
      if (value.find(spelling) != std::string::npos) return true;
    }
    return false;
  }
  return false;
}

// A closed terminal or pipe does not stop a run: the log has the same text.
void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

ConsoleOutput output_to(int descriptor) {
  const bool terminal = ::isatty(descriptor) == 1;
  const std::string kind = environment_variable("TERM");
  ConsoleOutput output;
  output.write = [descriptor](std::string_view text) { write_all(descriptor, text); };
  output.terminal = terminal && !kind.empty() && kind != "dumb";
  output.colour = output.terminal && environment_variable("NO_COLOR").empty();
  output.utf8 = locale_is_utf8();
  if (terminal) output.width = [descriptor] { return terminal_width(descriptor); };
  output.clock = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  return output;
}

}  // namespace

ConsoleOutput ConsoleOutput::standard_error() { return output_to(STDERR_FILENO); }
ConsoleOutput ConsoleOutput::standard_output() { return output_to(STDOUT_FILENO); }

ConsoleOutput ConsoleOutput::silent() {
  return {.write = [](std::string_view) {}, .clock = [] { return 0.0; }};
}

}  // namespace runner
