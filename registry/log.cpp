#include "registry/log.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "registry/live_line.hpp"
#include "registry/log_files.hpp"
#include "registry/wording.hpp"

namespace runner::log {
namespace {

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::debug: return spdlog::level::debug;
    case Level::info: return spdlog::level::info;
    case Level::warning: return spdlog::level::warn;
    case Level::error: return spdlog::level::err;
    case Level::off: return spdlog::level::off;
  }
  return spdlog::level::info;
}

// An empty NO_COLOR does not count (no-color.org); "automatic" is colours on a terminal only.
spdlog::color_mode colours() {
  const char* no_color = std::getenv("NO_COLOR");
  return no_color != nullptr && *no_color != '\0' ? spdlog::color_mode::never : spdlog::color_mode::automatic;
}

// On the terminal ordinary messages stand alone, the others are labelled.
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

// One lock for all of it: messages are rare beside the work they tell about, and files may come and go
// meanwhile.
struct State {
  std::mutex mutex;
  spdlog::logger logger{"runner", terminal_sink()};
  std::string prefix;
  std::vector<std::string> warnings;

  State() { logger.set_level(spdlog::level::info); }
};

// Never destroyed: threads and destructors of other statics may still log while the process ends.
State& state() {
  static State& instance = *new State;
  return instance;
}

// spdlog would create missing directories and word the failure its own way.
void must_be_writable(const std::filesystem::path& path) {
  errno = 0;
  if (!std::ofstream{path, std::ios::app}) {
    throw std::runtime_error("cannot write the log file " + path.string() + ": " + std::strerror(errno));
  }
}

}  // namespace

void set_level(Level level) { state().logger.set_level(to_spdlog(level)); }

bool enabled(Level level) { return level != Level::off && state().logger.should_log(to_spdlog(level)); }

void set_prefix(std::string prefix) {
  const std::lock_guard lock{state().mutex};
  state().prefix = std::move(prefix);
}

void add_file(const std::filesystem::path& path) {
  must_be_writable(path);
  auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path.string());
  sink->set_pattern("%Y-%m-%d %H:%M:%S.%e %l: %v");
  const std::lock_guard lock{state().mutex};
  state().logger.sinks().push_back(std::move(sink));
}

void close_files() {
  const std::lock_guard lock{state().mutex};
  state().logger.flush();
  state().logger.sinks().resize(1);  // the terminal comes first and stays
}

std::vector<std::string> warnings() {
  const std::lock_guard lock{state().mutex};
  return state().warnings;
}

void clear_warnings() {
  const std::lock_guard lock{state().mutex};
  state().warnings.clear();
}

void write(Level level, std::string_view said) {
  const std::string message = shown_message(said);
  const LiveLinePause pause;  // before our own lock: the line may be drawn by somebody who logs
  const std::lock_guard lock{state().mutex};
  auto& [mutex, logger, prefix, warnings] = state();
  if (level == Level::warning && std::ranges::find(warnings, message) == warnings.end())
    warnings.emplace_back(message);
  if (!enabled(level)) return;
  logger.log(to_spdlog(level), "{}{}", prefix, message);
  logger.flush();  // a killed run must not lose its last words
}

void write_to_files(std::string_view message) {
  const std::lock_guard lock{state().mutex};
  auto& [mutex, logger, prefix, warnings] = state();
  if (!enabled(Level::info)) return;
  const std::string line = prefix + shown_message(message);
  for (std::size_t file = 1; file < logger.sinks().size(); ++file) {  // the terminal comes first
    logger.sinks()[file]->log({logger.name(), spdlog::level::info, line});
    logger.sinks()[file]->flush();
  }
}

}  // namespace runner::log
