#pragma once

#include <optional>

#include "components/chat/chat_format.hpp"
#include "components/chat/conversation.hpp"
#include "components/jinja/template.hpp"

namespace runner {

// An answer in a rendered conversation, in bytes: what a model should learn to write, with the end of its
// turn.
struct Answer {
  std::size_t message = 0, begin = 0, end = 0;
  bool prompted = true;  // before it stands what the template writes when it asks for this answer
};

struct RenderedChat {
  jinja::Text text;
  std::vector<Answer> answers;
};

// Writes conversations with a template. Several threads may use it at once.
class ChatRenderer {
 public:
  // Where a byte comes from: the template, something given besides the messages, or message number (origin -
  // first_message).
  static constexpr jinja::Origin from_values = 1, first_message = 2;

  explicit ChatRenderer(ChatFormat format);  // throws DataError if a template cannot be understood

  // The first `count` messages, and with `prompt` the beginning of an answer. Throws DataError that completes
  // "row 3, ".
  jinja::Text render(const Conversation& chat, std::size_t count, bool prompt) const;

  // The whole conversation with its answers: from {% generation %}, or else by comparing it with the prompts
  // of its answers. An answer ends after the first of the `ends` (bytes of tokens) that the template writes
  // after its text.
  RenderedChat answered(const Conversation& chat, const std::vector<std::string>& ends) const;

  const ChatFormat& format() const { return format_; }

 private:
  const jinja::Template& chosen(const Conversation& chat) const;
  std::vector<Answer> marked(const jinja::Text& text) const;
  std::vector<Answer> compared(const Conversation& chat, const jinja::Text& text,
                               const std::vector<std::string>& ends) const;
  bool is_prompted(const Conversation& chat, const Answer& answer, const jinja::Text& text) const;

  ChatFormat format_;
  jinja::Template template_;
  std::optional<jinja::Template> tools_template_;
};

}  // namespace runner
