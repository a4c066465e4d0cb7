#include "components/tokenizers/regex.hpp"

#include <unicode/regex.h>

#include <atomic>
#include <ctime>
#include <stdexcept>

#include "registry/base/wording.hpp"

namespace runner {

namespace {

// Translates what differs between the dialects: in Oniguruma, \w includes all kinds of numbers.
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

// The CPU time of this thread in seconds: waiting on a busy machine does not count.
double computed() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Some expressions take exponential time for some texts. Each text is allowed far more time than a useful
// expression needs; the excess is summed over all texts, and for no useful expression does it reach a second.
class Stopwatch {
 public:
  Stopwatch(std::size_t bytes, std::atomic<double>& excess)
      : excess_(excess), start_(computed()), ample_(1e-4 + 1e-5 * static_cast<double>(bytes)) {}
  ~Stopwatch() {
    if (const double over = seconds() - ample_; over > 0) excess_.fetch_add(over);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  bool too_slow() const { return seconds() - ample_ > most_excess - excess_; }

 private:
  static constexpr double most_excess = 1;
  double seconds() const { return computed() - start_; }

  std::atomic<double>& excess_;
  double start_, ample_;
};

UBool U_CALLCONV keep_matching(const void* watch, std::int32_t) {
  return !static_cast<const Stopwatch*>(watch)->too_slow();
}

}  // namespace

struct Regex::Compiled {
  std::unique_ptr<icu::RegexPattern> pattern;
  std::string written;
  std::atomic<double> excess = 0;  // seconds
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
  const Stopwatch watch(text.size(), compiled_->excess);
  matcher->setMatchCallback(&keep_matching, &watch, status);
  const auto too_slow = [&] {
    throw std::runtime_error("the regular expression " + in_quotes(compiled_->written) +
                             " takes too long to match texts such as " + in_quotes(text));
  };
  std::int32_t done = 0;
  for (std::size_t matches = 1; matcher->find(status); ++matches) {
    if (matches % 256 == 0 && watch.too_slow()) too_slow();
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
