#include "components/tokenizers/sentence_frame.hpp"

namespace runner {

namespace {

SentenceFrame read_template(JsonStep& step) {
  step.pass("pair");  // only single texts are encoded
  const nlohmann::json& tokens = step.at("special_tokens");
  SentenceFrame frame;
  bool sentence_seen = false;
  for (const auto& item : step.at("single")) {
    if (item.contains("Sequence")) {
      if (sentence_seen) step.fail("has a template with two sentences");
      sentence_seen = true;
      continue;
    }
    const auto name = item.at("SpecialToken").at("id").get<std::string>();
    if (!tokens.contains(name)) step.fail("does not say what " + in_quotes(name) + " is");
    const nlohmann::json& ids = tokens.at(name).at("ids");
    if (!ids.is_array()) step.fail("does not list the tokens of " + in_quotes(name));
    auto& side = sentence_seen ? frame.suffix : frame.prefix;
    for (const auto& id : ids) side.push_back(step.token(id, in_quotes(name)));
  }
  if (!sentence_seen) step.fail("has a template without a sentence");
  return frame;
}

SentenceFrame read_pair(JsonStep& step) {
  const auto id = [&](const char* key) {
    const nlohmann::json& named = step.at(key);
    if (!named.is_array() || named.size() != 2) step.fail(std::string("has a wrong ") + key);
    return step.token(named[1], in_quotes(key));
  };
  for (const char* no_matter : {"trim_offsets", "add_prefix_space"}) step.pass(no_matter);
  return {{id("cls")}, {id("sep")}};
}

SentenceFrame read_one(JsonStep& step) {
  const std::string type = step.type();
  if (type == "TemplateProcessing") return read_template(step);
  if (type == "BertProcessing" || type == "RobertaProcessing") return read_pair(step);
  if (type == "ByteLevel") {
    for (const char* no_matter : {"add_prefix_space", "trim_offsets", "use_regex"}) step.pass(no_matter);
    return {};
  }
  if (type == "Sequence") {
    SentenceFrame frame;
    for (const auto& json : step.sequence("processors")) {
      const SentenceFrame outer = read_sentence_frame(json);
      frame.prefix.insert(frame.prefix.begin(), outer.prefix.begin(), outer.prefix.end());
      frame.suffix.insert(frame.suffix.end(), outer.suffix.begin(), outer.suffix.end());
    }
    return frame;
  }
  step.not_supported();
}

}  // namespace

SentenceFrame read_sentence_frame(const nlohmann::json& json) {
  if (json.is_null()) return {};
  JsonStep step(json, "post_processor");
  SentenceFrame frame = read_one(step);
  step.finish();
  return frame;
}

}  // namespace runner
