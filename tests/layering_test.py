"""Which file may include which, and where code belongs. Reads every source below registry/, components/ and runner/ and reports
each include that violates the layers, each cycle of folders, and each type that the linker could merge with another one.

    tests/layering_test.py [ROOT]

Needs only Python, so it also runs if the other tools of the tests are not installed.
"""

import os
import re
import sys
import tempfile
from pathlib import Path

TORCH = r"(torch|ATen|c10|caffe2)/"
SPDLOG = r"(spdlog|fmt)/"
TOML = r"toml(\+\+|plusplus)?[/.]"

# folder -> (what its files may not include, why). The longest folder that fits a file also obeys the shorter ones.
RULES = {
    "registry": [
        (r"(components|runner)/", "registry/ stands below components/ and runner/"),
        (TORCH, "registry/ knows nothing of LibTorch"),
        (TOML, "TOML is read in runner/toml/ only"),
    ],
    "registry/base": [
        (r"registry/(?!base/)", "registry/base/ knows nothing of recipes"),
    ],
    "registry/files": [
        (r"registry/(?!base/|files/)", "registry/files/ knows nothing of recipes"),
    ],
    "components": [
        (r"runner/", "components/ stands below runner/"),
        (TOML, "a component gets typed parameters, never TOML"),
    ],
    "components/contract": [
        (r"components/(?!contract/)", "components/contract/ is what everything else in components/ is written with"),
    ],
    "components/jinja": [
        (TORCH, "a template knows nothing of tensors"),
        (r"components/(?!jinja/|tokenizers/)", "components/jinja/ stands on the characters of components/tokenizers/ alone"),
    ],
    "runner": [
        (r"components/.*(?<!\.hpp)$", "include headers of components/, never a .cpp"),
    ],
    "runner/toml": [
        (TORCH, "runner/toml/ answers in milliseconds: no LibTorch"),
        (r"components/", "runner/toml/ works on values, not on components"),
        (r"runner/(?!toml/)", "runner/toml/ stands below the rest of runner/"),
    ],
    "runner/engine": [
        (r"runner/(?!engine/)", "runner/engine/ stands below the rest of runner/"),
    ],
    "runner/ranks": [
        (r"runner/(?!engine/|ranks/|process/|terminal/text\.hpp)", "runner/ranks/ stands on runner/engine/ alone"),
    ],
}
# Who may deal with ranks: docs/architecture.md, "Ranks", says for what.
WORLD = "runner/engine/world.hpp"
WORLD_USERS = re.compile(
    r"runner/((engine|ranks|accelerator|checkpoint|inspect)/|train/(agreement|equal_ranks|initial_model|train_recipe)\.)")
# Clashes with LibTorch's own copy of fmt, so it stays behind registry/base/log.hpp.
SPDLOG_HOME = {"registry/base/log.cpp"}
TOML_HOME = "runner/toml/"
LARGEST_FOLDER = 45
# A newcomer sees these with one `ls runner`.
LOOSE_IN_RUNNER = {"main.cpp", "program.cpp"}
MOST_ROOMS = 20

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')


def violations(root: Path):
    """Yields (file, line, header, reason)."""
    for layer in ("registry", "components", "runner"):
        for file in sorted((root / layer).rglob("*.[ch]pp")):
            name = file.relative_to(root).as_posix()
            for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
                match = INCLUDE.match(line)
                if match:
                    for reason in reasons(name, match[1]):
                        yield name, number, match[1], reason


def reasons(name: str, header: str):
    # A header beside the file, written without its folder, would slip through rules on full paths.
    if header.startswith("."):
        yield "write the path from the top of the tree"
    for folder, rules in RULES.items():
        if name.startswith(folder + "/"):
            yield from (why for pattern, why in rules if re.match(pattern, header))
    if re.match(SPDLOG, header) and name not in SPDLOG_HOME:
        yield "spdlog and fmt stay behind registry/base/log.hpp"
    if name.startswith("runner/") and not name.startswith(TOML_HOME) and re.match(TOML, header):
        yield "TOML is read in runner/toml/ only"
    if header == WORLD and not WORLD_USERS.match(name):
        yield "docs/architecture.md, \"Ranks\", does not list this place among those that deal with ranks"


def folder_of(path: str):
    """The node of the graph that a file belongs to: a folder below a layer, or the layer itself for what lies loose in it."""
    return "/".join(path.split("/")[:-1][:2])


