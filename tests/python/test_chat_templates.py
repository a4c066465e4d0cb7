"""Chat templates give here the text, and the places of the answers, that transformers gives."""

import importlib.util
import json
import logging
import os
import pathlib
import subprocess
import sys

from chats import CHATS
from run_helpers import main

BIN = pathlib.Path(os.environ.get("RUNNER_BINARY_DIR", "build/release")) / "bin"
DATA = pathlib.Path(os.environ.get("RUNNER_TEST_DATA", "/nowhere")) / "chat-templates"
GENERATED = 1 << 31
TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}

if importlib.util.find_spec("transformers") is None:
    print("skipped: transformers is not installed")
    sys.exit(77)
from transformers.utils import chat_template_utils as theirs  # noqa: E402

logging.disable(logging.WARNING)


def published():
    """Templates by name: those of the test data, and the pairs of the trl package if it is there."""
    found = {file.stem: file.read_text() for file in sorted(DATA.glob("*.jinja"))}
    package = importlib.util.find_spec("trl")
    if package:
        folder = pathlib.Path(package.origin).parent / "chat_templates"
        found |= {f"trl/{file.stem}": file.read_text() for file in sorted(folder.glob("*.jinja"))}
    return found


def rendered_there(template, messages, tools, prompt, **more):
    try:
        texts, spans = theirs.render_jinja_template([messages], tools=tools, chat_template=template,
                                                    return_assistant_tokens_mask=True, add_generation_prompt=prompt, **TOKENS, **more)
        return texts[0], spans[0]
    except Exception as error:
        return type(error).__name__, str(error)


def values_of(messages, tools, prompt, **more):
    messages = theirs._alias_reasoning_fields(messages) if hasattr(theirs, "_alias_reasoning_fields") else messages
    return {"messages": messages, "tools": tools, "documents": None, "add_generation_prompt": prompt, **TOKENS, **more}


def render(jobs):
    lines = "".join(json.dumps({"template": template, "values": values}) + "\n" for template, values in jobs)
    done = subprocess.run([BIN / "render_template"], input=lines, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.split("\n") if line]


def generated_characters(result):
    places, at = set(), 0
    for length, origin in result["spans"]:
        if origin & GENERATED:
            places |= set(range(at, at + length))
        at += length
    return places


def compare(templates, chats):
    jobs, expected, names = [], [], []
    for name, template in templates.items():
        for number, (messages, tools, prompt, *more) in enumerate(chats):
            more = more[0] if more else {}
            jobs.append((template, values_of(messages, tools, prompt, **more)))
            expected.append(rendered_there(template, messages, tools, prompt, **more))
            names.append(f"{name}, chat {number}")
    wrong, same = [], 0
    for name, ours, (text, spans) in zip(names, render(jobs), expected, strict=True):
        if isinstance(spans, str):
            if "text" in ours:
                wrong.append(f"{name}: {text} there ({spans}), a text here")
        elif "text" not in ours:
            wrong.append(f"{name}: {ours} here, a text there")
        elif ours["text"] != text:
            at = next((i for i, (a, b) in enumerate(zip(ours["text"], text)) if a != b), min(len(text), len(ours["text"])))
            wrong.append(f"{name}: differs at {at}: {ours['text'][at - 30:at + 30]!r} here, {text[at - 30:at + 30]!r} there")
        elif spans and generated_characters(ours) != {i for begin, end in spans for i in range(begin, end)}:
            wrong.append(f"{name}: other answers")
        else:
            same += 1
    assert not wrong, "\n".join([f"{len(wrong)} of {len(names)} differ", *wrong[:200]])
    return same


def published_templates(folder):
    templates = published()
    if not templates:
        print("not compared with published templates: there are none in RUNNER_TEST_DATA, and the trl package is not installed")
        return
    same = compare(templates, CHATS)
    print(f"{len(templates)} templates, {same} equal texts")
    assert same > 10 * len(templates), same


