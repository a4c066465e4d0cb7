#include "components/support/text/regex.hpp"

#include <unicode/regex.h>

#include <stdexcept>

namespace runner {

namespace {

// Where the dialects differ: for Oniguruma all numbers are part of words.
std::string for_icu(const std::string& pattern) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '\\' || i + 1 == pattern.size()) {
      out += pattern[i];
      continue;
    }
    const char escaped = pattern[++i];
    if (escaped == 'w') {
      out += R"([\p{Alphabetic}\p{M}\p{N}\p{Pc}])";
    } else if (escaped == 'W') {
      out += R"([^\p{Alphabetic}\p{M}\p{N}\p{Pc}])";
    } else if (escaped == 's') {
      out += R"(\p{White_Space})";
    } else if (escaped == 'S') {
      out += R"(\P{White_Space})";
    } else if (escaped == 'h' || escaped == 'H') {
      throw std::runtime_error(std::string("\\") + escaped + " in a regular expression is not supported");
    } else {
      out += {'\\', escaped};
    }
  }
  return out;
}

void require(UErrorCode status, const std::string& what) {
  if (U_FAILURE(status)) throw std::runtime_error(what + " (" + u_errorName(status) + ")");
}

std::string utf8(const icu::UnicodeString& text, std::int32_t begin, std::int32_t end) {
  std::string out;
  text.tempSubStringBetween(begin, end).toUTF8String(out);
  return out;
}

}  // namespace

struct Regex::Compiled {
  std::unique_ptr<icu::RegexPattern> pattern;
};

Regex::Regex(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
Regex::Regex(Regex&&) noexcept = default;
Regex::~Regex() = default;

Regex::Regex(const std::string& pattern) : compiled_(std::make_unique<Compiled>()) {
  UErrorCode status = U_ZERO_ERROR;
  UParseError place;
  const auto flags = UREGEX_MULTILINE | UREGEX_UNIX_LINES;
  compiled_->pattern.reset(
      icu::RegexPattern::compile(icu::UnicodeString::fromUTF8(for_icu(pattern)), flags, place, status));
  require(status, "the regular expression \"" + pattern + "\" cannot be understood");
}

Regex Regex::literal(const std::string& text) {
  auto compiled = std::make_unique<Compiled>();
  UErrorCode status = U_ZERO_ERROR;
  compiled->pattern.reset(
      icu::RegexPattern::compile(icu::UnicodeString::fromUTF8(text), UREGEX_LITERAL, status));
  require(status, "\"" + text + "\" cannot be looked for");
  return Regex(std::move(compiled));
}

void Regex::each(std::string_view text, const std::function<void(std::string, bool)>& see) const {
  const auto wide =
      icu::UnicodeString::fromUTF8(icu::StringPiece(text.data(), static_cast<std::int32_t>(text.size())));
  UErrorCode status = U_ZERO_ERROR;
  const std::unique_ptr<icu::RegexMatcher> matcher(compiled_->pattern->matcher(wide, status));
  require(status, "matching failed");
  std::int32_t done = 0;
  while (matcher->find(status)) {
    const std::int32_t begin = matcher->start(status), end = matcher->end(status);
    if (begin > done) see(utf8(wide, done, begin), false);
    if (end > begin) see(utf8(wide, begin, end), true);
    done = end;
  }
  require(status, "matching a regular expression failed");
  if (done < wide.length()) see(utf8(wide, done, wide.length()), false);
}

}  // namespace runner