def crowded(root: Path):
    """Yields (folder, what is wrong) for folders that do not fit a screen."""
    for layer in ("registry", "components", "runner"):
        for folder in [root / layer, *(path for path in (root / layer).rglob("*") if path.is_dir())]:
            count = sum(1 for _ in folder.glob("*.[ch]pp"))
            if count > LARGEST_FOLDER:
                yield folder.relative_to(root).as_posix(), f"holds {count} source files; at most {LARGEST_FOLDER}"
    runner = root / "runner"
    for file in sorted(runner.glob("*.[ch]pp")):
        if file.name not in LOOSE_IN_RUNNER:
            yield file.relative_to(root).as_posix(), "belongs in a room of runner/"
    rooms = sum(1 for path in runner.iterdir() if path.is_dir())
    if rooms > MOST_ROOMS:
        yield "runner", f"has {rooms} rooms; at most {MOST_ROOMS}"


def cycles(root: Path):
    """Yields each cycle of folders that include each other, as a list that ends where it began."""
    graph = {}
    for layer in ("registry", "components", "runner"):
        for file in sorted((root / layer).rglob("*.[ch]pp")):
            own = folder_of(file.relative_to(root).as_posix())
            for line in file.read_text(errors="replace").splitlines():
                match = INCLUDE.match(line)
                if match and match[1].startswith(layer + "/") and folder_of(match[1]) != own:
                    graph.setdefault(own, set()).add(folder_of(match[1]))
    state = {}

    def visit(node, way):
        state[node] = "open"
        for after in sorted(graph.get(node, ())):
            if state.get(after) == "open":
                yield way[way.index(after):] + [after]
            elif after not in state:
                yield from visit(after, way + [after])
        state[node] = "done"

    for node in sorted(graph):
        if node not in state:
            yield from visit(node, [node])


def not_installed(root: Path):
    """Yields (file, header): a header that other programs may include, and one it includes that they do not get."""
    listed = (root / "cmake/PublicHeaders.cmake").read_text()
    patterns = re.findall(r"(?:\$\{PROJECT_SOURCE_DIR\}/)?([\w*]+(?:/[\w*]+)+\.hpp)", listed)
    public = {file.relative_to(root).as_posix() for pattern in patterns for file in root.glob(pattern)}
    for name in sorted(public):
        for line in (root / name).read_text().splitlines():
            match = INCLUDE.match(line)
            if match and re.match(r"(registry|components|runner)/", match[1]) and match[1] not in public:
                yield name, match[1]


NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^\s*#[^\n]*', re.S | re.M)
HOLDS_COMPONENT = re.compile(r"\bRegistration<\w+>\s+\w+\s*[{(]")


def definitions_others_see(source: str, own: str):
    """Yields (line, text) of what a file defines outside every unnamed namespace and the one of its own name: another file may
    define it, too, and the linker would take one of the two for both."""
    code = NOT_CODE.sub(lambda found: "".join("\n" if c == "\n" else " " for c in found[0]), source)
    scopes, start = [], 0
    for at, c in enumerate(code):
        if c == "{":
            head = code[start:at].strip()
            if re.search(rf"\bnamespace( {own})?$", head):
                scopes.append("unnamed")
            elif re.search(r"\bnamespace [\w:]+$", head):
                scopes.append("named")
            else:
                # describe() of somebody else's type is looked for beside that type.
                if "unnamed" not in scopes and "inner" not in scopes and "describe(std::type_identity<" not in head:
                    yield code.count("\n", 0, at) + 1, " ".join(head.split())
                scopes.append("inner")
        elif c == "}" and scopes:
            scopes.pop()
        if c in "{};":
            start = at + 1


# Types with inline members and inline functions get merged without a message. Qualified names belong to a type of a header.
MERGED_BY_LINKER = re.compile(r"^(?:template ?<.*> ?)?(?:(?:class|struct|union|enum(?: class)?) (?:\[\[.*\]\] )?(?:alignas\(.*\) )?(?!\w+::)\w+\b|inline\b)")


def mergeable(root: Path):
    """Yields (file, line, what is wrong) for what a .cpp defines at namespace scope and another file could define as well."""
    for layer in ("registry", "components", "runner"):
        for file in sorted((root / layer).rglob("*.cpp")):
            for line, text in definitions_others_see(file.read_text(errors="replace"), file.stem):
                if MERGED_BY_LINKER.search(text):
                    yield file.relative_to(root).as_posix(), line, f"belongs in an unnamed namespace: {text}"


def misplaced(root: Path):
    """Yields (file, line, what is wrong) for what the file of a component shows to other files."""
    for folder in sorted((root / "components").glob("*s")):
        for file in sorted(folder.glob("*.cpp")):
            name, source = file.relative_to(root).as_posix(), file.read_text(errors="replace")
            if HOLDS_COMPONENT.search(NOT_CODE.sub(" ", source)):
                for line, text in definitions_others_see(source, file.stem):
                    yield name, line, f"stands outside the unnamed namespace: {text}"


