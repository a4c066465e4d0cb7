"""The pages that people read, and the code blocks in them."""

import re
from dataclasses import dataclass
from pathlib import Path

from program import ROOT


@dataclass
class Block:
    page: Path
    line: int
    language: str
    text: str
    comment: str  # the HTML comment right before it, or nothing

    @property
    def place(self):
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages():
    """README, CONTRIBUTING, CHANGELOG and everything in docs/, written by hand or by the program."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page):
    """The fenced code blocks of a page, in order."""
    found, comment, begun = [], "", None
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if begun:
            if line.strip() == "```":
                found.append(begun)
                begun, comment = None, ""
            else:
                begun.text += line + "\n"
        elif line.startswith("```"):
            begun = Block(page, number, line[3:].strip(), "", comment)
        elif match := re.fullmatch(r"<!--\s*(.*?)\s*-->", line.strip()):
            comment = match[1]
        elif line.strip():
            comment = ""
    return found


def without_code(text):
    """A page without its code blocks and inline code, where a bracket is no link and a # no heading."""
    return re.sub(r"`[^`\n]*`", "``", re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE))


def anchors(page):
    """What a link may name after #, as GitHub makes it of headings."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    names = []
    for heading in re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        names.append(re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-"))
    return names


def links(page):
    """Targets of links and pictures that are not on the web."""
    targets = re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text()))
    return [target for target in targets if not re.match(r"[a-z]+:", target)]
