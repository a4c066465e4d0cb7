"""Our libraries export namespace runner and nothing else: not the code of third-party headers that is compiled into them."""

import os
import subprocess
import sys
from pathlib import Path

BINARY_DIR = Path(os.environ.get("RUNNER_BINARY_DIR", Path(__file__).parents[1] / "build/release"))
LIBRARIES = ["registry", "recipe", "components", "engine", "core"]


def main():
    failures = 0
    for name in LIBRARIES:
        library = BINARY_DIR / f"lib/librunner_{name}.so"
        lines = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout.splitlines()
        symbols = [line.split()[-1] for line in lines]
        # The namespace as the compiler mangles it; the program looks for its entry by name.
        foreign = [symbol for symbol in symbols if "6runner" not in symbol and (name, symbol) != ("core", "runner_main")]
        if foreign or not symbols:
            failures += 1
            print(f"{library.name} exports {len(foreign)} of {len(symbols)} symbols outside namespace runner: {foreign[:5]}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