# The places that docs/architecture.md lists under "Layers".
NAMES_COMPONENTS = {
    "runner/accelerator/accelerator.hpp", "runner/check/trials.cpp", "runner/cli/eval.cpp", "runner/cli/new.cpp",
    "runner/cli/starters/start_from_data.cpp", "runner/engine/distributed_options.hpp", "runner/engine/engine.cpp",
    "runner/inspect/blueprint.cpp", "runner/recipe/recipe.hpp", "runner/runs/report/run_report.cpp", "runner/runs/run_record.cpp",
    "runner/runs/tracking/build_trackers.cpp",
    "runner/cli/env.cpp",  # a feature of processors has the name of a precision
}
REGISTERED = re.compile(r'\bRegistration<\w+>\s+\w+\s*[{(]\s*"([^"]+)"')
# Names of components that also mean something else.
ORDINARY_WORDS = {"chat", "csv", "file", "loss", "precision", "step", "tensors", "text"}


def named_components(root: Path):
    """Yields (file, line, name) where runner/ names a component: it builds components through the registry."""
    names = {name for file in (root / "components").rglob("*.cpp") for name in REGISTERED.findall(file.read_text(errors="replace"))}
    for file in sorted((root / "runner").rglob("*.[ch]pp")):
        source, name = file.read_text(errors="replace"), file.relative_to(root).as_posix()
        for found in NOT_CODE.finditer(source):
            if found[0].startswith('"') and found[0][1:-1] in names - ORDINARY_WORDS and name not in NAMES_COMPONENTS:
                yield name, source.count("\n", 0, found.start()) + 1, found[0][1:-1]


# Where names from files and recipes come into messages. A recipe's own text is quoted as TOML has it, not for people.
QUOTING = ("registry", "components", "runner")
QUOTES_ITSELF = {"registry/base/wording.cpp", "components/models/weights/pretrained_rope.cpp"}
QUOTED_BY_HAND = re.compile(r'\\"" \+')


def quoted_by_hand(root: Path):
    """Yields (file, line) where a message puts quotes around a name itself: in_quotes() escapes and shortens it, too."""
    for folder in QUOTING:
        for file in sorted((root / folder).rglob("*.[ch]pp")):
            name = file.relative_to(root).as_posix()
            for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
                if name not in QUOTES_ITSELF and QUOTED_BY_HAND.search(line):
                    yield name, number