# What published templates use rarely or not at all: each line prints something.
LANGUAGE = r'''
{{ 1 + 2 * 3 - 4 // 3 }} {{ 7 % -3 }} {{ -7 // 2 }} {{ 2 ** 3 ** 2 }} {{ 1 / 4 }} {{ 10 / 2 }} {{ 1e20 }} {{ 1.5e-7 }} {{ 0.1 + 0.2 }} {{ -0.0 }}
{{ 'a' ~ 1 ~ none ~ true ~ 1.0 }} {{ 'ab' * 3 }} {{ [1] * 2 + [2] }} {{ (1, 2) + (3,) }} {{ (1,) }} {{ () }} {{ 'x' 'y' }}
{{ [1, 'it''s', "it's", 'say "x"', "both ' and \"", none, true, 1.0, {'a': [1, (2,)]}] }} {{ {'b': 1, 2: 'c', none: []} }}
{{ 'tab\tnew\nline \\ \x41 \u00e9 é \u200b \x7f 🥊' }} {{ ['tab\tnew\nline \\ \x41 é \u200b \x7f \xa0 🥊 \U000e0001'] }}
{{ 1 < 2 < 3 }} {{ 1 < 2 > 3 }} {{ 'a' in 'abc' }} {{ 2 not in [1, 2] }} {{ 'k' in {'k': 1} }} {{ 1 == 1.0 }} {{ true == 1 }} {{ 'a' == 1 }} {{ none == none }}
{{ not true or true and false }} {{ 0 or 'x' }} {{ '' and 'x' }} {{ 'yes' if 1 else 'no' }} {{ 'yes' if 0 }} {{ 1 if 0 else 2 if 0 else 3 }}
{{ 'hello'[1:3] }} {{ 'hello'[::-1] }} {{ 'hello'[-3:] }} {{ 'hello'[10:] }} {{ [1, 2, 3, 4][1::2] }} {{ [1, 2, 3][-1] }} {{ 'héllo'[1] }} {{ [1, 2][5] is defined }} {{ 'abc'[::-2] }}
{{ x is defined }} {{ x }} {{ x is none }} {{ x is string }} {{ x is iterable }} {{ x is sequence }} {{ x is callable }} {{ x is mapping }} {{ x == x }} {{ x|length }} {{ x|default('d') }} {{ ''|default('d') }} {{ ''|default('d', true) }}
{{ 1 is number }} {{ true is number }} {{ true is integer }} {{ 1.0 is float }} {{ 'a' is sequence }} {{ {} is mapping }} {{ {} is iterable }} {{ [] is sequence }} {{ none is none }} {{ 3 is odd }} {{ 3 is divisibleby 3 }} {{ 3 is sameas 3 }} {{ 2 is in [1, 2] }} {{ 2 is eq 2 }} {{ 'a' is lower }} {{ 'A' is upper }} {{ 1 is not string }}
{{ '  a b '.strip() }}|{{ '  a b '.lstrip() }}|{{ 'xxaxx'.strip('x') }}|{{ 'xyaxy'.rstrip('yx') }}|{{ 'a,b,,c'.split(',') }}|{{ ' a  b c '.split() }}|{{ 'a b c d'.split(' ', 1) }}|{{ 'a b c d'.rsplit(' ', 2) }}|{{ ' a  b  c '.split(none, 1) }}|{{ ' a  b  c '.rsplit(none, 1) }}
{{ 'a\nb\r\nc\n'.splitlines() }} {{ 'a\nb'.splitlines(true) }} {{ 'abc'.startswith('ab') }} {{ 'abc'.endswith(('x', 'c')) }} {{ 'aXbX'.replace('X', '--') }} {{ 'aaa'.replace('a', 'b', 2) }} {{ 'ab'.replace('', '-') }}
{{ 'hELLO wORLD'.title() }} {{ 'hELLO'.capitalize() }} {{ 'straße'.upper() }} {{ 'ÀÉ'.lower() }} {{ "they're bill's".title() }} {{ "it's a-b (c)"|title }} {{ 'hELLO'|capitalize }} {{ 'abc'.find('c') }} {{ 'éc'.find('c') }} {{ 'abc'.find('x') }} {{ 'aXa'.rfind('a') }} {{ 'banana'.count('an') }} {{ 'abc'.index('b') }}
{{ 'a-b-c'.partition('-') }} {{ 'a-b-c'.rpartition('-') }} {{ 'abc'.partition('x') }} {{ 'ab'.ljust(4) }}| {{ 'ab'.rjust(4, '.') }} {{ 'ab'.center(5, '*') }} {{ 'abc'.center(6, '*') }} {{ ', '.join(['a', 'b']) }} {{ '12'.isdigit() }} {{ 'ab1'.isalnum() }} {{ 'ab1'.isalpha() }} {{ ' '.isspace() }} {{ 'AB1'.isupper() }} {{ ''.isdigit() }} {{ 'prefix'.removeprefix('pre') }} {{ 'suffix'.removesuffix('fix') }}
{{ {'a': 1}.get('a') }} {{ {'a': 1}.get('b') }} {{ {'a': 1}.get('b', 2) }} {{ {'a': 1, 'b': 2}.items()|list }} {{ {'a': 1}.keys()|list }} {{ {'a': 1, 'b': 2}.values()|list }} {% for k, v in {'z': 1, 'y': 2}.items() %}{{ k }}={{ v }};{% endfor %}
{{ [3, 1, 2]|sort }} {{ ['b', 'A', 'c']|sort }} {{ ['b', 'A']|sort(case_sensitive=true) }} {{ [1, 2]|sort(reverse=true) }} {{ {'b': 1, 'A': 2}|dictsort }} {{ {'b': 1, 'a': 2}|dictsort(by='value') }} {{ [{'n': 2}, {'n': 1}]|sort(attribute='n') }}
{{ [1, 2, 3]|first }} {{ [1, 2, 3]|last }} {{ 'abc'|last }} {{ []|first is defined }} {{ [1, 2]|sum }} {{ [1, 5, 2]|max }} {{ [4, 1]|min }} {{ [1, 1, 2]|unique|list }} {{ [1, 2]|reverse|list }} {{ 'abc'|reverse }} {{ [1, 2]|join }} {{ [1, 2]|join(', ') }} {{ [{'a': 1}, {'a': 2}]|join('-', attribute='a') }}
{{ ['a', 'b']|map('upper')|list }} {{ [{'a': {'b': 1}}, {}]|map(attribute='a.b', default='?')|list }} {{ [{'a': 1}, {'a': 2}]|map(attribute='a')|join('+') }} {{ [1, 0, 2]|select|list }} {{ [1, 2, 3]|select('odd')|list }} {{ [1, 2, 3]|reject('eq', 2)|list }} {{ [{'r': 'u'}, {'r': 'a'}]|selectattr('r', 'equalto', 'u')|list }} {{ [{'r': 'u'}, {}]|rejectattr('r', 'defined')|list }} {{ [{'a': 1}, {'a': 0}]|selectattr('a')|list|length }}
{{ '3'|int + 1 }} {{ 'x'|int }} {{ '3.7'|int }} {{ 3.7|int }} {{ '2.5'|float }} {{ 'x'|float(1.5) }} {{ 2.567|round(2) }} {{ 2.5|round }} {{ 2.1|round(0, 'ceil') }} {{ -3|abs }} {{ [1]|string }} {{ 1|string ~ 'x' }} {{ 'a b  c'|wordcount }} {{ '<a>'|e }} {{ '%s is %d'|format('x', 3) }} {{ 'x %s' % 'y' }} {{ ' x '|trim }}| {{ 'xxaxx'|trim('x') }}
{{ 'a\nb\n\nc'|indent }}| {{ 'a\nb'|indent(2, true) }} {{ 'a\n\nb'|indent(2, blank=true) }} {{ 'a\nb\n'|indent(2) }}| {{ 'a\nb'|indent('> ') }}
{{ {'b': [1, 2.5, none, true, 'é"\n\u2028</x>&'], 'a': {}}|tojson }} {{ {'b': 1, 'a': [1]}|tojson(indent=2) }} {{ []|tojson(indent=2) }} {{ {'b': 1, 'a': 2}|tojson(sort_keys=true) }} {{ 'é🥊'|tojson(ensure_ascii=true) }} {{ [1, {'a': 1}]|tojson(separators=(',', ':')) }} {{ {1: 2, true: 3}|tojson }} {{ 1e100|tojson }} {{ 3.0|tojson }}
{% set ns = namespace(a=1, b=[]) %}{% for i in range(4) %}{% set ns.a = ns.a + i %}{% set ns.b = ns.b + [i] %}{% endfor %}{{ ns.a }} {{ ns.b }} {{ ns.c is defined }}
{% set x = 0 %}{% for i in [1, 2] %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }} {% if true %}{% set y = 5 %}{% endif %}{{ y }}
{% for i in [1, 2, 3, 4, 5] %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 4 %}{% break %}{% endif %}{{ i }}{{ loop.index }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.revindex }}{{ loop.revindex0 }}{% endfor %}
{% for i in [] %}x{% else %}empty{% endfor %} {% for a, b in [(1, 2), [3, 4]] %}{{ a }}{{ b }}{% endfor %} {% for (a, b) in [(1, 2)] %}{{ a + b }}{% endfor %} {% for i in [1, 2, 3, 4] if i % 2 == 0 %}{{ i }}/{{ loop.length }}{% else %}none{% endfor %} {% for c in 'aé' %}{{ c }},{% endfor %}
{% for i in [1, 2, 3] %}{{ loop.previtem }}-{{ loop.nextitem }}{{ loop.previtem is defined }};{{ loop.cycle('a', 'b') }}{{ loop.changed(i // 2) }}{% endfor %}
{% for i in [[1, [2]], [3]] recursive %}{% if i is iterable %}({{ loop(i) }}){{ loop.depth }}{% else %}{{ i }}{% endif %}{% endfor %}
{% macro m(a, b=2, c=a) %}[{{ a }} {{ b }} {{ c }} {{ varargs }} {{ kwargs }}]{% endmacro %}{{ m(1) }} {{ m(1, c=3) }} {{ m(1, 2, 3, 4) }} {{ m(b=1) }} {{ m(1, d=5) }} {{ m(*[7, 8], **{'c': 9}) }}
{% macro box(t) %}<{{ t }}:{{ caller() }}>{% endmacro %}{% call box('x') %}in{{ side }}{% endcall %} {% macro each(l) %}{% for i in l %}{{ caller(i) }}{% endfor %}{% endmacro %}{% call(i) each([1, 2]) %}({{ i }}){% endcall %}
{% macro late() %}{{ later }}{% endmacro %}{% set later = 'set' %}{{ late() }} {% macro deep(n) %}{{ n }}{% if n %}{{ deep(n - 1) }}{% endif %}{% endmacro %}{{ deep(3) }}
{% set block %}  in {{ 1 + 1 }}  {% endset %}[{{ block }}] {% set f | upper | trim %} abc {% endset %}[{{ f }}] {% filter upper %}abc{% endfilter %} {% filter replace('a', 'b') | upper %}abc{% endfilter %} {% with a = 1, b = 2 %}{{ a + b }}{% endwith %} {{ a is defined }}
{% set a, b = 1, 2 %}{{ a }}{{ b }} {% set t = 1, 2 %}{{ t }} {% raw %}{{ raw }} {% x %}{% endraw %} {{ {'a': {'b': 1}}.a.b }} {{ {'a': 1}['a'] }} {{ [[1]].0.0 }} {{ {'items': 3}['items'] }} {{ dict(a=1) }} {{ dict({'b': 2}, a=1) }} {{ range(3)|list }} {{ range(5, 0, -2)|list }} {{ 'a{}b' }} {{ {'a': {}} }}
   {%- if true -%}   left   {%- endif -%}   right   {{- ' x ' -}}   y  {#- comment -#}  z
  {% if true %}
    inner {# note #}
  {% endif %}
  after  {%+ if true %} plus {% endif +%}
end
'''


