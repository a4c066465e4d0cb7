"""Every installed header compiles alone, with nothing but the installation and LibTorch on the include path.

LibTorch's headers take most of the time, so ours that include some of them are compiled together, from the last to the first: headers
that others need, such as those of the registry, come late. With RUNNER_THOROUGH=1 each is compiled alone.
"""

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(os.environ.get("RUNNER_SOURCE_DIR", Path(__file__).parents[2]))
BINARY_DIR = Path(os.environ.get("RUNNER_BINARY_DIR", ROOT / "build/release"))
PREFIX = BINARY_DIR / "public-headers"
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)


def reaches_torch(header, folder, seen):
    """Whether it includes something of LibTorch, itself or through another of our headers."""
    if re.match(r"(torch|ATen|c10)/", str(header)):
        return True
    if header in seen or not (folder / header).exists():
        return False
    seen.add(header)
    return any(reaches_torch(name, folder, seen) for name in INCLUDE.findall((folder / header).read_text()))


def compile_alone(headers, folder, flags):
    source = PREFIX / "sources" / (str(headers[0]).replace("/", "_") + ".cpp")
    source.write_text("".join(f'#include "{header}"\n' for header in headers * 2))  # the second time must be without effect
    return subprocess.run(["clang++-19", "-fsyntax-only", source, "-I", folder, *flags], capture_output=True, text=True)


def main():
    if not shutil.which("clang++-19"):
        print("skipped: clang++-19 is not installed")
        return 77
    shutil.rmtree(PREFIX / "include", ignore_errors=True)
    subprocess.run(["cmake", "--install", BINARY_DIR, "--prefix", PREFIX], check=True, stdout=subprocess.DEVNULL)
    folder = PREFIX / "include/runner"
    headers = sorted(path.relative_to(folder) for path in folder.rglob("*.hpp"))
    listed = re.sub(r"#.*", "", (ROOT / "cmake/PublicHeaders.cmake").read_text())
    declared = re.findall(r"\w+/\S+\.hpp", listed)
    missing = [name for name in declared if "*" not in name and not (folder / name).exists()]
    assert headers and not missing, missing
    torch = re.search(r"^torch=(.*)$", next(PREFIX.rglob("runner.pc")).read_text(), re.M)[1]
    flags = ["-std=c++20", "-DNDEBUG", '-DRUNNER_VERSION="0"', "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O0", "-isystem", f"{torch}/include",
             "-isystem", f"{torch}/include/torch/csrc/api/include"]
    (PREFIX / "sources").mkdir(exist_ok=True)
    with_torch = [] if os.environ.get("RUNNER_THOROUGH") else [name for name in headers if reaches_torch(name, folder, set())]
    units = [with_torch[::-1]] if with_torch else []
    units += [[header] for header in headers if header not in with_torch]
    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(lambda unit: compile_alone(unit, folder, flags), units))
    broken = [(", ".join(map(str, unit)), outcome.stderr) for unit, outcome in zip(units, outcomes) if outcome.returncode != 0]
    for names, said in broken:
        print(f"{names}: cannot be included by another program:\n{said}")
    print(f"{len(headers)} public headers, {len(broken)} of {len(units)} files that include them do not compile")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
