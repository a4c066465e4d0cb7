#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace runner {

// Whether a text begins as JSON lines or an array of objects do.
bool is_json_lines(std::string_view text);

// Reads objects one after the other: JSON lines, or one array of objects. The text is not copied, and only
// one object is in memory. Throws IoError that names the file and the line.
class JsonLines {
 public:
  JsonLines(std::string_view text, std::string file);
  ~JsonLines();

  bool next();  // to the next object; false: there is none
  // Valid until the next call of next(). Keys are in the order of the file; of two equal ones the last
  // counts.
  const nlohmann::ordered_json& object() const { return *object_; }
  std::int64_t line() const { return object_line_; }  // where the object begins; the first is 1

 private:
  void pass_spaces();
  bool pass_comma_or_end();
  std::string_view object_text();
  [[noreturn]] void fail(std::int64_t line, const std::string& why) const;

  std::string file_;
  std::string_view rest_;
  bool array_ = false, first_ = true;
  std::int64_t line_ = 1, object_line_ = 1;
  std::unique_ptr<nlohmann::ordered_json> object_;
};

}  // namespace runner
