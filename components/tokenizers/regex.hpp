#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace runner {

// A regular expression of a tokenizer.json, in Oniguruma's (Ruby's) dialect: "^" and "$" match at the
// beginning and end of lines, and only "\n" ends a line.
class Regex {
 public:
  explicit Regex(const std::string& pattern);  // throws std::runtime_error that quotes it
  static Regex literal(const std::string& text);
  Regex(Regex&&) noexcept;
  ~Regex();

  // Calls `see` for all parts of the text in order: matches, and the text between them.
  void each(std::string_view text, const std::function<void(std::string part, bool match)>& see) const;

 private:
  struct Compiled;
  explicit Regex(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace runner
