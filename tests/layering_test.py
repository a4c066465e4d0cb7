"""Who may include whom. Reads every #include below registry/, components/ and runner/ and names each that crosses a border.

    tests/layering_test.py [ROOT]

Needs nothing but Python, so it runs where the tests' other tools are not installed, too.
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
        (TOML, "TOML is read in runner/recipe/ only"),
    ],
    "components": [
        (r"runner/", "components/ stands below runner/"),
        (TOML, "a component gets typed parameters, never TOML"),
    ],
    "runner": [
        (r"components/.*(?<!\.hpp)$", "only contract headers of components/ are public"),
    ],
    "runner/recipe": [
        (TORCH, "runner/recipe/ answers in milliseconds: no LibTorch"),
        (r"components/", "runner/recipe/ works on values, not on components"),
        (r"runner/(?!recipe[/.])", "runner/recipe/ stands below the rest of runner/"),
    ],
}
# Clashes with LibTorch's own copy of fmt, so it stays behind registry/log.hpp.
SPDLOG_HOME = {"registry/log.cpp"}
TOML_HOME = "runner/recipe/"

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
        yield "spdlog and fmt stay behind registry/log.hpp"
    if name.startswith("runner/") and not name.startswith(TOML_HOME) and re.match(TOML, header):
        yield "TOML is read in runner/recipe/ only"


def self_test():
    """A test that cannot fail is worth nothing: each kind of trespass must be found, and what is allowed must pass."""
    trespasses = {
        "registry/a.cpp": ["torch/torch.h", "components/contract/batch.hpp", "runner/recipe.hpp", "toml++/toml.h", "fmt/core.h", "../x.hpp"],
        "components/models/a.cpp": ["runner/recipe.hpp", "spdlog/spdlog.h", "toml++/toml.h"],
        "runner/a.cpp": ["components/models/mlp.cpp", "toml++/toml.h", "fmt/format.h"],
        "runner/recipe/a.cpp": ["torch/torch.h", "components/contract/batch.hpp", "runner/train.hpp"],
    }
    allowed = {
        "registry/a.cpp": ["registry/b.hpp", "vector", "nlohmann/json.hpp"],
        "registry/log.cpp": ["spdlog/spdlog.h"],
        "components/models/a.cpp": ["components/models/model.hpp", "registry/b.hpp", "torch/torch.h"],
        "runner/a.cpp": ["components/models/model.hpp", "runner/recipe/merge.hpp", "torch/torch.h"],
        "runner/recipe/a.cpp": ["registry/b.hpp", "runner/recipe/merge.hpp", "runner/recipe.hpp", "toml++/toml.h"],
    }
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)

        def found(cases):
            for name, headers in cases.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text("".join(f"#include <{header}>\n" for header in headers))
            return {(name, header) for name, _, header, _ in violations(root)}

        expected = {(name, header) for name, headers in trespasses.items() for header in headers}
        assert found(trespasses) == expected, found(trespasses) ^ expected
        assert found(allowed) == set(), found(allowed)


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("RUNNER_SOURCE_DIR", Path(__file__).parents[1]))
    self_test()
    bad = list(violations(root))
    for name, line, header, reason in bad:
        print(f"{name}:{line}: includes <{header}>: {reason}")
    print(f"{len(bad)} includes cross a border" if bad else "every include respects the layers")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
