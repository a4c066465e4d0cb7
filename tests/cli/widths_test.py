"""Tables and curves on terminals of several widths, with and without colours and UTF-8, and with names of wide characters."""

import re
import subprocess
import sys
import tempfile
import unicodedata
import unittest
from pathlib import Path

from program import BINARY, ROOT, Terminal, environment

WIDE = "形状🚀e\u0301"  # the last letter is an e and an accent that takes no column of its own
COMMANDS = (["runs"], ["compare", "runs"], ["diff", f"runs/{WIDE}/one", "runs/plain/two"], ["checkpoints", f"runs/{WIDE}/one"],
            ["watch", f"runs/{WIDE}/one", "--once"])


def columns(text):
    """What a terminal needs for it."""
    return sum(0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def train(folder, name, run):
    subprocess.run([BINARY, ROOT / "recipes/shapes.toml", f"run.name={name}", f"run.dir={run}", "dataset.train=64", "dataset.eval=32",
                    "loader.batch_size=16", "train.epochs=2", "train.log_every=1step", "checkpoint.every=1ep"],
                   cwd=folder, env=environment(OMP_NUM_THREADS="1"), check=True, capture_output=True)


class Widths(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.scratch.name)
        train(cls.folder, WIDE, f"runs/{WIDE}/one")
        train(cls.folder, "plain", "runs/plain/two")

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def screen(self, width, arguments, **variables):
        words = " ".join(f"'{word}'" for word in arguments)
        code, text = Terminal(["sh", "-c", f"stty cols {width}; exec {BINARY} {words}"], cwd=self.folder, **variables).read_to_end()
        self.assertEqual(code, 0, text)
        return text.replace("\r\n", "\n")

    def lines(self, width, arguments, **variables):
        return re.sub(r"\x1b\[[\d;]*m", "", self.screen(width, arguments, **variables)).splitlines()

    def test_no_line_is_wider_than_the_terminal(self):
        for width in (40, 60, 80, 120):
            for arguments in COMMANDS:
                for variables in ({}, {"NO_COLOR": "1"}, {"LC_ALL": "C"}):
                    for line in self.lines(width, arguments, **variables):
                        self.assertLessEqual(columns(line), width, (arguments, variables, line))

    def test_no_color_and_the_c_locale(self):
        for arguments in COMMANDS:
            self.assertNotIn("\x1b", self.screen(80, arguments, NO_COLOR="1"), arguments)
            text = "".join(self.lines(60, arguments, LC_ALL="C"))
            for character in set(text) - set(WIDE):
                self.assertTrue(character.isascii(), (arguments, character, text))

    def test_a_pipe_gets_everything_in_one_line(self):
        done = subprocess.run([BINARY, "runs"], cwd=self.folder, env=environment(), capture_output=True, text=True, check=True)
        header, *rows = done.stdout.splitlines()
        self.assertEqual(header.split(), ["name", "status", "steps", "best", "duration", "when", "folder"])
        self.assertEqual(len(rows), 2)
        self.assertNotIn("\x1b", done.stdout)

    def test_wide_names_are_aligned(self):
        header, *rows = self.lines(120, ["runs"])
        self.assertEqual({columns(row[:row.index("finished")]) for row in rows}, {header.index("status")}, rows)
        header, *rows = self.lines(120, ["compare", "runs"])
        full = [columns(row) for row in [header, *rows] if row.startswith((" ", "\t")) and len(row.split()) >= 3]
        self.assertGreater(len(full), 3)
        self.assertEqual(len(set(full)), 1, "values end in the same column")

    def test_a_narrow_terminal_shows_the_folder_above_the_rest(self):
        header, first, second, *_ = self.lines(40, ["runs"])
        self.assertIn("status", header)
        self.assertEqual({first} & {f"runs/{WIDE}/one", "runs/plain/two"}, {first})
        self.assertRegex(second, r"^  +finished")

    def test_a_wide_name_is_shortened_between_characters(self):
        train(self.folder, "形" * 60, "long")
        for width in (40, 60):
            for arguments in (["compare", "long", "runs/plain/two"], ["watch", "long", "--once"]):
                lines = self.lines(width, arguments)
                self.assertTrue(any("形…" in line for line in lines), lines)
                self.assertLessEqual(max(map(columns, lines)), width, lines)


if __name__ == "__main__":
    if not BINARY.exists():
        print(f"skipped: {BINARY} is not built")
        sys.exit(77)
    unittest.main()
