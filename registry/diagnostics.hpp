#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "registry/origin.hpp"
#include "registry/value.hpp"

namespace runner {

// An error or a warning: what is wrong, where, and what to do about it.
struct Diagnostic {
  enum class Severity { error, warning };

  Severity severity = Severity::error;
  Origin origin;
  std::string message;
  std::vector<std::string> hints;  // "did you mean ..", what is allowed
  std::string see;                 // the command that explains more
  bool hide_source = false;        // the line holds a secret
};

// Collects everything that is wrong, so that the user sees all of it at once.
class Diagnostics {
 public:
  void add(Diagnostic diagnostic);
  void error(Origin origin, std::string message, std::vector<std::string> hints = {}, std::string see = "");
  void warning(Origin origin, std::string message, std::vector<std::string> hints = {}, std::string see = "");

  // Hides the source lines for which this is true in all messages collected so far.
  void hide_sources(const std::function<bool(const Origin&)>& holds_secret);

  bool ok() const { return errors_ == 0; }
  std::size_t errors() const { return errors_; }
  std::size_t warnings() const { return all_.size() - errors_; }
  const std::vector<Diagnostic>& all() const { return all_; }
  std::string first_error() const;  // its message; empty if there is none

 private:
  std::vector<Diagnostic> all_;
  std::size_t errors_ = 0;
};

// How a cross-field `check` reports an error: it names a field, or a path such as "scheduler.warmup", and the
// message points at its place in the recipe.
class Report {
 public:
  Report(Diagnostics& diagnostics, const Value& table, std::string owner, std::string see)
      : diagnostics_(diagnostics), table_(table), owner_(std::move(owner)), see_(std::move(see)) {}

  void error(std::string_view field, std::string message);
  void warning(std::string_view field, std::string message);

 private:
  Diagnostic at(std::string_view field, std::string message) const;

  Diagnostics& diagnostics_;
  const Value& table_;
  std::string owner_;
  std::string see_;
};

// The message with its place, the line it is about and a caret under it, as the terminal shows it.
std::string render(const Diagnostic& diagnostic, bool colour = false);
std::string render(const Diagnostics& diagnostics, bool colour = false);

}  // namespace runner
