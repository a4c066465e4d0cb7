// Renders chat templates: {"template": "..", "values": {..}} on each line of the input; {"text", "spans"} or
// {"refused"} or
// {"error"} on each line of the output. A span is [characters, origin].
#include <iostream>
#include <nlohmann/json.hpp>

#include "components/jinja/template.hpp"
#include "registry/base/utf8.hpp"

namespace {

using Json = nlohmann::ordered_json;
using namespace runner::jinja;

Json spans_of(const Text& text) {
  Json spans = Json::array();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (runner::continues_utf8(text.bytes[i])) continue;
    if (!spans.empty() && spans.back()[1] == text.origins[i]) {
      spans.back()[0] = spans.back()[0].get<std::size_t>() + 1;
    } else {
      spans.push_back({1, text.origins[i]});
    }
  }
  return spans;
}

Json answer(const Json& line) {
  try {
    const Template made(line.at("template").get<std::string>());
    Dict values;
    for (const auto& [key, value] : line.at("values").items()) {
      const bool inside = key != "bos_token" && key != "eos_token";
      values.set(Value(Text(key)), Value(value, inside ? 1 : from_template));
    }
    const Text text = made.render(values);
    return {{"text", text.bytes}, {"spans", spans_of(text)}};
  } catch (const TemplateRefusal& refusal) {
    return {{"refused", refusal.what()}};
  } catch (const TemplateError& error) {
    return {{"error", message_of(error)}};
  }
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);)
    std::cout << answer(Json::parse(line)).dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
}
