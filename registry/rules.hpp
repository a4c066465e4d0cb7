#pragma once

#include <array>
#include <initializer_list>
#include <limits>
#include <string_view>

namespace runner {

// The effect of changing a value when a run is resumed from a checkpoint.
enum class OnResume {
  unmarked,      // as for the section or kind it belongs to
  harmless,      // results do not change, except for the length of the run
  course,        // the run continues with different results
  fixed,         // the saved state does not fit the new value
  not_compared,  // only says where things are, such as the folder of the run
  // Harmless, unless other components of the recipe depend on it:
  length,       // how long the run is planned to be
  end,          // what may end the run early
  evaluations,  // when the model is evaluated, and by what
};

// What a field's value must satisfy, as data: decoding, documentation, JSON Schema and completion all read
// it.
struct Rules {
  static constexpr std::size_t most_words = 16;

  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_excluded = false;
  bool high_excluded = false;
  bool low_is_general = false;   // the general lower bound, not mentioned to users
  bool high_is_general = false;  // the general upper bound, likewise
  bool or_never = false;         // a duration may be "never"
  bool non_empty = false;
  bool required = false;
  bool secret = false;
  bool in_run_folder = false;  // a path relative to the run folder
  bool code = false;           // a path to code, which the rules for plugins must allow
  OnResume on_resume = OnResume::unmarked;
  std::string_view renamed_from;
  std::array<std::string_view, most_words> words{};  // the allowed strings; none: any
  std::array<std::string_view, most_words> units{};  // the allowed units of a duration; none: any
};

// Bounds for fields without their own: products of two integers fit into 64 bits, and numbers into 32-bit
// floats.
inline constexpr double general_integer_bound = 2147483647, general_number_bound = 1e30;

// Each rule is a small function on Rules, so that field("lr", &Sgd::lr, "..", above(0.0), required()) reads
// like a sentence.
constexpr auto above(double low) {
  return [low](Rules& rules) { rules.low = low, rules.low_excluded = true; };
}
constexpr auto at_least(double low) {
  return [low](Rules& rules) { rules.low = low; };
}
constexpr auto below(double high) {
  return [high](Rules& rules) { rules.high = high, rules.high_excluded = true; };
}
constexpr auto at_most(double high) {
  return [high](Rules& rules) { rules.high = high; };
}
constexpr auto within(double low, double high) {
  return [low, high](Rules& rules) { rules.low = low, rules.high = high; };
}
constexpr auto or_never() {
  return [](Rules& rules) { rules.or_never = true; };
}
constexpr auto non_empty() {
  return [](Rules& rules) { rules.non_empty = true; };
}
constexpr auto required() {
  return [](Rules& rules) { rules.required = true; };
}
constexpr auto secret() {
  return [](Rules& rules) { rules.secret = true; };
}
constexpr auto in_run_folder() {
  return [](Rules& rules) { rules.in_run_folder = true; };
}
constexpr auto holds_code() {
  return [](Rules& rules) { rules.code = true; };
}
// Marks for the effect of changing a value when a run is resumed.
constexpr auto on_resume(OnResume effect) {
  return [effect](Rules& rules) { rules.on_resume = effect; };
}
constexpr auto harmless() { return on_resume(OnResume::harmless); }
constexpr auto changes_course() { return on_resume(OnResume::course); }
constexpr auto fixed() { return on_resume(OnResume::fixed); }
constexpr auto sets_length() { return on_resume(OnResume::length); }
constexpr auto may_end_run() { return on_resume(OnResume::end); }
constexpr auto sets_evaluations() { return on_resume(OnResume::evaluations); }
constexpr auto not_compared() { return on_resume(OnResume::not_compared); }
constexpr auto renamed_from(std::string_view old_name) {
  return [old_name](Rules& rules) { rules.renamed_from = old_name; };
}

namespace detail {
// Too many words index past the array, which does not compile in a constant expression.
constexpr auto copy_words(std::initializer_list<std::string_view> words) {
  std::array<std::string_view, Rules::most_words> copy{};
  std::size_t count = 0;
  for (const std::string_view word : words) copy[count++] = word;
  return copy;
}
}  // namespace detail

constexpr auto one_of(std::initializer_list<std::string_view> words) {
  return [copy = detail::copy_words(words)](Rules& rules) { rules.words = copy; };
}
// Which units a duration may have: "ep", "step", "s" (for all units of time) and "run".
constexpr auto in_units(std::initializer_list<std::string_view> units) {
  return [copy = detail::copy_words(units)](Rules& rules) { rules.units = copy; };
}

}  // namespace runner