def the_language(folder):
    values = [([{"role": "user", "content": "x"}], None, False, {"side": "!"})]
    lines = {f"line {number}": line for number, line in enumerate(LANGUAGE.split("\n")[1:-7], 2)}
    pieces = {f"{name}, {piece[:40]}": piece for name, line in lines.items() if "{%" not in line
              for piece in line.replace(" {{", "\n{{").split("\n")}
    compare(pieces, values)
    compare(lines, values)
    compare({"all": LANGUAGE, "windows": LANGUAGE.replace("\n", "\r\n")}, values)


def what_fails_there_fails_here(folder):
    bad = ["{{ x.y }}", "{{ x['y'] }}", "{{ x() }}", "{{ 'a' + 1 }}", "{{ 1 < 'a' }}", "{{ 1 / 0 }}", "{{ none|length }}", "{{ 1 in 2 }}",
           "{{ [].append(1) }}", "{{ {}.update({}) }}", "{{ 'a'|nofilter }}", "{{ 1 is notest }}", "{% nothing %}", "{% if %}", "{{ 1 + }}",
           "{{ 'open }}", "{{ (1 }}", "{{ 1) }}", "{% for x %}{% endfor %}", "{% if 1 %}", "{% endif %}", "{{ raise_exception('no') }}",
           "{% for a, b in [1] %}{% endfor %}", "{{ 'a'|map('nothing')|list }}", "{{ [1, 'a']|sort }}", "{{ range(1000000) }}",
           "{{ x + 1 }}", "{{ x ~ y.z }}", "{{ {}|tojson(1, 2, 3, 4, 5) }}", "{{ x|tojson }}", "{{ 'a'.nothing() }}", "{{ 'abc'.index('x') }}",
           "{% set a.b = 1 %}", "{% set x = 5 %}{% set x.y = 1 %}", "{{ [1, 2]|map|list }}", "{% macro %}{% endmacro %}", "{{ 1 2 }}", "{{ {[]: 1} }}"]
    compare({text: text for text in bad}, [([{"role": "user", "content": "x"}], None, False)])


