#include "components/tokenizers/normalizer.hpp"

#include "components/tokenizers/byte_level.hpp"
#include "components/tokenizers/code_points.hpp"
#include "components/tokenizers/json_step.hpp"
#include "components/tokenizers/unicode.hpp"
#include "registry/base/utf8.hpp"

namespace runner {

namespace {

template <class Change>
std::string each_character(std::string_view text, const Change& change) {
  std::string out;
  while (!text.empty()) change(take_code_point(text), out);
  return out;
}

std::string without(std::string_view text, bool (*unwanted)(char32_t)) {
  return each_character(text, [&](char32_t character, std::string& out) {
    if (!unwanted(character)) append_utf8(out, character);
  });
}

Normalize read_bert(JsonStep& step) {
  const bool clean = step.get("clean_text", true), chinese = step.get("handle_chinese_chars", true),
             lower = step.get("lowercase", true), strip = step.get("strip_accents", lower);
  return [=](std::string text) {
    if (clean) {
      text = each_character(text, [](char32_t character, std::string& out) {
        if (character == 0 || character == 0xFFFD || unicode::is_control(character)) return;
        append_utf8(out, unicode::is_space(character) ? U' ' : character);
      });
    }
    if (chinese) {
      text = each_character(text, [](char32_t character, std::string& out) {
        const bool alone = unicode::is_chinese(character);
        if (alone) out += ' ';
        append_utf8(out, character);
        if (alone) out += ' ';
      });
    }
    if (strip) text = without(unicode::normalized(text, unicode::Form::nfd), unicode::is_accent);
    return lower ? unicode::lowercase(text) : text;
  };
}

std::string stripped(std::string_view text, bool left, bool right) {
  std::size_t begin = std::string_view::npos, end = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t at = text.size() - rest.size();
    if (unicode::is_space(take_code_point(rest))) continue;
    if (begin == std::string_view::npos) begin = at;
    end = text.size() - rest.size();
  }
  if (begin == std::string_view::npos) return left || right ? "" : std::string(text);
  if (!left) begin = 0;
  if (!right) end = text.size();
  return std::string(text.substr(begin, end - begin));
}

Normalize read_sequence(JsonStep& step) {
  std::vector<Normalize> all;
  for (const auto& json : step.sequence("normalizers")) all.push_back(read_normalizer(json));
  return [all](std::string text) {
    const std::size_t before = text.size();
    for (const Normalize& each : all) {
      text = each(text);
      require_moderate(before, text.size(), "normalizer");
    }
    return text;
  };
}

Normalize read_one(JsonStep& step) {
  using unicode::Form;
  const auto form = [](Form which) {
    return [which](const std::string& text) { return unicode::normalized(text, which); };
  };
  const std::string type = step.type();
  if (type == "Sequence") return read_sequence(step);
  if (type == "NFC") return form(Form::nfc);
  if (type == "NFD") return form(Form::nfd);
  if (type == "NFKC") return form(Form::nfkc);
  if (type == "NFKD") return form(Form::nfkd);
  if (type == "Lowercase") return [](const std::string& text) { return unicode::lowercase(text); };
  if (type == "StripAccents") return [](const std::string& text) { return without(text, unicode::is_mark); };
  if (type == "BertNormalizer") return read_bert(step);
  if (type == "Replace") return read_replace(step);
  if (type == "ByteLevel") return [](const std::string& text) { return bytes_as_text(text); };
  if (type == "Prepend") {
    const auto prefix = step.short_text("prepend", "");
    return [prefix](const std::string& text) { return text.empty() ? text : prefix + text; };
  }
  if (type == "Strip") {
    const bool left = step.get("strip_left", true), right = step.get("strip_right", true);
    return [=](const std::string& text) { return stripped(text, left, right); };
  }
  step.not_supported();
}

}  // namespace

Normalize read_replace(JsonStep& step) {
  const auto pattern = pattern_of(step);
  const auto content = step.get<std::string>("content");
  const std::string place = step.place();
  return [pattern, content, place](const std::string& text) {
    std::string out;
    pattern->each(text, [&](const std::string& part, bool match) {
      out += match ? content : part;
      require_moderate(text.size(), out.size(), place);
    });
    return out;
  };
}

Normalize read_normalizer(const nlohmann::json& json) {
  if (json.is_null()) return [](const std::string& text) { return text; };
  JsonStep step(json, "normalizer");
  Normalize normalize = read_one(step);
  step.finish();
  return normalize;
}

}  // namespace runner
