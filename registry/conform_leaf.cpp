#include "registry/conform_leaf.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "registry/base/byte_size.hpp"
#include "registry/base/duration.hpp"
#include "registry/base/utf8.hpp"
#include "registry/base/wording.hpp"
#include "registry/resolve_path.hpp"

namespace runner {

namespace {

bool in_range(double number, const Rules& rules) {
  return (rules.low_excluded ? number > rules.low : number >= rules.low) &&
         (rules.high_excluded ? number < rules.high : number <= rules.high);
}

Value with_data(const Value& value, Value::Data data) {
  Value result(std::move(data), value.origin);
  result.secret = value.secret;
  return result;
}

// The text of a string, or of any single value that was typed without quotes: run.name=007.
const std::string* text_of(const Value& value) {
  if (const auto* text = value.as<std::string>()) return text;
  const bool single = !value.as<Array>() && !value.as<Table>();
  return single && !value.typed.empty() ? &value.typed : nullptr;
}

std::optional<Value> boolean(const Value& value, const TypeInfo& type, const FieldReport& report) {
  if (const auto* flag = value.as<bool>()) return with_data(value, *flag);
  return report.wrong_type(value, type);
}

std::optional<Value> integer(const Value& value, const TypeInfo& type, const FieldReport& report) {
  std::optional<std::int64_t> whole;
  if (const auto* exact = value.as<std::int64_t>()) whole = *exact;
  if (const auto* real = value.as<double>(); real && *real == std::floor(*real) && std::abs(*real) < 9e15) {
    whole = static_cast<std::int64_t>(*real);  // 1e3 counts as an integer
  }
  if (!whole) return report.wrong_type(value, type);
  // For a narrow integer type, show its whole range instead of only the bound that was exceeded.
  const Rules& rules = report.field.rules;
  const bool narrow = rules.low_is_general && rules.high_is_general;
  const bool held = *whole >= type.lowest && *whole <= type.highest;
  if (held || !narrow) {
    if (!in_range(static_cast<double>(*whole), rules)) return report.out_of_range(value);
  }
  if (!held) {
    return report.wrong(value,
                        "must be " + std::to_string(type.lowest) + " to " + std::to_string(type.highest));
  }
  return with_data(value, *whole);
}

std::optional<Value> number(const Value& value, const TypeInfo& type, const FieldReport& report) {
  std::optional<double> real;
  if (const auto* exact = value.as<double>()) real = *exact;
  if (const auto* whole = value.as<std::int64_t>()) real = static_cast<double>(*whole);
  if (!real) return report.wrong_type(value, type);
  if (!std::isfinite(*real)) return report.wrong(value, "must be a finite number");
  if (!in_range(*real, report.field.rules)) return report.out_of_range(value);
  return with_data(value, *real);
}

std::optional<Value> text(const Value& value, const TypeInfo& type, const FieldReport& report) {
  const std::string* held = text_of(value);
  if (!held) return report.wrong_type(value, type);
  const Rules& rules = report.field.rules;
  if (rules.non_empty && held->empty()) return report.wrong(value, "must not be empty");
  if (held->find('\0') != std::string::npos) return report.wrong(value, "must not contain a NUL character");
  std::vector<std::string> allowed;
  for (const std::string_view word : rules.words) {
    if (!word.empty()) allowed.emplace_back(word);
  }
  if (!allowed.empty() && std::ranges::find(allowed, *held) == allowed.end()) {
    return report.not_among(value, *held, allowed);
  }
  const bool names_file = type.kind == TypeInfo::Kind::path && !rules.in_run_folder;
  if (!names_file) return with_data(value, *held);
  // run.dir=$FOLDER with a variable that is not set: no file has this name.
  if (type.optional && held->empty()) {
    return report.wrong(value, "must not be empty",
                        {"to leave it unset, remove " + report.path + ", or delete it with ~" + report.path});
  }
  const auto path = resolve_path(*held, value.origin);
  if (!path)
    return report.wrong(value, "begins with ~, but this user has no home folder",
                        {"set HOME, or write the whole path"});
  // The recipe saved with the run could not be read again.
  if (!is_utf8(*path))
    return report.wrong(value, "leads into a folder whose name is not valid UTF-8", {"rename the folder"});
  return with_data(value, *path);
}

std::optional<Value> choice(const Value& value, const TypeInfo& type, const FieldReport& report) {
  const std::string* held = text_of(value);
  if (!held) return report.wrong_type(value, type);
  std::vector<std::string> allowed;
  for (const ChoiceInfo& word : type.choices) allowed.emplace_back(word.name);
  if (std::ranges::find(allowed, *held) == allowed.end()) return report.not_among(value, *held, allowed);
  return with_data(value, *held);
}

// A number without its unit is the likeliest mistake: say how to add one.
std::nullopt_t no_quantity(const Value& value, const TypeInfo& type, const FieldReport& report,
                           const std::vector<std::string>& units) {
  if (!value.as<std::int64_t>() && !value.as<double>()) return report.wrong_type(value, type);
  if (report.field.rules.secret) return report.wrong(value, "needs a unit");
  const double given =
      value.as<double>() ? *value.as<double>() : static_cast<double>(*value.as<std::int64_t>());
  const bool has_size = type.kind == TypeInfo::Kind::size ? given > 0 : given >= 0;
  const bool possible = has_size && in_range(given, report.field.rules);
  std::vector<std::string> examples;
  for (const std::string& unit : units)
    examples.push_back(in_quotes((possible ? to_toml(value) : "1") + unit));
  return report.wrong(value, possible ? "needs a unit" : "cannot be " + to_toml(value) + ", and needs a unit",
                      {"write " + joined(examples) + " or another " + type_text(type)});
}

constexpr std::array<std::string_view, 4> unit_names{"ep", "step", "s", "run"};  // as in Duration::Unit

bool unit_allowed(std::string_view unit, const Rules& rules) {
  return rules.units.front().empty() || std::ranges::find(rules.units, unit) != rules.units.end();
}

std::vector<std::string> example_units(const Rules& rules) {
  std::vector<std::string> examples;
  for (const std::string_view unit : {"ep", "step", "s"}) {
    if (unit_allowed(unit, rules)) examples.emplace_back(unit == "s" ? "min" : unit);
  }
  return examples.empty() ? std::vector<std::string>{"run"} : examples;
}

// For a field that does not take every unit, what it takes: a time such as "30min".
std::string allowed_durations(const Rules& rules) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> examples{
      {{"ep", "epochs such as \"5ep\""},
       {"step", "steps such as \"500step\""},
       {"s", "a time such as \"30min\""},
       {"run", "a share of the run such as \"0.1run\""}}};
  std::vector<std::string> allowed;
  for (const auto& [unit, example] : examples) {
    if (unit_allowed(unit, rules)) allowed.emplace_back(example);
  }
  return joined(allowed, ", or ");
}

std::optional<Value> duration(const Value& value, const TypeInfo& type, const FieldReport& report) {
  const auto* held = value.as<std::string>();
  if (!held) return no_quantity(value, type, report, example_units(report.field.rules));
  const auto parsed = parse_duration(*held);
  if (const auto* problem = std::get_if<std::string>(&parsed)) return report.wrong(value, *problem);
  const auto& known = std::get<Duration>(parsed);
  const Rules& rules = report.field.rules;
  if (known.unit == Duration::Unit::never && rules.or_never) return with_data(value, to_string(known));
  if (known.unit == Duration::Unit::never) return report.wrong(value, "cannot be \"never\"");
  if (!unit_allowed(unit_names.at(static_cast<std::size_t>(known.unit)), rules)) {
    return report.wrong(
        value, "needs " + allowed_durations(rules) + (rules.secret ? "" : ", not " + to_toml(value)));
  }
  if (!in_range(known.amount, rules)) return report.out_of_range(value);
  return with_data(value, to_string(known));
}

std::optional<Value> size(const Value& value, const TypeInfo& type, const FieldReport& report) {
  const auto* held = value.as<std::string>();
  if (!held) return no_quantity(value, type, report, {"MB", "MiB"});
  const auto parsed = parse_byte_size(*held);
  if (const auto* problem = std::get_if<std::string>(&parsed)) return report.wrong(value, *problem);
  const auto& known = std::get<ByteSize>(parsed);
  if (!in_range(static_cast<double>(known.bytes), report.field.rules)) return report.out_of_range(value);
  return with_data(value, to_string(known));
}

}  // namespace

std::optional<Value> conform_leaf(const Value& value, const TypeInfo& type, const FieldReport& report) {
  switch (type.kind) {
    case TypeInfo::Kind::boolean: return boolean(value, type, report);
    case TypeInfo::Kind::integer: return integer(value, type, report);
    case TypeInfo::Kind::number: return number(value, type, report);
    case TypeInfo::Kind::string:
    case TypeInfo::Kind::path: return text(value, type, report);
    case TypeInfo::Kind::choice: return choice(value, type, report);
    case TypeInfo::Kind::duration: return duration(value, type, report);
    case TypeInfo::Kind::size: return size(value, type, report);
    case TypeInfo::Kind::list:
    case TypeInfo::Kind::map:
    case TypeInfo::Kind::table:
    case TypeInfo::Kind::part:
    case TypeInfo::Kind::either: break;
  }
  return report.wrong_type(value, type);
}

}  // namespace runner
