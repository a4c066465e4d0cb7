#include "registry/field_report.hpp"

#include <charconv>

#include "registry/base/ascii.hpp"
#include "registry/base/meant_number.hpp"
#include "registry/base/number_text.hpp"
#include "registry/base/suggest.hpp"
#include "registry/base/wording.hpp"
#include "registry/secrets.hpp"

namespace runner {

namespace {

std::string type_with_article(const TypeInfo& type) {
  const std::string text = type_text(type);
  return type.kind == TypeInfo::Kind::choice ? text : with_article(text);
}

// Digits without quotes that do not fit into a 64-bit number arrive here as text.
bool no_number_holds(const std::string& text, const TypeInfo& type) {
  const auto out_of_range = [&](auto number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc::result_out_of_range && end == text.data() + text.size();
  };
  const bool number = type.kind == TypeInfo::Kind::integer || type.kind == TypeInfo::Kind::number;
  return number && (out_of_range(std::int64_t{}) || out_of_range(double{}));
}

// How to write a value that is spelled as in other languages: none, yes, 0,5.
std::string remedy(const Value& value, const TypeInfo& type, const std::string& path) {
  const auto* text = value.as<std::string>();
  if (!text) return "";
  const std::string word = ascii_lower(*text);
  const bool none = word == "null" || word == "none" || word == "~";
  if (none && type.optional) return "to leave it unset, remove " + path + ", or delete it with ~" + path;
  const bool whole = type.kind == TypeInfo::Kind::integer;
  const auto meant = whole || type.kind == TypeInfo::Kind::number ? meant_number(*text) : std::nullopt;
  if (meant && !(whole && meant->find('.') != std::string::npos))
    return "write " + *meant + (*meant == *text ? ", without quotes" : "");
  if (type.kind != TypeInfo::Kind::boolean) return "";
  if (word == "true" || word == "yes" || word == "on") return "write true, without quotes";
  if (word == "false" || word == "no" || word == "off") return "write false, without quotes";
  return "";
}

bool hidden(const FieldInfo& field, const Value& value) {
  const auto* text = value.as<std::string>();
  return field.rules.secret || value.from_environment || (text && holds_password(*text));
}

}  // namespace

std::nullopt_t FieldReport::wrong(const Value& value, std::string message,
                                  std::vector<std::string> hints) const {
  if (hints.empty()) hints.push_back("(" + summary_text(field) + ")  " + std::string(field.doc));
  diagnostics.add({Diagnostic::Severity::error, value.origin, path + " " + std::move(message),
                   std::move(hints), see, field.rules.secret});
  return std::nullopt;
}

std::nullopt_t FieldReport::wrong_type(const Value& value, const TypeInfo& type) const {
  if (const auto* text = value.as<std::string>(); text && no_number_holds(*text, type))
    return wrong(value,
                 hidden(field, value) ? "is out of range" : "= " + escaped_name(*text) + " is out of range");
  std::string message = "must be " + type_with_article(type) + ", not " + std::string(type_name(value));
  const auto* text = value.as<std::string>();
  if (text && !hidden(field, value) && text->size() < 60) message += " (" + in_quotes(*text) + ")";
  std::vector<std::string> hints;
  if (std::string better = remedy(value, type, path); !better.empty() && !hidden(field, value))
    hints.push_back(std::move(better));
  return wrong(value, std::move(message), std::move(hints));
}

std::nullopt_t FieldReport::out_of_range(const Value& value) const {
  const Rules& rules = field.rules;
  const auto* whole = value.as<std::int64_t>();
  const auto* real = value.as<double>();
  const double number = whole ? static_cast<double>(*whole) : real ? *real : 0;
  std::string range = rule_text(field);
  // The general bounds are mentioned only if the number exceeds them.
  if (rules.high_is_general && number > rules.high) range = "at most " + plain_number_text(rules.high);
  if (rules.low_is_general && number < rules.low) range = "at least " + plain_number_text(rules.low);
  return wrong(value, "must be " + range + (hidden(field, value) ? "" : ", not " + to_toml(value)));
}

std::nullopt_t FieldReport::not_among(const Value& value, const std::string& held,
                                      const std::vector<std::string>& allowed) const {
  std::vector<std::string> hints;
  if (const auto hint = did_you_mean(held, allowed); hint && !hidden(field, value)) hints.push_back(*hint);
  hints.push_back("allowed: " + listed(allowed));
  return wrong(value, "cannot be " + (hidden(field, value) ? "this" : in_quotes(held)), std::move(hints));
}

}  // namespace runner
