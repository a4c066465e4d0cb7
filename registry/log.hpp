// Messages to people: on stderr, and in any log file added while running. What programs read goes to stdout
// or to files of its own, never through here.
//
//   log::info("epoch {} of {}: loss {}", epoch, epochs, loss);
//
// spdlog does the work, in log.cpp alone: its headers and LibTorch's cannot be included together.
#pragma once

#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace runner::log {

enum class Level { info, warning, error };

// While it lives, nothing is written to stderr or to files; warnings are still collected. For tests.
class Silence {
 public:
  Silence();
  ~Silence();
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;
};

// A prefix for every message from now on, for example "[rank 1] ". Empty by default.
void set_prefix(std::string prefix);

// Also appends messages, without colours, to this file, first those logged before there was a file: a run has
// a folder only once its data is open. Throws std::runtime_error if the file cannot be opened.
void add_file(const std::filesystem::path& path);

// Flushes and closes all files added.
void close_files();

// All warnings so far, in order, each text once, for a closing summary to repeat.
std::vector<std::string> warnings();
void clear_warnings();

void write(Level level, std::string_view message);

// Puts each value in the place of the next "{}". Values print as on a stream. A "{}" without a value stays as
// it is, and a value without a "{}" is appended after a space: a message with a mistake in it is still shown.
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
    return std::string{text};  // already built: braces in it mean nothing
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
