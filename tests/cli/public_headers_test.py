"""Every installed header compiles alone, with nothing but the installation and LibTorch on the include path."""

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(os.environ.get("RUNNER_SOURCE_DIR", Path(__file__).parents[2]))
BINARY_DIR = Path(os.environ.get("RUNNER_BINARY_DIR", ROOT / "build/release"))
# Always the same place, so that the compiler cache knows it again.
PREFIX = BINARY_DIR / "public-headers"


def compile_alone(header, folder, flags, compiler):
    source = PREFIX / "sources" / (str(header).replace("/", "_") + ".cpp")
    source.parent.mkdir(exist_ok=True)
    text = f'#include "{header}"\n#include "{header}"\n'  # the second time must be without effect
    if not source.exists() or source.read_text() != text:
        source.write_text(text)
    command = [*compiler, "-c", source, "-o", source.with_suffix(".o"), "-I", folder, *flags]
    return subprocess.run(command, capture_output=True, text=True)


def main():
    if not shutil.which("clang++-19"):
        print("skipped: clang++-19 is not installed")
        return 77
    shutil.rmtree(PREFIX / "include", ignore_errors=True)
    subprocess.run(["cmake", "--install", BINARY_DIR, "--prefix", PREFIX], check=True, stdout=subprocess.DEVNULL)
    folder = PREFIX / "include/runner"
    headers = sorted(path.relative_to(folder) for path in folder.rglob("*.hpp"))
    declared = re.findall(r"\w+/\S+\.hpp", (ROOT / "cmake/PublicHeaders.cmake").read_text())
    missing = [name for name in declared if "*" not in name and not (folder / name).exists()]
    assert headers and not missing, missing
    torch = re.search(r"^torch=(.*)$", next(PREFIX.rglob("runner.pc")).read_text(), re.M)[1]
    flags = ["-std=c++20", "-DNDEBUG", '-DRUNNER_VERSION="0"', "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O0", "-isystem", f"{torch}/include",
             "-isystem", f"{torch}/include/torch/csrc/api/include"]
    compiler = (["ccache"] if shutil.which("ccache") else []) + ["clang++-19"]
    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(lambda header: compile_alone(header, folder, flags, compiler), headers))
    broken = [(header, outcome.stderr) for header, outcome in zip(headers, outcomes) if outcome.returncode != 0]
    for header, said in broken:
        print(f"{header} does not compile alone:\n{said}")
    print(f"{len(headers) - len(broken)} of {len(headers)} public headers compile alone")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
