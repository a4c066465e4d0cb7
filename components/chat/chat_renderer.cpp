#include "components/chat/chat_renderer.hpp"

#include <algorithm>

#include "components/contract/data_error.hpp"

namespace runner {

namespace {

using jinja::Dict;
using jinja::Origin;
using jinja::Text;
using jinja::Value;

jinja::Template understood(const std::string& source) {
  try {
    return jinja::Template(source);
  } catch (const jinja::TemplateError& error) {
    throw DataError("The chat template cannot be used: " + message_of(error) + ".");
  }
}

Origin origin_at(const Text& text, std::size_t i) { return text.origins[i] & ~jinja::generated; }
bool is_generated(const Text& text, std::size_t i) { return (text.origins[i] & jinja::generated) != 0; }

// Where the template, and nobody else, writes one of these; the place after it.
std::optional<std::size_t> after_end(const Text& text, std::size_t begin,
                                     const std::vector<std::string>& ends) {
  std::optional<std::size_t> best;
  for (const std::string& end : ends) {
    for (std::size_t at = text.bytes.find(end, begin); at != std::string::npos;
         at = text.bytes.find(end, at + 1)) {
      bool own = true;
      for (std::size_t i = at; i < at + end.size(); ++i)
        own = own && origin_at(text, i) == jinja::from_template;
      if (!own) continue;
      if (!best || at + end.size() < *best) best = at + end.size();
      break;
    }
  }
  return best;
}

}  // namespace

ChatRenderer::ChatRenderer(ChatFormat format)
    : format_(std::move(format)), template_(understood(format_.source)) {
  if (!format_.tools_source.empty()) tools_template_.emplace(understood(format_.tools_source));
}

const jinja::Template& ChatRenderer::chosen(const Conversation& chat) const {
  return tools_template_ && !chat.tools.is_null() ? *tools_template_ : template_;
}

Text ChatRenderer::render(const Conversation& chat, std::size_t count, bool prompt) const {
  try {
    jinja::Values messages;
    for (std::size_t i = 0; i < count; ++i)
      messages.emplace_back(chat.messages[i], first_message + static_cast<Origin>(i));
    Dict values;
    const auto set = [&](const char* key, Value value) { values.set(Value(key), std::move(value)); };
    set("messages", Value(std::move(messages)));
    set("tools", Value(chat.tools, from_values));
    set("documents", jinja::None{});
    set("add_generation_prompt", prompt);
    for (const auto& [name, text] : format_.tokens) values.set(Value(Text(name)), Value(Text(text)));
    return chosen(chat).render(values);
  } catch (const jinja::TemplateRefusal& refusal) {
    throw DataError(std::string("is refused by the chat template: ") + refusal.what());
  } catch (const jinja::TemplateError& error) {
    throw DataError("cannot be written: " + message_of(error));
  }
}

RenderedChat ChatRenderer::answered(const Conversation& chat, const std::vector<std::string>& ends) const {
  RenderedChat result{render(chat, chat.messages.size(), false), {}};
  if (chosen(chat).marks_answers()) {
    result.answers = marked(result.text);
    for (Answer& answer : result.answers) answer.prompted = is_prompted(chat, answer, result.text);
  } else {
    result.answers = compared(chat, result.text, ends);
  }
  return result;
}

std::vector<Answer> ChatRenderer::marked(const Text& text) const {
  std::vector<Answer> answers;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_generated(text, i)) {
      ++i;
      continue;
    }
    Answer answer{.begin = i};
    Origin message = 0;
    for (; i < text.size() && is_generated(text, i); ++i) message = std::max(message, origin_at(text, i));
    answer.end = i;
    // An empty answer has no byte of its own: it follows the one before it.
    answer.message = message >= first_message ? message - first_message
                     : answers.empty()        ? 0
                                              : answers.back().message + 1;
    answers.push_back(answer);
  }
  return answers;
}

bool ChatRenderer::is_prompted(const Conversation& chat, const Answer& answer, const Text& text) const {
  if (answer.message == 0 || answer.message >= chat.messages.size()) return true;
  try {
    const Text prompt = render(chat, answer.message, true);
    // A template may write the beginning of what it marks as generated in the prompt, such as "<think>".
    return text.view().starts_with(prompt.view()) && prompt.size() >= answer.begin &&
           prompt.size() <= answer.end;
  } catch (const DataError&) {
    return false;
  }
}

std::vector<Answer> ChatRenderer::compared(const Conversation& chat, const Text& text,
                                           const std::vector<std::string>& ends) const {
  std::vector<Answer> answers;
  for (std::size_t i = 0; i < chat.messages.size(); ++i) {
    if (chat.messages[i].at("role") != "assistant") continue;
    Answer answer{.message = i};
    std::size_t own_end = 0;  // after the last byte of this message
    for (std::size_t at = 0; at < text.size(); ++at)
      if (origin_at(text, at) == first_message + i) own_end = at + 1;
    try {
      const Text prompt = render(chat, i, true);
      answer.begin = prompt.size();
      answer.prompted = text.view().starts_with(prompt.view());
    } catch (const DataError&) {
      answer.prompted = false;
    }
    if (!answer.prompted) {
      answers.push_back(answer);
      continue;
    }
    const std::size_t written = std::max(own_end, answer.begin);
    answer.end = after_end(text, written, ends).value_or(written);
    answers.push_back(answer);
  }
  return answers;
}

}  // namespace runner
