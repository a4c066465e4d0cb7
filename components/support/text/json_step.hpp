#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>

namespace runner {

// One object of a tokenizer.json. Every key of it has to be asked for: what nobody asks for is not supported,
// and an error, never left out silently.
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
    if (!json_.contains(key)) fail("has no \"" + key + "\"");
    return json_[key];
  }
  template <class T>
  T get(const std::string& key) {
    try {
      return at(key).get<T>();
    } catch (const Json::exception&) {
      fail("has a \"" + key + "\" of the wrong kind: " + json_[key].dump());
    }
  }
  template <class T>
  T get(const std::string& key, T fallback) {
    asked_.insert(key);
    return has(key) ? get<T>(key) : fallback;
  }

  // After everything was asked for.
  void finish() const {
    for (const auto& [key, value] : json_.items())
      if (!asked_.contains(key)) fail("has \"" + key + "\", which is not supported");
  }
  [[noreturn]] void not_supported() { fail("of type \"" + type() + "\" is not supported"); }
  [[noreturn]] void fail(const std::string& why) const {
    throw std::runtime_error("its " + place_ + " " + why);
  }
  const std::string& place() const { return place_; }

 private:
  const Json& json_;
  std::string place_;
  std::set<std::string> asked_;
};

}  // namespace runner
