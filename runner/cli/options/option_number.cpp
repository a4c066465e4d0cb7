#include "runner/cli/options/option_number.hpp"

#include <charconv>
#include <limits>
#include <sstream>

#include "registry/base/wording.hpp"

namespace runner::cli {

namespace {

template <class Number>
Number parsed(const Arguments& arguments, std::string_view name, std::string_view wanted, Number least,
              Number most) {
  const std::string text = arguments.get(name);
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && stop == end && number >= least && number <= most) return number;
  std::ostringstream message;
  message << arguments.spelling(name) << " needs " << wanted;
  if (most == std::numeric_limits<Number>::max()) {
    message << " of at least " << least;
  } else {
    message << " from " << least << " to " << most;
  }
  message << ", not " << in_quotes(text);
  throw BadNumber{message.str()};
}

}  // namespace

std::optional<double> number_option(const Arguments& arguments, std::string_view name, double least,
                                    double most) {
  if (!arguments.has(name)) return std::nullopt;
  return parsed(arguments, name, "a number", least, most);
}

std::optional<std::int64_t> whole_option(const Arguments& arguments, std::string_view name,
                                         std::int64_t least) {
  if (!arguments.has(name)) return std::nullopt;
  return parsed(arguments, name, "a whole number", least, std::numeric_limits<std::int64_t>::max());
}

}  // namespace runner::cli
