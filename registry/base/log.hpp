// Messages for people: to stderr, and to every log file that was added. Output for programs goes to stdout or
// to its own files, never through here.
//
//   log::info("epoch {} of {}: loss {}", epoch, epochs, loss);
//
// Only log.cpp includes spdlog: its headers and LibTorch's cannot be included together.
#pragma once

#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace runner::log {

enum class Level { info, warning, error };

// For tests: while one exists, messages are neither shown nor written to files. Warnings are still collected.
class Silence {
 public:
  Silence();
  ~Silence();
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;
};

// From now on, messages are also appended to this file, without colours. The first file also gets the
// messages logged before: a run has no folder until its data is open. Throws std::runtime_error if the file
// cannot be opened.
void add_file(const std::filesystem::path& path);

// Flushes and closes all files added.
void close_files();

// All warnings so far, in order, each text once: the summary at the end of a run repeats them.
std::vector<std::string> warnings();
void clear_warnings();  // for tests

void write(Level level, std::string_view message);

// Only to the log files: for messages that the console shows in a form of its own.
void write_to_files(std::string_view message, Level level = Level::info);

// Replaces each "{}" by the next value, printed as on a stream. A "{}" without a value stays as it is, and a
// value without a "{}" is appended after a space: a message with a mistake in it is still shown.
template <class... Values>
std::string format(std::string_view text, const Values&... values);

template <class... Values>
void info(std::string_view text, const Values&... values) {
  write(Level::info, format(text, values...));
}

template <class... Values>
void warning(std::string_view text, const Values&... values) {
  write(Level::warning, format(text, values...));
}

template <class... Values>
void error(std::string_view text, const Values&... values) {
  write(Level::error, format(text, values...));
}

template <class... Values>
std::string format(std::string_view text, const Values&... values) {
  if constexpr (sizeof...(values) == 0) {
    return std::string{text};  // a finished message: its braces are ordinary text
  } else {
    std::ostringstream out;
    out << std::boolalpha;
    const auto put = [&](const auto& value) {
      const auto hole = text.find("{}");
      out << text.substr(0, hole);
      if (hole == std::string_view::npos) out << ' ';
      out << value;
      text = hole == std::string_view::npos ? std::string_view{} : text.substr(hole + 2);
    };
    (put(values), ...);
    out << text;
    return out.str();
  }
}

}  // namespace runner::log
