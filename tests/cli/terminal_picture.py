"""Draws docs/run.svg: what a terminal shows of a real run of recipes/shapes.toml. By hand, on an idle machine, after the output has changed."""

import re
import tempfile
from html import escape
from pathlib import Path

from program import BINARY, ROOT, Terminal

COLUMNS, LINE, MARGIN, LETTER = 100, 18, 16, 8.43
PLAIN = {"fill": "#e6edf3"}
STYLES = {"1": {"fill": "#ffffff", "font-weight": "bold"}, "2": {"fill": "#8b949e"}, "31": {"fill": "#ff7b72"}, "32": {"fill": "#7ee787"},
          "33": {"fill": "#d29922"}, "36": {"fill": "#79c0ff"}}


def screen_of(command, folder):
    """The lines that are left on the terminal: a live line is replaced by what is drawn over it."""
    terminal = Terminal(["sh", "-c", f"stty cols {COLUMNS}; exec {command}"], cwd=folder)
    code, text = terminal.read_to_end()
    assert code == 0, text
    lines = []
    for line in text.replace("\r\n", "\n").split("\n"):
        lines.append(re.split(r"\r(?:\x1b\[K)?|\x1b\[2K", line)[-1].replace("\x1b[K", ""))
    return lines


def spans(line):
    """Pieces of a line, each with its style."""
    style, column = PLAIN, 0
    for piece in re.split(r"(\x1b\[[\d;]*m)", line):
        if match := re.fullmatch(r"\x1b\[([\d;]*)m", piece):
            codes = [code for code in match[1].split(";") if code in STYLES]
            style = STYLES[codes[-1]] if codes else PLAIN
        elif piece:
            attributes = dict(style)
            if not piece.isascii():  # a browser may take these from another font, with other widths
                attributes["x"] = " ".join(f"{MARGIN + LETTER * (column + i):.1f}" for i in range(len(piece)))
            column += len(piece)
            text = " ".join(f'{name}="{value}"' for name, value in attributes.items())
            yield f"<tspan {text}>{escape(piece)}</tspan>"


def picture(command, lines):
    width, height = round(COLUMNS * LETTER) + 2 * MARGIN, LINE * (len(lines) + 1) + 2 * MARGIN
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
           '<rect width="100%" height="100%" rx="8" fill="#0d1117"/>',
           '<g font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14">']
    for number, line in enumerate([f"\x1b[2m$ {command}\x1b[0m", *lines]):
        text = "".join(spans(line))
        out.append(f'<text x="{MARGIN}" y="{MARGIN + 14 + LINE * number}" xml:space="preserve">{text}</text>')
    return "\n".join([*out, "</g></svg>", ""])


def main():
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "recipes").symlink_to(ROOT / "recipes")
        lines = screen_of(f"{BINARY} recipes/shapes.toml", folder)
    while lines and not lines[-1].strip():
        lines.pop()
    (ROOT / "docs/run.svg").write_text(picture("runner recipes/shapes.toml", lines))


if __name__ == "__main__":
    main()
