#include <algorithm>
#include <charconv>
#include <cmath>

#include "components/jinja/value.hpp"
#include "components/tokenizers/code_points.hpp"
#include "registry/base/utf8.hpp"

namespace runner::jinja {

namespace {

// The shortest digits that give the same number, as repr() of a float: 1.0, 0.1, 1e+16, 1e-05.
std::string real_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  constexpr double largest = 1e16, smallest = 1e-4;
  const double size = std::abs(value);
  const bool plain = size == 0 || (size >= smallest && size < largest);
  char digits[400];
  const auto end = std::to_chars(digits, digits + sizeof digits, value,
                                 plain ? std::chars_format::fixed : std::chars_format::scientific);
  std::string text(digits, end.ptr);
  if (plain && text.find('.') == std::string::npos) text += ".0";
  return text;
}

std::string hex(char32_t number, int digits) {
  std::string text;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) text += "0123456789abcdef"[number >> shift & 15];
  return text;
}

std::string escaped(char32_t c) {
  if (c < 0x100) return "\\x" + hex(c, 2);
  return c < 0x10000 ? "\\u" + hex(c, 4) : "\\U" + hex(c, 8);
}

Text quoted(const Text& text) {
  const bool doubled =
      text.bytes.find('\'') != std::string::npos && text.bytes.find('"') == std::string::npos;
  const char quote = doubled ? '"' : '\'';
  Text out;
  out.append(quote);
  for (std::string_view rest = text.bytes; !rest.empty();) {
    const std::size_t at = text.size() - rest.size();
    const Origin origin = text.origins[at];
    const char32_t c = take_code_point(rest);
    if (c == '\n' || c == '\r' || c == '\t') {
      out.append(c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t", origin);
    } else if (c == '\\' || c == static_cast<char32_t>(quote)) {
      out.append("\\", origin);
      out.append(static_cast<char>(c), origin);
    } else if (is_printable(c)) {
      out.append(text.part(at, text.size() - rest.size()));
    } else {
      out.append(escaped(c), origin);
    }
  }
  out.append(quote);
  return out;
}

Text listed(const Values& values, const char* open, const char* close) {
  Text out = open;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out.append(", ");
    out.append(represented(values[i]));
  }
  out.append(close);
  return out;
}

Text represented_list(const List& list) {
  switch (list.kind) {
    case ListKind::tuple: return listed(list.values, "(", list.values.size() == 1 ? ",)" : ")");
    case ListKind::generator: throw TemplateError("prints a generator: put |list or |join after it");
    default: return listed(list.values, "[", "]");
  }
}

class JsonWriter {
 public:
  JsonWriter(const JsonStyle& style) : style_(style) {
    const bool lines = style.indent.has_value();
    item_ = style.separators ? style.separators->first : Text(lines ? "," : ", ");
    key_ = style.separators ? style.separators->second : Text(": ");
  }

  void write(const Value& value, std::size_t depth) {
    if (const Text* text = value.text()) return write_text(*text);
    if (value.is_none()) return out.append("null");
    if (value.boolean()) return out.append(*value.boolean() ? "true" : "false");
    if (value.real() && !std::isfinite(*value.real()))
      return out.append(std::isnan(*value.real()) ? "NaN" : *value.real() < 0 ? "-Infinity" : "Infinity");
    if (value.integer() || value.real()) return out.append(printed(value));
    if (value.list() && (value.list()->kind == ListKind::list || value.list()->kind == ListKind::tuple)) {
      const Values& values = value.list()->values;
      return enclose('[', ']', values.size(), depth, [&](std::size_t i) { write(values[i], depth + 1); });
    }
    if (const Dict* dict = value.dict()) {
      auto entries = dict->entries();
      if (style_.sort_keys)
        std::ranges::stable_sort(entries,
                                 [](const auto& a, const auto& b) { return compare(a.first, b.first) < 0; });
      return enclose('{', '}', entries.size(), depth, [&](std::size_t i) {
        write_key(entries[i].first);
        out.append(key_);
        write(entries[i].second, depth + 1);
      });
    }
    throw TemplateError("makes JSON of " + value.type());
  }

  Text out;

 private:
  void line(std::size_t depth) {
    if (!style_.indent) return;
    out.append("\n");
    for (std::size_t i = 0; i < depth; ++i) out.append(*style_.indent);
  }

  template <class Write>
  void enclose(char open, char close, std::size_t count, std::size_t depth, const Write& write_one) {
    out.append(open);
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) out.append(item_);
      line(depth + 1);
      write_one(i);
    }
    if (count > 0) line(depth);
    out.append(close);
  }

  void write_key(const Value& key) {
    if (key.text()) return write_text(*key.text());
    if (key.list()) throw TemplateError("makes JSON of a dict with a tuple as key");
    out.append("\"");
    write(key, 0);
    out.append("\"");
  }

  void write_text(const Text& text) {
    out.append("\"");
    for (std::string_view rest = text.bytes; !rest.empty();) {
      const std::size_t at = text.size() - rest.size();
      const char32_t c = take_code_point(rest);
      const std::string special = json_escape(c);
      if (special.empty()) {
        out.append(text.part(at, text.size() - rest.size()));
      } else {
        out.append(special, text.origins[at]);
      }
    }
    out.append("\"");
  }

  std::string json_escape(char32_t c) const {
    switch (c) {
      case '"': return "\\\"";
      case '\\': return "\\\\";
      case '\n': return "\\n";
      case '\r': return "\\r";
      case '\t': return "\\t";
      case '\f': return "\\f";
      case '\b': return "\\b";
      default: break;
    }
    if (c >= 0x20 && (c < 0x7F || !style_.ascii)) return {};
    if (c == 0x7F) return {};
    if (c < 0x10000) return "\\u" + hex(c, 4);
    const char32_t rest = c - 0x10000;
    return "\\u" + hex(0xD800 + (rest >> 10), 4) + "\\u" + hex(0xDC00 + (rest & 0x3FF), 4);
  }

  const JsonStyle& style_;
  Text item_, key_;
};

}  // namespace

Text printed(const Value& value) {
  if (value.is_undefined()) return {};
  return value.text() ? *value.text() : represented(value);
}

Text represented(const Value& value) {
  if (value.is_undefined()) return "Undefined";
  if (value.is_none()) return "None";
  if (value.boolean()) return *value.boolean() ? "True" : "False";
  if (value.integer()) return Text(std::to_string(*value.integer()));
  if (value.real()) return Text(real_text(*value.real()));
  if (value.text()) return quoted(*value.text());
  if (value.list()) return represented_list(*value.list());
  if (const Dict* dict = value.dict()) {
    Text out = "{";
    for (const auto& [key, each] : dict->entries()) {
      if (out.size() > 1) out.append(", ");
      out.append(represented(key));
      out.append(": ");
      out.append(represented(each));
    }
    out.append("}");
    return out;
  }
  throw TemplateError("prints " + value.type());
}

Text as_json(const Value& value, const JsonStyle& style) {
  JsonWriter writer(style);
  writer.write(value, 0);
  return std::move(writer.out);
}

}  // namespace runner::jinja
