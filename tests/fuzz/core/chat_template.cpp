// Chat templates: never a crash, never without an end, and a decent message; every byte of a text has an
// origin.
#include <cstdint>
#include <string>

#include "components/jinja/template.hpp"
#include "tests/fuzz/core/message.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace runner::jinja;
  const auto message = [](const char* role, const char* content, Origin origin) {
    Dict dict;
    dict.set(Value("role"), Value(role));
    dict.set(Value("content"), Value(Text(content, origin)));
    return Value(std::move(dict));
  };
  Dict values;
  values.set(Value("messages"),
             Value(Values{message("user", "Zwölf <b>", 2), message("assistant", "42", 3)}));
  values.set(Value("add_generation_prompt"), true);
  try {
    const Text text = Template({reinterpret_cast<const char*>(data), size}).render(values);
    if (text.origins.size() != text.bytes.size()) std::abort();
  } catch (const TemplateError& error) {
    require_decent(message_of(error));
  }
  return 0;
}
