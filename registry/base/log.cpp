#include "registry/base/log.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <fstream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "registry/base/live_line.hpp"
#include "registry/base/wording.hpp"

namespace runner::log {
namespace {

// Tables are shown in full; warnings and errors are shortened to a few lines.
std::string shown(Level level, std::string_view message) {
  constexpr std::size_t longest_report = 1 << 16;
  return level == Level::info ? shown_message(message, longest_report) : shown_message(message);
}

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::info: return spdlog::level::info;
    case Level::warning: return spdlog::level::warn;
    case Level::error: return spdlog::level::err;
  }
  return spdlog::level::info;
}

// An empty NO_COLOR is ignored (no-color.org); "automatic" uses colours on a terminal only.
spdlog::color_mode colours() {
  const char* no_color = std::getenv("NO_COLOR");
  return no_color != nullptr && *no_color != '\0' ? spdlog::color_mode::never : spdlog::color_mode::automatic;
}

// On the terminal only warnings and errors get a label.
class Label : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    if (message.level == spdlog::level::info) return;
    const auto name = spdlog::level::to_string_view(message.level);
    out.append(name.begin(), name.end());
    out.append(std::string_view{": "});
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<Label>(); }
};

std::shared_ptr<spdlog::sinks::sink> terminal_sink() {
  auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>(colours());
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<Label>('*').set_pattern("%^%*%$%v");
  sink->set_formatter(std::move(formatter));
  return sink;
}

struct Line {
  spdlog::log_clock::time_point time;
  spdlog::level::level_enum level;
  std::string text;
};

// One lock for everything: messages are rare, and files are added and closed while threads log.
struct State {
  static constexpr std::size_t most_unfiled = 1000;

  std::mutex mutex;
  spdlog::logger logger{"runner", terminal_sink()};
  std::vector<std::string> warnings;
  std::deque<Line> unfiled;  // logged while there was no file
  int silences = 0;
  bool failure_known = false;  // that a file cannot be written is said once

  bool has_file() const { return logger.sinks().size() > 1; }  // the terminal comes first

  // Returns why a file cannot be written, the first time that happens.
  [[nodiscard]] std::string to_files(const Line& line) {
    std::string failure;
    if (!has_file()) {
      unfiled.push_back(line);
      if (unfiled.size() > most_unfiled) unfiled.pop_front();
    }
    for (std::size_t file = 1; file < logger.sinks().size(); ++file) {
      try {
        logger.sinks()[file]->log({line.time, {}, logger.name(), line.level, line.text});
        logger.sinks()[file]->flush();
      } catch (const spdlog::spdlog_ex& error) {
        // A full disk must not end a run because of its log; errors are logged in destructors, too.
        if (!std::exchange(failure_known, true)) failure = error.what();
      }
    }
    return failure;
  }
};

// Never destroyed: threads and destructors of other statics may still log while the process ends.
State& state() {
  static State& instance = *new State;
  return instance;
}

// spdlog would create missing directories, and its error message is less clear.
void must_be_writable(const std::filesystem::path& path) {
  errno = 0;
  if (!std::ofstream{path, std::ios::app}) {
    throw std::runtime_error("cannot write the log file " + path.string() + ": " + std::strerror(errno));
  }
}

// Both return what to_files returns.
std::string write_everywhere(Level level, const std::string& message) {
  const LiveLinePause pause;  // before our own lock: drawing the line may log
  const std::lock_guard lock{state().mutex};
  State& all = state();
  if (level == Level::warning && std::ranges::find(all.warnings, message) == all.warnings.end())
    all.warnings.emplace_back(message);
  if (all.silences > 0) return "";
  const Line line{spdlog::log_clock::now(), to_spdlog(level), message};
  try {
    all.logger.sinks().front()->log({line.time, {}, all.logger.name(), line.level, line.text});
    all.logger.sinks().front()->flush();
  } catch (const spdlog::spdlog_ex&) {
    // The terminal is gone; the files still get the message.
  }
  return all.to_files(line);  // flushed each time: a killed run must not lose its last messages
}

std::string write_to_files_only(Level level, std::string message) {
  const std::lock_guard lock{state().mutex};
  if (state().silences > 0) return "";
  return state().to_files({spdlog::log_clock::now(), to_spdlog(level), std::move(message)});
}

// Logs again, so it must be called without the lock.
void report_failure(const std::string& failure) {
  if (failure.empty()) return;
  write(Level::warning, "the log file misses messages: " + failure + "; check its disk");
}

}  // namespace

Silence::Silence() {
  const std::lock_guard lock{state().mutex};
  ++state().silences;
}

Silence::~Silence() {
  const std::lock_guard lock{state().mutex};
  --state().silences;
}

void add_file(const std::filesystem::path& path) {
  must_be_writable(path);
  auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path.string());
  sink->set_pattern("%Y-%m-%d %H:%M:%S.%e %l: %v");
  std::string failure;
  {
    const std::lock_guard lock{state().mutex};
    state().logger.sinks().push_back(std::move(sink));
    for (const Line& line : std::exchange(state().unfiled, {})) failure += state().to_files(line);
  }
  report_failure(failure);
}

void close_files() {
  const std::lock_guard lock{state().mutex};
  state().logger.sinks().resize(1);  // the terminal comes first and stays; every line was flushed
  state().failure_known = false;
}

std::vector<std::string> warnings() {
  const std::lock_guard lock{state().mutex};
  return state().warnings;
}

void clear_warnings() {
  const std::lock_guard lock{state().mutex};
  state().warnings.clear();
}

void write(Level level, std::string_view message) {
  report_failure(write_everywhere(level, shown(level, message)));
}

void write_to_files(std::string_view message, Level level) {
  report_failure(write_to_files_only(level, shown(level, message)));
}

}  // namespace runner::log
