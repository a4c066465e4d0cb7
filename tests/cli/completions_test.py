"""Completion in the shells themselves: keys are typed, and what the shell makes of them is read."""

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from program import BINARY, Terminal, environment

RECIPE = """
[model]
name = "simple_cnn"
[dataset]
name = "shapes"
[optimizer]
name = "sgd"
[train]
epochs = 1
[[tracker]]
name = "tensorboard"
"""

# What is typed before the tab -> what the line has become. Each has one candidate, so shells agree on it.
UNIQUE = {
    "runner desc": "runner describe ",
    "runner list opt": "runner list optimizer ",
    "runner describe optimizer sg": "runner describe optimizer sgd ",
    "runner describe section chec": "runner describe section checkpoint ",
    "runner completions zs": "runner completions zsh ",
    "runner show min": "runner show mine.toml ",
    "runner min": "runner mine.toml ",
    "runner show mine.toml --orig": "runner show mine.toml --origins ",
    "runner mine.toml run.determ": "runner mine.toml run.deterministic=",
    "runner mine.toml run.deterministic=tr": "runner mine.toml run.deterministic=true ",
    "runner mine.toml loader.on_error=sk": "runner mine.toml loader.on_error=skip ",
    "runner run mine.toml optimizer.nest": "runner run mine.toml optimizer.nesterov=",
    "runner check mine.toml optimizer=adamw optimizer.amsg": "runner check mine.toml optimizer=adamw optimizer.amsgrad=",
    "runner mine.toml model=resnet3": "runner mine.toml model=resnet3",  # two of them: 32 and 34
    "runner mine.toml tracker.0.logg": "runner mine.toml tracker.0.logging_dir=",
    "runner mine.toml tracker+=tens": "runner mine.toml tracker+=tensorboard ",
    "runner new --optimizer sg": "runner new --optimizer sgd ",
}


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        (Path(self.folder.name) / "mine.toml").write_text(RECIPE)
        self.path = f"{BINARY.parent}:{environment()['PATH']}"

    def typed_line(self, terminal, typed):
        """The line after a tab, echoed by the shell. A marker shows where it ends: a space may or may not follow the word."""
        terminal.type(typed + "\t@END")
        terminal.type("\x01echo 'LI''NE: \x05'\r")  # to its beginning, echo before it; to its end. Only the output spells LINE
        terminal.read_until("LINE: ")
        return terminal.read_until("\n").rstrip()

    def try_all(self, terminal):
        for typed, expected in UNIQUE.items():
            with self.subTest(typed):
                self.assertEqual(self.typed_line(terminal, typed), f"{expected}@END")
        terminal.type("exit\r")
        terminal.read_to_end()


def have(shell):
    return unittest.skipUnless(shutil.which(shell), f"no {shell}")


class Bash(Folder):
    @have("bash")
    def test_words_are_completed(self):
        bash = Terminal(["bash", "--norc", "--noprofile", "-i"], cwd=self.folder.name, PATH=self.path, PS1="$ ", HISTFILE="/dev/null")
        bash.type("source <(runner completions bash); bind 'set bell-style none'; bind 'set enable-bracketed-paste off'\r")
        bash.type("echo READ''Y\r")
        bash.read_until("\nREADY")
        self.try_all(bash)


class Zsh(Folder):
    @have("zsh")
    def test_words_are_completed(self):
        zsh = Terminal(["zsh", "-f", "-i"], cwd=self.folder.name, PATH=self.path, PS1="$ ")
        zsh.type("autoload -U compinit; compinit -u -D; setopt interactivecomments no_beep; bindkey -e\r")
        zsh.type("source <(runner completions zsh)\r")
        zsh.type("echo READ''Y\r")
        zsh.read_until("\nREADY")
        self.try_all(zsh)


class Fish(Folder):
    @have("fish")
    def test_words_are_completed(self):
        script = "runner completions fish | source\n" + "".join(f"echo '> {typed}'; complete -C '{typed}'\n" for typed in UNIQUE)
        done = subprocess.run(["fish", "--no-config", "-c", script], cwd=self.folder.name, capture_output=True, text=True, timeout=600,
                              env=environment(PATH=self.path, HOME=self.folder.name))
        answers = done.stdout.split("> ")[1:]
        self.assertEqual(len(answers), len(UNIQUE), done.stderr)
        for answer, (typed, expected) in zip(answers, UNIQUE.items()):
            with self.subTest(typed):
                found = [line.split("\t")[0] for line in answer.splitlines()[1:]]
                wanted = expected.rstrip().split(" ")[-1]
                self.assertTrue(found and all(word.startswith(wanted) for word in found), found)
                if wanted != typed.split(" ")[-1]:
                    self.assertEqual(found, [wanted])


if __name__ == "__main__":
    if not BINARY.exists():
        print(f"skipped: {BINARY} is not built")
        sys.exit(77)
    unittest.main()
