#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "components/jinja/value.hpp"

namespace runner::jinja {

// A template of Jinja as models bring it along for chats, understood as the transformers package does: its
// functions, its rules for spaces, {% generation %}. Several threads may render it at once.
class Template {
 public:
  explicit Template(std::string_view source);  // throws TemplateError
  Template(Template&&) noexcept;
  ~Template();

  // The text, each byte of which knows where it comes from. Throws TemplateError, TemplateRefusal.
  Text render(const Dict& values) const;

  bool marks_answers() const { return marks_answers_; }  // has {% generation %}

 private:
  struct Syntax;
  std::unique_ptr<const Syntax> syntax_;
  bool marks_answers_ = false;
};

// "line 3 of the template uses the filter ..": for a message.
std::string message_of(const TemplateError& error);

}  // namespace runner::jinja
