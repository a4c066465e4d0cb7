#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace runner {

// A regular expression as tokenizer.json files have it, in Oniguruma's (Ruby's) dialect: "^" and "$" are the
// ends of lines, and only "\n" ends one.
class Regex {
 public:
  explicit Regex(const std::string& pattern);  // throws std::runtime_error that quotes it
  static Regex literal(const std::string& text);
  Regex(Regex&&) noexcept;
  ~Regex();

  // All of the text in order: what is between matches, and the matches.
  void each(std::string_view text, const std::function<void(std::string part, bool match)>& see) const;

 private:
  struct Compiled;
  explicit Regex(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace runner
