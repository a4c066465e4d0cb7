"""Every type of the contracts is in the stamp of plugins, and public headers change only together with tests/public_interface.txt,
so that nobody forgets interface_version.

The file holds the interface version and a hash of each public header, without comments and white space. If a header has changed:
increase interface_version in registry/component.hpp if a plugin compiled before the change could misbehave in the changed program
(a type has other members, a function other parameters or another meaning), then run

    tests/public_interface_test.py --update
"""

import hashlib
import os
import re
import sys
from pathlib import Path

ROOT = Path(os.environ.get("RUNNER_SOURCE_DIR", Path(__file__).resolve().parents[1]))
GOLDEN = ROOT / "tests/public_interface.txt"
TEXT_OR_COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\')|//[^\n]*|/\*.*?\*/', re.S)
VERSION = re.compile(r"interface_version = (\d+);")


def code_of(source: str):
    """The code without comments and white space. The version is recorded by itself."""
    code = VERSION.sub("", TEXT_OR_COMMENT.sub(lambda found: found[1] or " ", source))
    return " ".join(re.findall(r"\w+|\S", code))


def public_headers():
    listed = re.sub(r"#.*", "", (ROOT / "cmake/PublicHeaders.cmake").read_text())
    patterns = re.findall(r"(?:\$\{PROJECT_SOURCE_DIR\}/)?([\w*]+(?:/[\w*]+)+\.hpp)", listed)
    return sorted({file.relative_to(ROOT).as_posix() for pattern in patterns for file in ROOT.glob(pattern)})


# Without data of their own: interfaces, of which the version counts the functions, and exceptions.
NOT_IN_STAMP = {"DataError", "Interpreter", "PrecisionScope", "Split", "StateError", "Stateful", "TrackerUnavailable", "Weights"}


def missing_in_stamp():
    """Types of the contracts whose size a plugin's stamp does not tell. Those of a kind are added by its name."""
    stamp = (ROOT / "runner/plugins/stamp.hpp").read_text()
    known = {*re.findall(r'add\("(\w+)"', stamp), *NOT_IN_STAMP}
    for kind in re.findall(r"add_kind<(\w+)Kind>", stamp):
        known |= {kind, *(kind + part for part in ("Kind", "Inputs", "Common", "Facts"))}
    for name in public_headers():
        if name.startswith("components/"):
            types = re.findall(r"^(?:class|struct) (\w+)[^;{]*\{", TEXT_OR_COMMENT.sub("", (ROOT / name).read_text()), re.M)
            yield from (f"{name}: {type}" for type in types if type not in known)


def current():
    version = VERSION.search((ROOT / "registry/component.hpp").read_text())[1]
    hashes = {name: hashlib.sha256(code_of((ROOT / name).read_text()).encode()).hexdigest()[:16] for name in public_headers()}
    return {"interface_version": version, **hashes}


def self_test():
    plain = "int f(int a); // one\n"
    assert code_of(plain) == code_of("int  f( int a )\n; /* two\n */")
    assert code_of(plain) != code_of("int f(long a);")
    assert code_of('"// text"') != code_of('"// other"')
    assert code_of("interface_version = 1;") == code_of("interface_version = 2;")


def main():
    self_test()
    now = current()
    if "--update" in sys.argv:
        GOLDEN.write_text("".join(f"{name} {value}\n" for name, value in now.items()))
    recorded = dict(line.split() for line in GOLDEN.read_text().splitlines())
    changed = sorted(name for name in {*now, *recorded} if now.get(name) != recorded.get(name))
    if changed:
        print(f"changed: {', '.join(changed)}\n{__doc__}")
    unknown = list(missing_in_stamp())
    if unknown:
        print("add to own_stamp() in runner/plugins/stamp.hpp:", *unknown, sep="\n  ")
    return 1 if changed or unknown else 0


if __name__ == "__main__":
    sys.exit(main())
