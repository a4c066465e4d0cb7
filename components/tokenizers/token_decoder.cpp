#include "components/tokenizers/token_decoder.hpp"

#include <charconv>

#include "components/tokenizers/byte_level.hpp"
#include "components/tokenizers/json_step.hpp"
#include "components/tokenizers/normalizer.hpp"
#include "components/tokenizers/unicode.hpp"
#include "registry/base/utf8.hpp"

namespace runner {

namespace {

DecodeTexts each(
    std::function<std::string(const std::string& text, std::size_t index, std::size_t count)> change) {
  return [change = std::move(change)](Texts tokens) {
    for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = change(tokens[i], i, tokens.size());
    return tokens;
  };
}

std::string replaced(std::string_view text, std::string_view what, std::string_view with) {
  std::string out;
  while (!what.empty()) {
    const std::size_t at = text.find(what);
    if (at == std::string_view::npos) break;
    out.append(text.substr(0, at)).append(with);
    text.remove_prefix(at + what.size());
  }
  return out.append(text);
}

Texts fused(const Texts& tokens) {
  std::string text;
  for (const std::string& token : tokens) text += token;
  return {text};
}

Texts from_byte_level(const Texts& tokens) {
  std::string bytes;
  for (const std::string& token : tokens) append_bytes(bytes, token);
  return {unicode::repaired(bytes)};
}

// Tokens such as <0xE2> are bytes; if adjacent ones are not valid UTF-8, each becomes U+FFFD.
Texts from_byte_names(const Texts& tokens) {
  Texts out;
  std::string bytes;
  const auto finish = [&] {
    if (bytes.empty()) return;
    if (is_utf8(bytes)) out.push_back(bytes);
    if (!is_utf8(bytes)) out.insert(out.end(), bytes.size(), "\uFFFD");
    bytes.clear();
  };
  for (const std::string& token : tokens) {
    unsigned byte = 0;
    const bool named = token.size() == 6 && token.starts_with("<0x") && token.ends_with('>') &&
                       std::from_chars(token.data() + 3, token.data() + 5, byte, 16).ptr == token.data() + 5;
    if (named) {
      bytes += static_cast<char>(byte);
      continue;
    }
    finish();
    out.push_back(token);
  }
  finish();
  return out;
}

std::string tidy(std::string text) {
  constexpr std::pair<const char*, const char*> rules[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [what, with] : rules) text = replaced(text, what, with);
  return text;
}

DecodeTexts read_word_piece(JsonStep& step) {
  const auto prefix = step.get<std::string>("prefix", "##");
  const bool cleanup = step.get("cleanup", true);
  return each([=](std::string text, std::size_t index, std::size_t) {
    if (index > 0) text = text.starts_with(prefix) ? text.substr(prefix.size()) : " " + text;
    return cleanup ? tidy(std::move(text)) : text;
  });
}

DecodeTexts read_metaspace(JsonStep& step) {
  const auto replacement = step.get<std::string>("replacement", "▁");
  const bool old_prefix = step.get("add_prefix_space", true);
  const auto scheme = step.get<std::string>("prepend_scheme", old_prefix ? "always" : "never");
  for (const char* no_matter : {"split", "str_rep"}) step.pass(no_matter);
  return each([=](const std::string& text, std::size_t index, std::size_t) {
    return replaced(text, replacement, index == 0 && scheme != "never" ? "" : " ");
  });
}

DecodeTexts read_strip(JsonStep& step) {
  const auto content = step.get<std::string>("content");
  const auto start = step.get<std::size_t>("start"), stop = step.get<std::size_t>("stop");
  if (content.empty()) step.fail("has an empty content");
  return each([=](const std::string& text, std::size_t, std::size_t) {
    std::string_view left = text;
    for (std::size_t i = 0; i < start && left.starts_with(content); ++i) left.remove_prefix(content.size());
    for (std::size_t i = 0; i < stop && left.ends_with(content); ++i) left.remove_suffix(content.size());
    return std::string(left);
  });
}

std::size_t bytes_in(const Texts& texts) {
  std::size_t sum = 0;
  for (const std::string& text : texts) sum += text.size();
  return sum;
}

DecodeTexts read_sequence(JsonStep& step) {
  std::vector<DecodeTexts> all;
  for (const auto& json : step.sequence("decoders")) all.push_back(read_token_decoder(json));
  return [all](Texts tokens) {
    const std::size_t before = bytes_in(tokens);
    for (const DecodeTexts& next : all) {
      tokens = next(std::move(tokens));
      require_moderate(before, bytes_in(tokens), "decoder");
    }
    return tokens;
  };
}

DecodeTexts read_one(JsonStep& step) {
  const std::string type = step.type();
  if (type == "Sequence") return read_sequence(step);
  if (type == "ByteLevel") {
    for (const char* no_matter : {"add_prefix_space", "trim_offsets", "use_regex"}) step.pass(no_matter);
    return from_byte_level;
  }
  if (type == "ByteFallback") return from_byte_names;
  if (type == "Fuse") return fused;
  if (type == "WordPiece") return read_word_piece(step);
  if (type == "Metaspace") return read_metaspace(step);
  if (type == "Strip") return read_strip(step);
  if (type == "Replace") {
    const Normalize replace = read_replace(step);
    return each([replace](const std::string& text, std::size_t, std::size_t) { return replace(text); });
  }
  if (type == "BPEDecoder") {
    const auto suffix = step.get<std::string>("suffix", "</w>");
    return each([suffix](const std::string& text, std::size_t index, std::size_t count) {
      return replaced(text, suffix, index + 1 == count ? "" : " ");
    });
  }
  step.not_supported();
}

}  // namespace

DecodeTexts read_token_decoder(const nlohmann::json& json) {
  if (json.is_null())
    return each(
        [](const std::string& text, std::size_t index, std::size_t) { return (index ? " " : "") + text; });
  JsonStep step(json, "decoder");
  DecodeTexts decode = read_one(step);
  step.finish();
  return decode;
}

}  // namespace runner