def self_test():
    """Each kind of violation must be found, and what is allowed must pass."""
    forbidden = {
        "registry/a.cpp": ["torch/torch.h", "components/contract/batch.hpp", "runner/recipe/recipe.hpp", "toml++/toml.h", "fmt/core.h", "../x.hpp"],
        "registry/base/a.cpp": ["registry/value.hpp", "registry/files/open_file.hpp"],
        "registry/files/a.cpp": ["registry/value.hpp"],
        "components/models/a.cpp": ["runner/recipe/recipe.hpp", "spdlog/spdlog.h", "toml++/toml.h"],
        "components/contract/a.hpp": ["components/images/image_codec.hpp", "components/models/model.hpp"],
        "runner/data/a.cpp": ["components/models/mlp.cpp", "toml++/toml.h", "fmt/format.h"],
        "runner/toml/a.cpp": ["torch/torch.h", "components/contract/batch.hpp", "runner/train/train.hpp"],
        "runner/engine/a.cpp": ["runner/ranks/store.hpp", "runner/recipe/recipe.hpp"],
        "runner/ranks/a.cpp": ["runner/runs/run_folder.hpp"],
        "runner/train/journal.cpp": ["runner/engine/world.hpp"],
    }
    allowed = {
        "registry/a.cpp": ["registry/b.hpp", "registry/base/b.hpp", "vector", "nlohmann/json.hpp"],
        "registry/base/a.cpp": ["registry/base/b.hpp"],
        "registry/base/log.cpp": ["spdlog/spdlog.h"],
        "registry/files/a.cpp": ["registry/base/b.hpp"],
        "components/contract/a.hpp": ["components/contract/batch.hpp"],
        "components/models/a.cpp": ["components/models/model.hpp", "components/layers/b.hpp", "registry/b.hpp", "torch/torch.h"],
        "runner/data/a.cpp": ["components/models/model.hpp", "runner/toml/merge.hpp", "torch/torch.h"],
        "runner/toml/a.cpp": ["registry/b.hpp", "runner/toml/merge.hpp", "toml++/toml.h"],
        "runner/engine/a.cpp": ["runner/engine/world.hpp", "components/contract/batch.hpp"],
        "runner/ranks/a.cpp": ["runner/engine/world.hpp", "runner/ranks/store.hpp", "runner/process/exit_codes.hpp"],
        "runner/train/journal.cpp": ["runner/engine/engine.hpp"],
        "runner/train/agreement.hpp": ["runner/engine/world.hpp"],
    }
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)

        def found(cases):
            for name, headers in cases.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text("".join(f"#include <{header}>\n" for header in headers))
            return {(name, header) for name, _, header, _ in violations(root)}

        expected = {(name, header) for name, headers in forbidden.items() for header in headers}
        assert found(forbidden) == expected, found(forbidden) ^ expected
        assert found(allowed) == set(), found(allowed)

        assert list(quoted_by_hand(root)) == []
        (root / "registry/quotes.cpp").write_text('fail("no \\"" + name + "\\"");\nfail("no " + in_quotes(name));\n')
        assert list(quoted_by_hand(root)) == [("registry/quotes.cpp", 1)]

        (root / "components/models/mlp.cpp").write_text('const Registration<ModelKind> registration{"mlp", "A network.", &build};\n')
        (root / "runner/data/names.cpp").write_text('// "mlp"\nif (name == "mlp" || name == "mlp or so") return "text";\n')
        assert list(named_components(root)) == [("runner/data/names.cpp", 2, "mlp")]
        (root / "runner/data/names.cpp").unlink()

        assert list(cycles(root)) == []
        (root / "components/losses").mkdir()
        (root / "components/losses/loss.hpp").write_text('#include "components/models/model.hpp"\n')
        (root / "components/models/model.hpp").write_text('#include "components/losses/loss.hpp"\n')
        assert list(cycles(root)) == [["components/losses", "components/models", "components/losses"]]
        (root / "components/losses/loss.hpp").write_text("")
        (root / "runner/data/one.cpp").write_text('#include "runner/train/two.hpp"\n')
        (root / "runner/train/two.hpp").write_text('#include "runner/data/one.hpp"\n')
        assert list(cycles(root)) == [["runner/data", "runner/train", "runner/data"]]
        (root / "runner/train/two.hpp").write_text("")

        assert list(crowded(root)) == []
        (root / "runner/loose.cpp").write_text("")
        for number in range(LARGEST_FOLDER + 1):
            (root / f"runner/data/many{number}.cpp").write_text("")
        for number in range(MOST_ROOMS):
            (root / f"runner/room{number}").mkdir()
        assert [what for what, _ in crowded(root)] == ["runner/data", "runner/loose.cpp", "runner"], list(crowded(root))
        (root / "runner/loose.cpp").unlink()

        visible = {
            "struct A { int x; };": 1,
            "class A final : public B { };": 1,
            "enum class A { a };": 1,
            "template <class T> struct A { };": 1,
            "inline int f() { return 1; }": 1,
            "namespace { struct A { int x; }; }": 0,
            "struct A::B { int x; };": 0,
            "struct A; int f() { return 1; }": 0,
            "void f(struct A* a) { struct Local { int x; }; }": 0,
        }
        for source, expected in visible.items():
            (root / "runner/data/visible.cpp").write_text("namespace runner {\n" + source + "\n}\n")
            found_now = [what for name, _, what in mergeable(root) if name.endswith("visible.cpp")]
            assert len(found_now) == expected, (source, found_now)
        (root / "runner/data/visible.cpp").unlink()

        component = "namespace runner {\n%s\nnamespace {\nstruct B {};\nconst Registration<LossKind> r{};\n}\n}\n"
        cases = {
            "everything hidden": (component % "", 0),
            "a class that others see": (component % 'struct Visible { const char* text = "}"; };', 1),
            "a function that others see": (component % "inline int visible() { return 1; }", 1),
            "a namespace of its own": (component % "namespace cased { enum class E { a }; }", 0),
            "described beside its type": (component % "constexpr auto describe(std::type_identity<E>) { return 1; }", 0),
        }
        for case, (source, expected) in cases.items():
            (root / "components/losses/cased.cpp").write_text(source)
            found_now = [what for name, _, what in misplaced(root) if name.endswith("cased.cpp")]
            assert len(found_now) == expected, (case, found_now)


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("RUNNER_SOURCE_DIR", Path(__file__).parents[1]))
    self_test()
    bad = [f"{name}:{line}: includes <{header}>: {reason}" for name, line, header, reason in violations(root)]
    bad += ["folders include each other in a cycle: " + " -> ".join(cycle) for cycle in cycles(root)]
    bad += [f"{name}: {what}" for name, what in crowded(root)]
    bad += [f"{name}:{line}: {what}" for name, line, what in [*misplaced(root), *mergeable(root)]]
    bad += [f"{name}: is installed, but not {header}, which it includes (cmake/PublicHeaders.cmake)" for name, header in not_installed(root)]
    bad += [f"{name}:{line}: quotes a name by hand; use in_quotes()" for name, line in quoted_by_hand(root)]
    bad += [f"{name}:{line}: names the component {component}; docs/architecture.md lists where runner/ may" for name, line, component in named_components(root)]
    for problem in bad:
        print(problem)
    print(f"{len(bad)} layering violations" if bad else "no layering violations")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