def hostile_templates(folder):
    """Bounded in time and memory, and refused with a message."""
    bad = {
        "loops": "{% for a in range(100000) %}{% for b in range(100000) %}{% for c in range(100000) %}{% endfor %}{% endfor %}{% endfor %}",
        "repeats": "{{ 'x' * 10000000000 }}", "lists": "{{ ([1] * 100000000)|length }}", "pads": "{{ 'x'.ljust(10000000000) }}",
        "doubles": "{% set ns = namespace(s='x') %}{% for i in range(100) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
        "replaces": "{% set ns = namespace(s='xx') %}{% for i in range(100) %}{% set ns.s = ns.s.replace('x', ns.s) %}{% endfor %}",
        "joins": "{{ ('x' * 10000).join(range(10000)|map('string')|list) }}",
        "recurses": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "nests": "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
        "blocks": "{% if 1 %}" * 5000 + "{% endif %}" * 5000, "minuses": "{{ " + "-" * 100000 + "1 }}", "nots": "{{ " + "not " * 100000 + "1 }}",
        "chains": "{{ x" + ".a" * 100000 + " }}", "sums": "{{ 1" + " + 1" * 100000 + " }}",
        "doubled lists": "{% set ns = namespace(l=[1]) %}{% for i in range(90) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l }}",
        "equal lists": "{% set ns = namespace(l=[1], m=[1]) %}{% for i in range(90) %}{% set ns.l = [ns.l, ns.l] %}{% set ns.m = [ns.m, ns.m] %}{% endfor %}{{ ns.l == ns.m }}",
        "nested lists": "{% set ns = namespace(l=[1]) %}{% for i in range(100000) %}{% set ns.l = [ns.l] %}{% endfor %}{{ ns.l }}",
        "methods": "{% set ns = namespace(l={}) %}{% for i in range(100000) %}{% set ns.l = {'a': ns.l.get} %}{% endfor %}x",
        "dicts": "{% set ns = namespace(l={}) %}{% for i in range(100000) %}{% set ns.l = {ns.l: 1} %}{% endfor %}",
    }
    for (name, _), result in zip(bad.items(), render([(text, values_of([], None, False)) for text in bad.values()]), strict=True):
        assert "error" in result, (name, str(result)[:300])
    fine = {"itself": "{% set ns = namespace() %}{% set ns.a = ns %}{% set ns.b = [ns] %}fine",
            "closures": "{% macro a() %}{% macro b() %}{% endmacro %}{% endmacro %}{{ a() }}fine"}
    for result in render([(text, values_of([], None, False)) for text in fine.values()]):
        assert result.get("text") == "fine", result


if __name__ == "__main__":
    main([the_language, what_fails_there_fails_here, hostile_templates, published_templates])
