#include "components/support/text/regex.hpp"

#include <unicode/regex.h>

#include <ctime>
#include <stdexcept>

#include "registry/wording.hpp"

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

namespace {

// Time this thread has computed, in seconds: waiting for a busy machine does not count.
double computed() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Some expressions take exponential time for some texts. No useful one takes this long.
class Deadline {
 public:
  explicit Deadline(std::size_t bytes) : end_(computed() + 1 + 1e-5 * static_cast<double>(bytes)) {}
  bool passed() const { return computed() > end_; }

 private:
  double end_;
};

UBool U_CALLCONV go_on(const void* deadline, std::int32_t) {
  return !static_cast<const Deadline*>(deadline)->passed();
}

}  // namespace

struct Regex::Compiled {
  std::unique_ptr<icu::RegexPattern> pattern;
  std::string written;
};

Regex::Regex(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
Regex::Regex(Regex&&) noexcept = default;
Regex::~Regex() = default;

Regex::Regex(const std::string& pattern) : compiled_(std::make_unique<Compiled>()) {
  compiled_->written = pattern;
  UErrorCode status = U_ZERO_ERROR;
  UParseError place;
  const auto flags = UREGEX_MULTILINE | UREGEX_UNIX_LINES;
  compiled_->pattern.reset(
      icu::RegexPattern::compile(icu::UnicodeString::fromUTF8(for_icu(pattern)), flags, place, status));
  require(status, "the regular expression " + in_quotes(pattern) + " cannot be understood");
}

Regex Regex::literal(const std::string& text) {
  auto compiled = std::make_unique<Compiled>();
  compiled->written = text;
  UErrorCode status = U_ZERO_ERROR;
  compiled->pattern.reset(
      icu::RegexPattern::compile(icu::UnicodeString::fromUTF8(text), UREGEX_LITERAL, status));
  require(status, in_quotes(text) + " cannot be looked for");
  return Regex(std::move(compiled));
}

void Regex::each(std::string_view text, const std::function<void(std::string, bool)>& see) const {
  constexpr std::size_t longest = 1u << 30;  // ICU counts in 32 bits
  if (text.size() > longest)
    throw std::runtime_error("a single text of " + std::to_string(text.size()) +
                             " bytes is too long for regular expressions: split it into lines or files");
  const auto wide =
      icu::UnicodeString::fromUTF8(icu::StringPiece(text.data(), static_cast<std::int32_t>(text.size())));
  UErrorCode status = U_ZERO_ERROR;
  const std::unique_ptr<icu::RegexMatcher> matcher(compiled_->pattern->matcher(wide, status));
  require(status, "matching failed");
  const Deadline deadline(text.size());
  matcher->setMatchCallback(&go_on, &deadline, status);
  const auto too_slow = [&] {
    throw std::runtime_error("the regular expression " + in_quotes(compiled_->written) +
                             " takes too long to match a text of " + std::to_string(text.size()) + " bytes");
  };
  std::int32_t done = 0;
  for (std::size_t matches = 1; matcher->find(status); ++matches) {
    if (matches % 256 == 0 && deadline.passed()) too_slow();
    const std::int32_t begin = matcher->start(status), end = matcher->end(status);
    if (begin > done) see(utf8(wide, done, begin), false);
    if (end > begin) see(utf8(wide, begin, end), true);
    done = end;
  }
  if (status == U_REGEX_STOPPED_BY_CALLER) too_slow();
  require(status, "matching the regular expression " + in_quotes(compiled_->written) + " failed");
  if (done < wide.length()) see(utf8(wide, done, wide.length()), false);
}

}  // namespace runner
