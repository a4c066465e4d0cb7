"""The reference pages in docs/ are those that the program writes."""

import sys
import tempfile
from pathlib import Path

from program import BINARY, ROOT, run


def pages(folder):
    files = [*folder.glob("components/*.md"), folder / "recipe-reference.md"]
    return {file.relative_to(folder).as_posix(): file.read_text() if file.exists() else "" for file in files}


def main():
    if not BINARY.exists():
        print(f"skipped: {BINARY} is not built")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        done = run("docs", "--out", folder)
        assert done.returncode == 0, done.stderr
        written, kept = pages(Path(folder)), pages(ROOT / "docs")
    assert len(written) >= 11 and all(written.values())  # a page for each kind, and the recipe's
    stale = sorted(name for name in written.keys() | kept.keys() if written.get(name) != kept.get(name))
    for name in stale:
        print(f"docs/{name} is {'not what the program writes' if name in written else 'of a kind that is gone: delete it'}")
    if stale:
        print("bring them up to date with: build/release/bin/runner docs")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
