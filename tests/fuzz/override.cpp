// Arguments and variables, one a line, laid over a recipe with every type of field: never a crash.
#include "runner/toml/override.hpp"

#include <cstdint>
#include <string>
#include <string_view>

#include "runner/toml/environment.hpp"
#include "runner/toml/parse.hpp"
#include "runner/toml/resolve_references.hpp"
#include "runner/toml/write.hpp"
#include "tests/fuzz/sample.hpp"

namespace runner::fuzz {
namespace {

constexpr const char* recipe =
    "count = 4\ntitle = 'a'\nsizes = [1, 2]\ngadget = 'tuned'\n[window]\nlow = 1\n[[gadgets]]\nname = "
    "'plain'\n"
    "[[gadgets]]\nname = 'nested'\ninner = ['tuned']\n[weights]\na = 1\n";

void check(std::string_view text) {
  const auto source = std::make_shared<Source>(Source{Source::Kind::file, "fuzz.toml", recipe});
  Diagnostics diagnostics;
  Value tree = parse_toml(source->text, source, 0, diagnostics).value();
  const DefaultOf default_of = [](const Value&, std::string_view path) -> std::optional<Value> {
    if (path == "tags") return Value(Value::Data(Array{Value(Value::Data(std::string("t")))}));
    return std::nullopt;
  };
  std::map<std::string, std::string> environment;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto assignment = line.find('=');
    if (line.starts_with("RUNNER_") && assignment != std::string::npos) {
      environment[line.substr(0, assignment)] = line.substr(assignment + 1);
      apply_environment(environment, 1, tree, default_of, diagnostics);
    } else {
      apply_override(line, 2, tree, default_of, diagnostics);
    }
  }
  require(!render(diagnostics).empty() || diagnostics.all().empty());
  if (!diagnostics.ok()) return;
  resolve_references(tree, environment, default_of, diagnostics);
  if (!diagnostics.ok()) return;
  Diagnostics unheard;
  const auto written =
      std::make_shared<Source>(Source{Source::Kind::file, "again.toml", write_toml(tree, {.origins = true})});
  require(parse_toml(written->text, written, 0, unheard).has_value());
  conformed(tree, diagnostics);
}

}  // namespace
}  // namespace runner::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  runner::fuzz::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
