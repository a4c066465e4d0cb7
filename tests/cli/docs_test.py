"""The reference pages and the man page in docs/ are those that the program writes, and no link leads nowhere."""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import markdown
from program import BINARY, ROOT, run


def written_pages(folder):
    files = [*folder.glob("components/*.md"), folder / "recipe-reference.md", folder / "runner.1"]
    return {file.relative_to(folder).as_posix(): file.read_text() if file.exists() else "" for file in files}


def stale_pages():
    with tempfile.TemporaryDirectory() as folder:
        done = run("docs", "--out", folder)
        assert done.returncode == 0, done.stderr
        written, kept = written_pages(Path(folder)), written_pages(ROOT / "docs")
    assert len(written) >= 12 and all(written.values())  # a page for each kind, the recipe's and the man page
    for name in sorted(written.keys() | kept.keys()):
        if name not in written:
            yield f"docs/{name} is of a kind that is gone: delete it"
        elif written[name] != kept.get(name):
            yield f"docs/{name} is not what the program writes; build/release/bin/runner docs updates it"


def broken_links():
    for page in markdown.pages():
        for target in markdown.links(page):
            path, _, anchor = target.partition("#")
            file = page.parent / path if path else page
            if not file.exists():
                yield f"{page.relative_to(ROOT)}: {target} does not exist"
            elif anchor and file.suffix == ".md" and anchor not in markdown.anchors(file):
                yield f"{page.relative_to(ROOT)}: {target} names no heading"


def decisions_without_entry():
    index = (ROOT / "docs/decisions/README.md").read_text()
    for file in sorted((ROOT / "docs/decisions").glob("0*.md")):
        if f"({file.name})" not in index:
            yield f"docs/decisions/README.md does not list {file.name}"


WIDTH = 100
NOT_PROSE = re.compile(r"\s*(\||#|<|!\[|    )")


def long_lines():
    """Prose is wrapped, so that a change shows what it changed; tables, code and what the program writes are not."""
    written = {ROOT / "docs/recipe-reference.md", *(ROOT / "docs/components").glob("*.md")}
    for page in [*markdown.pages(), ROOT / "CHANGELOG.md", *(ROOT / "docs/decisions").glob("*.md")]:
        if page in written:
            continue
        code = False
        for number, line in enumerate(page.read_text().splitlines(), 1):
            code ^= line.strip().startswith("```")
            # A word, such as a link, may be longer than a line.
            if len(line) > WIDTH and not code and not NOT_PROSE.match(line) and " " in line[:WIDTH].strip("-* "):
                yield f"{page.relative_to(ROOT)}:{number}: {len(line)} columns; prose is wrapped at {WIDTH}"


def man_page_warnings():
    """What groff, which formats man pages on most systems, has to say about ours."""
    if not shutil.which("groff"):
        print("not checked: groff is not installed")
        return
    done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", ROOT / "docs/runner.1"], capture_output=True, text=True)
    yield from done.stderr.splitlines()
    if "runner launch" not in done.stdout.replace("‐", "-"):
        yield "the man page does not show `runner launch`"


def main():
    if not BINARY.exists():
        print(f"skipped: {BINARY} is not built")
        return 77
    problems = [*stale_pages(), *broken_links(), *decisions_without_entry(), *long_lines(), *man_page_warnings()]
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
