#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>

#include "components/contract/tokenizer.hpp"
#include "components/tokenizers/regex.hpp"
#include "registry/base/wording.hpp"

namespace runner {

// One object of a tokenizer.json. Every key has to be read: a key that is not read is not supported, and is
// an error instead of being ignored.
class JsonStep {
 public:
  using Json = nlohmann::json;

  JsonStep(const Json& json, std::string place) : json_(json), place_(std::move(place)) {
    if (!json_.is_object()) fail("is not an object");
  }

  std::string type() { return get<std::string>("type"); }
  bool has(const std::string& key) const { return json_.contains(key) && !json_[key].is_null(); }
  void pass(const std::string& key) { asked_.insert(key); }

  const Json& at(const std::string& key) {
    asked_.insert(key);
    if (!json_.contains(key)) fail("has no " + in_quotes(key));
    return json_[key];
  }
  // A list of steps that are all applied to every word, which is why their number is limited.
  const Json& sequence(const std::string& key) {
    constexpr std::size_t most = 100;
    const Json& steps = at(key);
    if (!steps.is_array()) fail("has " + in_quotes(key) + " that is not a list");
    if (steps.size() > most) fail("has more than " + std::to_string(most) + " " + key);
    return steps;
  }
  template <class T>
  T get(const std::string& key) {
    try {
      return at(key).get<T>();
    } catch (const Json::exception&) {
      fail("has a " + in_quotes(key) + " of the wrong kind: " + escaped_name(json_[key].dump()));
    }
  }
  // The number of a token. get<Token>() would read 1.5 as 1 and 4294967296 as 0.
  Token token(const std::string& key) { return token(at(key), in_quotes(key)); }
  Token token(const Json& id, const std::string& whose) const {
    constexpr std::int64_t most = 1 << 24;
    if (!id.is_number_integer() || id.get<std::int64_t>() < 0 || id.get<std::int64_t>() >= most)
      fail("gives " + whose + " the number " + escaped_name(id.dump()));
    return id.get<Token>();
  }
  // A text that is inserted into every word or line: a long one would turn a page into gigabytes.
  std::string short_text(const std::string& key, const std::string& fallback) {
    constexpr std::size_t longest = 64;
    const auto text = get<std::string>(key, fallback);
    if (text.size() > longest)
      fail("has a " + in_quotes(key) + " of more than " + std::to_string(longest) + " bytes");
    return text;
  }
  template <class T>
  T get(const std::string& key, T fallback) {
    asked_.insert(key);
    return has(key) ? get<T>(key) : std::move(fallback);
  }

  // Call it after all supported keys were read.
  void finish() const {
    for (const auto& [key, value] : json_.items())
      if (!asked_.contains(key)) fail("has " + in_quotes(key) + ", which is not supported");
  }
  [[noreturn]] void not_supported() { fail("of type " + in_quotes(type()) + " is not supported"); }
  [[noreturn]] void fail(const std::string& why) const {
    throw std::runtime_error("its " + place_ + " " + why);
  }
  const std::string& place() const { return place_; }

 private:
  const Json& json_;
  std::string place_;
  std::set<std::string> asked_;
};

// The "pattern" of a step of a tokenizer.json: {"String": ".."} or {"Regex": ".."}.
inline std::shared_ptr<const Regex> pattern_of(JsonStep& step) {
  JsonStep pattern(step.at("pattern"), step.place() + "'s pattern");
  const bool literal = pattern.has("String");
  const auto text = pattern.get<std::string>(literal ? "String" : "Regex");
  pattern.finish();
  if (text.empty()) pattern.fail("is empty");
  return std::make_shared<const Regex>(literal ? Regex::literal(text) : Regex(text));
}

// Steps of a tokenizer.json may make a text longer, and a sequence of them exponentially longer. No real
// tokenizer exceeds this limit.
inline void require_moderate(std::size_t before, std::size_t after, const std::string& step) {
  if (after <= 32 * before + (std::size_t{1} << 16)) return;
  throw std::runtime_error("its " + step + " makes a text of " + std::to_string(before) +
                           " bytes more than 32 times as long");
}

}  // namespace runner
