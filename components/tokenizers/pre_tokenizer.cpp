#include "components/tokenizers/pre_tokenizer.hpp"

#include <algorithm>

#include "components/tokenizers/byte_level.hpp"
#include "components/tokenizers/code_points.hpp"
#include "components/tokenizers/json_step.hpp"
#include "components/tokenizers/unicode.hpp"

namespace runner {

namespace {

struct Part {
  std::string text;
  bool match;
};
using Parts = std::vector<Part>;
using Find =
    std::function<Parts(const std::string& text)>;  // divides the text into matches and what is between

enum class Behavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

// Joins each match with the part before or after it, or adjacent matches with each other.
Parts merge(Parts parts, Behavior behavior) {
  const bool backwards = behavior == Behavior::merged_with_next;
  if (backwards) std::ranges::reverse(parts);
  Parts merged;
  bool after_match = false;
  for (Part& part : parts) {
    const bool joins =
        behavior == Behavior::contiguous ? part.match == after_match : part.match && !after_match;
    after_match = part.match;
    if (joins && !merged.empty()) {
      merged.back().text = backwards ? part.text + merged.back().text : merged.back().text + part.text;
    } else {
      merged.push_back(std::move(part));
    }
  }
  if (backwards) std::ranges::reverse(merged);
  return merged;
}

PreTokenize splitting(Find find, Behavior behavior) {
  return [find = std::move(find), behavior](const std::vector<TextPiece>& pieces) {
    std::vector<TextPiece> out;
    for (const TextPiece& piece : pieces) {
      Parts parts = find(piece.text);
      if (behavior != Behavior::removed && behavior != Behavior::isolated)
        parts = merge(std::move(parts), behavior);
      bool first = piece.first;
      for (Part& part : parts) {
        if (!(behavior == Behavior::removed && part.match)) out.push_back({std::move(part.text), first});
        first = false;
      }
    }
    return out;
  };
}

Find matching(std::shared_ptr<const Regex> pattern, bool invert = false) {
  return [pattern, invert](const std::string& text) {
    Parts parts;
    pattern->each(text,
                  [&](std::string part, bool match) { parts.push_back({std::move(part), match != invert}); });
    return parts;
  };
}

// Each character for which `is_one` is true is a match of its own.
template <class IsOne>
Find characters(IsOne is_one) {
  return [is_one](const std::string& text) {
    Parts parts;
    for (std::string_view rest = text; !rest.empty();) {
      const std::string_view before = rest;
      const bool match = is_one(take_code_point(rest));
      const std::string_view character = before.substr(0, before.size() - rest.size());
      if (match || parts.empty() || parts.back().match) parts.push_back({"", match});
      parts.back().text += character;
    }
    return parts;
  };
}

PreTokenize each(std::function<void(TextPiece&)> change) {
  return [change = std::move(change)](std::vector<TextPiece> pieces) {
    for (TextPiece& piece : pieces) change(piece);
    return pieces;
  };
}

std::size_t bytes_in(const std::vector<TextPiece>& pieces) {
  std::size_t sum = 0;
  for (const TextPiece& piece : pieces) sum += piece.text.size();
  return sum;
}

PreTokenize in_turn(std::vector<PreTokenize> all) {
  return [all = std::move(all)](std::vector<TextPiece> pieces) {
    const std::size_t before = bytes_in(pieces);
    for (const PreTokenize& next : all) {
      pieces = next(std::move(pieces));
      require_moderate(before, bytes_in(pieces), "pre_tokenizer");
    }
    return pieces;
  };
}

Behavior behavior_of(JsonStep& step, const std::string& otherwise) {
  const auto name = step.get("behavior", otherwise);
  if (name == "Removed") return Behavior::removed;
  if (name == "Isolated") return Behavior::isolated;
  if (name == "MergedWithPrevious") return Behavior::merged_with_previous;
  if (name == "MergedWithNext") return Behavior::merged_with_next;
  if (name == "Contiguous") return Behavior::contiguous;
  step.fail("has the behavior " + in_quotes(name) + ", which is not supported");
}

PreTokenize read_byte_level(JsonStep& step) {
  const bool prefix = step.get("add_prefix_space", true), words = step.get("use_regex", true);
  step.pass("trim_offsets");  // no token depends on it
  std::vector<PreTokenize> all;
  if (prefix) {
    all.push_back(each([](TextPiece& piece) {
      if (!piece.text.starts_with(' ')) piece.text.insert(0, " ");
    }));
  }
  if (words) {
    all.push_back(splitting(matching(std::make_shared<const Regex>(byte_level_words)), Behavior::isolated));
  }
  all.push_back(each([](TextPiece& piece) { piece.text = bytes_as_text(piece.text); }));
  return in_turn(std::move(all));
}

PreTokenize read_metaspace(JsonStep& step) {
  const auto replacement = step.short_text("replacement", "▁");
  if (replacement.empty()) step.fail("has an empty replacement");
  const bool old_prefix = step.get("add_prefix_space", true);  // in files from before prepend_scheme existed
  const auto scheme = step.get<std::string>("prepend_scheme", old_prefix ? "always" : "never");
  const bool split = step.get("split", true);
  step.pass("str_rep");  // the same as the replacement
  if (scheme != "always" && scheme != "first" && scheme != "never")
    step.fail("has the prepend_scheme " + in_quotes(scheme) + ", which is not supported");
  const auto space = std::make_shared<const Regex>(Regex::literal(" "));
  const auto mark = [=](TextPiece& piece) {
    std::string text;
    space->each(piece.text, [&](const std::string& part, bool match) { text += match ? replacement : part; });
    const bool prepend = scheme == "always" || (scheme == "first" && piece.first);
    piece.text = (prepend && !text.starts_with(replacement) ? replacement : "") + text;
  };
  if (!split) return each(mark);
  const auto pattern = std::make_shared<const Regex>(Regex::literal(replacement));
  return in_turn({each(mark), splitting(matching(pattern), Behavior::merged_with_next)});
}

PreTokenize read_sequence(JsonStep& step) {
  std::vector<PreTokenize> all;
  for (const auto& json : step.sequence("pretokenizers")) all.push_back(read_pre_tokenizer(json));
  return in_turn(std::move(all));
}

PreTokenize read_one(JsonStep& step) {
  const std::string type = step.type();
  const PreTokenize at_spaces = splitting(characters(unicode::is_space), Behavior::removed);
  if (type == "Sequence") return read_sequence(step);
  if (type == "ByteLevel") return read_byte_level(step);
  if (type == "Metaspace") return read_metaspace(step);
  if (type == "WhitespaceSplit") return at_spaces;
  if (type == "Whitespace") {
    const auto words = [](char32_t character) { return unicode::is_word(character); };
    return in_turn({at_spaces, splitting(characters(words), Behavior::contiguous)});
  }
  if (type == "BertPreTokenizer")
    return in_turn({at_spaces, splitting(characters(unicode::is_punctuation), Behavior::isolated)});
  if (type == "Punctuation")
    return splitting(characters(unicode::is_punctuation), behavior_of(step, "Isolated"));
  if (type == "Digits") {
    const bool individual = step.get("individual_digits", false);
    return splitting(characters(unicode::is_numeric), individual ? Behavior::isolated : Behavior::contiguous);
  }
  if (type == "CharDelimiterSplit") {
    const auto delimiter = std::make_shared<const Regex>(Regex::literal(step.get<std::string>("delimiter")));
    return splitting(matching(delimiter), Behavior::removed);
  }
  if (type == "Split") {
    const auto pattern = pattern_of(step);
    const bool invert = step.get("invert", false);
    return splitting(matching(pattern, invert), behavior_of(step, ""));
  }
  step.not_supported();
}

}  // namespace

PreTokenize read_pre_tokenizer(const nlohmann::json& json) {
  if (json.is_null()) return [](std::vector<TextPiece> pieces) { return pieces; };
  JsonStep step(json, "pre_tokenizer");
  PreTokenize pre_tokenize = read_one(step);
  step.finish();
  return pre_tokenize;
}

}  // namespace runner
