#include "registry/base/machine.hpp"

#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace runner {

namespace {

// A field of /proc/PID/stat, counted as in its manual, from the third one on; empty if there is none.
std::string process_field(const std::string& process, int field) {
  std::ifstream file("/proc/" + process + "/stat");
  std::string text;
  std::getline(file, text);
  // The second field, the name of the program in parentheses, may contain anything.
  std::istringstream fields(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  std::string value;
  for (int i = 2; i < field; ++i)
    if (!(fields >> value)) return "";
  return value;
}

}  // namespace

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::int64_t usable_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const bool known = ::sched_getaffinity(0, sizeof allowed, &allowed) == 0;  // for up to 1,024 cores
  return known ? CPU_COUNT(&allowed) : ::sysconf(_SC_NPROCESSORS_ONLN);
}

int terminal_width(int descriptor) {
  constexpr int usual = 80;
  winsize size{};
  return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : usual;
}

std::string process_start(const std::string& process) { return process_field(process, 22); }

bool is_stopped(const std::string& process) { return process_field(process, 3) == "T"; }

}  // namespace runner
