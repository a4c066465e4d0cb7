#include "components/jinja/template.hpp"

#include "components/jinja/lexer.hpp"
#include "components/jinja/nodes.hpp"
#include "components/jinja/parser.hpp"

namespace runner::jinja {

namespace {

std::string_view of_moderate_size(std::string_view source) {
  constexpr std::size_t most = 1 << 20;
  if (source.size() > most) throw TemplateError("has more than a million bytes");
  return source;
}

bool has_generation(std::string_view source) {
  const auto lexemes = divide(source);
  for (std::size_t i = 0; i + 1 < lexemes.size(); ++i)
    if (lexemes[i].kind == Lexeme::Kind::block_begin && lexemes[i + 1].text == "generation") return true;
  return false;
}

}  // namespace

struct Template::Syntax {
  Block block;
};

Template::Template(std::string_view source)
    : syntax_(std::make_unique<const Syntax>(Syntax{parse(of_moderate_size(source))})),
      marks_answers_(has_generation(source)) {}
Template::Template(Template&&) noexcept = default;
Template::~Template() = default;

Text Template::render(const Dict& values) const {
  Rendering rendering;
  auto scope = std::make_shared<Scope>();
  for (const auto& [key, value] : values.entries()) scope->values[printed(key).bytes] = value;
  Text text;
  // A scope of its own, as a template's variables may have the names of values.
  Frame frame{rendering, std::make_shared<Scope>(Scope{.outer = scope}), text};
  run_block(syntax_->block, frame);
  return text;
}

std::string message_of(const TemplateError& error) {
  return (error.line > 0 ? "line " + std::to_string(error.line) + " of the template " : "the template ") +
         error.what();
}

}  // namespace runner::jinja
