// What Jinja and transformers render is compared with them in tests/python/test_chat_templates.py.
#include <catch2/catch_all.hpp>

#include "components/jinja/template.hpp"

using namespace runner::jinja;
using Catch::Matchers::ContainsSubstring;

namespace {

Dict values() {
  Dict all;
  all.set(Value("user"), Value(Text("<b>é", 5)));
  all.set(Value("list"), Value(Values{Value(Text("one", 6)), Value(Text("two", 7))}));
  return all;
}

std::string rendered(const std::string& source) { return Template(source).render(values()).bytes; }

// The origin of each byte, as one character each; "*" after it: inside {% generation %}.
std::string origins(const std::string& source) {
  std::string text;
  for (const Origin origin : Template(source).render(values()).origins)
    text += std::to_string(origin & ~generated) + ((origin & generated) != 0 ? "*" : "");
  return text;
}

std::string error_of(const std::string& source) {
  try {
    return "rendered: " + rendered(source);
  } catch (const TemplateError& error) {
    return message_of(error);
  }
}

}  // namespace

TEST_CASE("a template: every byte knows where it comes from", "[chat]") {
  CHECK(rendered("a{{ user }}b") == "a<b>éb");
  CHECK(origins("a{{ user }}b") == "0555550");
  CHECK(origins("{{ 'x' ~ user.upper()[1:2] ~ list[1][0] }}") == "057");
  CHECK(origins("{{ list | join('-') }}") == "6660777");
  CHECK(origins("{{ user | replace('<b>', 'cc') }}") == "0055");
  CHECK(origins("{{ [list[0]] | tojson }}") == "0066600");
  CHECK(origins("{% macro m(x) %}({{ x | trim }}){% endmacro %}{{ m(list[0]) }}") == "06660");
  CHECK(origins("{% set ns = namespace(t='') %}{% for x in list %}{% set ns.t = ns.t + x %}{% endfor %}{{ "
                "ns.t }}") == "666777");
}

TEST_CASE("a template: what is generated is marked wherever it goes", "[chat]") {
  const std::string source =
      "{% set a %}x{% generation %}{{ list[0] }}!{% endgeneration %}y{% endset %}{{ a }}";
  CHECK(origins(source) == "06*6*6*0*0");
  CHECK(Template(source).marks_answers());
  CHECK_FALSE(Template("generation {{ 'generation' }}").marks_answers());
}

TEST_CASE("a template: errors have the line", "[chat]") {
  CHECK(error_of("a\n\n{{ nothing.more }}") ==
        "line 3 of the template takes \"more\" of \"nothing\", which is undefined, and so has nothing");
  CHECK_THAT(error_of("\n{% if %}"), ContainsSubstring("line 2 of the template"));
  CHECK_THAT(error_of("{{ user | nofilter }}"),
             ContainsSubstring("the filter \"nofilter\", which is not known"));
  CHECK_THAT(error_of("{% include 'x' %}"), ContainsSubstring("\"include\""));
  CHECK_THROWS_AS(rendered("{{ raise_exception('no system prompt') }}"), TemplateRefusal);
}

TEST_CASE("a template may not take all time or memory", "[chat]") {
  const char* source =
      GENERATE("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
               "{{ 'x' * 9999999999 }}", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
               "{% set ns = namespace(l=[1]) %}{% for i in range(90) %}{% set ns.l = [ns.l, ns.l] %}{% "
               "endfor %}{{ ns.l }}");
  CHECK_THROWS_AS(rendered(source), TemplateError);
  CHECK_THROWS_AS(Template("{{ " + std::string(100000, '(') + " }}"), TemplateError);
}
