// Recipe text: never a crash; and what loads and conforms is, written and loaded again, the same.
#include <cstdint>
#include <string_view>

#include "runner/toml/parse.hpp"
#include "runner/toml/resolve_references.hpp"
#include "runner/toml/write.hpp"
#include "tests/fuzz/sample.hpp"

namespace runner::fuzz {
namespace {

const std::map<std::string, std::string> environment{{"HOME", "/root"}, {"N", "5"}, {"ODD", "[1, ${x}"}};

// As load_recipe does, without touching a file.
std::optional<Value> load(std::string_view text, Diagnostics& diagnostics) {
  const auto source = std::make_shared<Source>(Source{Source::Kind::file, "fuzz.toml", std::string(text)});
  auto tree = parse_toml(source->text, source, 0, diagnostics);
  require(tree.has_value() == diagnostics.ok());
  if (tree) resolve_references(*tree, environment, {}, diagnostics);
  require(!render(diagnostics).empty() || diagnostics.all().empty());
  if (!diagnostics.ok()) return std::nullopt;
  return tree;
}

void check(std::string_view text) {
  Diagnostics diagnostics;
  const auto tree = load(text, diagnostics);
  if (!tree) return;
  const std::string plain = write_toml(*tree);
  const auto again = load(plain, diagnostics);
  require(again && same_data(*again, *tree));

  auto once = conformed(*tree, diagnostics);
  if (!once) return;
  const std::string shown = write_toml(*once, {.origins = true});
  Diagnostics none;
  const auto reloaded = load(shown, none);
  require(reloaded.has_value());
  const auto twice = conformed(*reloaded, none);
  require(twice.has_value() && none.all().empty());
  once->as<Table>()->erase("token");  // a secret is not written
  Value without_secret = *twice;
  without_secret.as<Table>()->erase("token");
  if (shown.find("is a secret") == std::string::npos) require(same_data(*once, without_secret));
}

}  // namespace
}  // namespace runner::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  runner::fuzz::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
