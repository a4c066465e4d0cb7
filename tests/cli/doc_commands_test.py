"""The commands in README and docs/ do what the pages say: every sh block is run, every console block is compared with its output.

A block that cannot be run has a comment before it that says why: <!-- not run: needs several machines -->. One with <!-- needs torch --> is
run if the tests' Python has torch. A TOML or Python block whose first line is `# NAME.toml` or `# NAME.py` is written to that file; what a page takes for granted (recipes, data, runs with certain names) is made here, small enough that
all of it takes seconds. With arguments: only the pages whose names contain one of them.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import markdown
from program import BINARY, ROOT, environment

PYTHON = ROOT / ".deps/venv/bin/python3"
HAS_TORCH = PYTHON.exists() and subprocess.run([PYTHON, "-c", "import torch, numpy"], capture_output=True).returncode == 0
IMAGES = ROOT / "tests/components/images/images"

# Recipes under the names that the pages use, on little data.
SMALL = {
    "shapes": {"dataset.train": 96, "dataset.eval": 32, "loader.eval_batch_size": 32, "train.epochs": 2},
    "cifar10": {"model.name": '"simple_cnn"', "dataset.name": '"shapes"', "dataset.train": 96, "dataset.eval": 32, "loader.batch_size": 32,
                "train.epochs": 2},
    "shakespeare_gpt": {"model.layers": 1, "model.heads": 2, "model.width": 16, "dataset.length": 16, "train.max_steps": 2,
                        "dataset.file": '"verse.txt"', "dataset.train_limit": 32, "dataset.eval_limit": 8, "scheduler.warmup": '"0step"'},
    "sign_digits": {"dataset.dir": '"../photos"', "dataset.split": 0.5, "train.epochs": 1},
    "adult_tabular": {"dataset.train": '"../people.csv"', "dataset.eval": '"../people.csv"', "dataset.columns": "[]", "dataset.target": '"buys"',
                      "dataset.ignore": "[]", "dataset.comment": '""', "train.epochs": 1, "model.hidden": "[4]"},
}
PEOPLE = "age,job,buys\n31,cook,yes\n45,pilot,no\n27,cook,yes\n60,nurse,no\n38,pilot,no\n29,nurse,yes\n"
RUNS = {"runs/shapes/20260131-120000": "shapes", "runs/shapes/20260131-130000": "shapes", "runs/sgd": "shapes", "runs/adamw": "shapes",
        "runs/shakespeare_gpt/20260131-120000": "shakespeare_gpt", "runs/sign_digits/20260131-120000": "sign_digits",
        "runs/adult_tabular/20260131-120000": "adult_tabular"}


def small_recipe(name, settings):
    lines = [f'extends = "{ROOT}/recipes/{name}.toml"']
    for key, value in settings.items():
        section, name = key.split(".")
        if f"[{section}]" not in lines:
            lines.append(f"[{section}]")
        lines.insert(lines.index(f"[{section}]") + 1, f"{name} = {value}")
    return "\n".join(lines) + "\n"


class Scratch:
    """A folder in which the commands of the pages make sense."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "bin").mkdir()
        (folder / "bin/runner").symlink_to(BINARY)
        if HAS_TORCH:
            (folder / "bin/python3").write_text(f'#!/bin/sh\nexec {PYTHON} "$@"\n')
            (folder / "bin/python3").chmod(0o755)
        (folder / "scripts").symlink_to(ROOT / "scripts")
        (folder / "recipes").mkdir()
        for name, settings in SMALL.items():
            (folder / f"recipes/{name}.toml").write_text(small_recipe(name, settings))
        (folder / "my.toml").write_text('extends = "recipes/shapes.toml"\n')
        (folder / "RECIPE").write_text('extends = "recipes/shapes.toml"\n[loader]\nbatch_size = 1\n')  # many short steps
        (folder / "recipes/verse.txt").write_text("ROMEO: To be, or not to be: that is the question.\n" * 40)
        (folder / "people.csv").write_text(PEOPLE)
        (folder / "rows.txt").write_text("33,cook\n51,pilot\n")
        for kind, image in (("cat", "colour.jpg"), ("dog", "grey.jpg")):
            (folder / "photos" / kind).mkdir(parents=True)
            for number in range(4):
                shutil.copy(IMAGES / image, folder / "photos" / kind / f"{number}.jpg")
        for name in ("photo.jpg", "hand.jpg"):
            shutil.copy(IMAGES / "colour.jpg", folder / name)

    def bash(self, script):
        """What the script prints, on both streams, and how it ends."""
        path = f"{self.folder}/bin:{os.environ['PATH']}"
        done = subprocess.run(["bash", "-eu", "-o", "pipefail", "-c", script], cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=300, stdin=subprocess.DEVNULL,
                              env=environment(PATH=path, HOME=str(self.folder), SCRATCH=str(self.folder), RUNNER_RUN__THREADS="1"))
        return done.returncode, done.stdout

    def make_runs(self):
        """Those that the pages speak of; RUN is one of them."""
        for folder, recipe in RUNS.items():
            code, output = self.bash(f"runner recipes/{recipe}.toml run.dir={folder}")
            assert code == 0, output
        (self.folder / "RUN").symlink_to("runs/shapes/20260131-120000")
        code, output = self.bash("runner export RUN -o model.safetensors && cp model.safetensors changed.safetensors")
        assert code == 0, output


def missing_line(expected, output):
    """The first line of a console block that the output does not have, in order; ".." stands for anything."""
    lines = [line.strip() for line in output.splitlines()]
    for line in expected:
        pattern = re.compile(".*".join(re.escape(part) for part in line.strip().split("..")))
        while lines and not pattern.fullmatch(lines[0]):
            lines.pop(0)
        if not lines:
            return line
        lines.pop(0)
    return None


def problem_with_console(block, scratch):
    commands, expected = [], []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            commands.append((line[2:], []))
        elif line.strip() and line.strip() != "..":
            commands[-1][1].append(line)
    for command, expected in commands:
        _, output = scratch.bash(command)
        line = missing_line(expected, output)
        if line is not None:
            return f"{command}\ndoes not print: {line}\nbut:\n{output}"
    return None


def problem_with(block, scratch):
    if block.comment.startswith("not run:"):
        return None if len(block.comment) > len("not run: ") else "the reason is missing"
    if block.comment == "needs torch" and not HAS_TORCH:
        return None
    if block.language in ("toml", "python"):
        name = re.match(r"# ([\w/-]+\.(?:toml|py))\n", block.text)
        if name:
            (scratch.folder / name[1]).write_text(block.text)
    elif block.language == "console":
        return problem_with_console(block, scratch)
    elif block.language == "sh":
        code, output = scratch.bash(block.text)
        return None if code == 0 else f"{block.text}ends with {code}:\n{output}"
    return None


def main(wanted):
    if not BINARY.exists():
        print(f"skipped: {BINARY} is not built")
        return 77
    count, failed = 0, False
    with tempfile.TemporaryDirectory() as folder:
        scratch = Scratch(Path(folder))
        scratch.make_runs()
        for page in markdown.pages():
            if wanted and not any(word in page.name for word in wanted):
                continue
            for block in markdown.blocks(page):
                count += block.language in ("sh", "console") and not block.comment.startswith("not run:")
                problem = problem_with(block, scratch)
                if problem:
                    print(f"{block.place}: {problem}\n", flush=True)
                    failed = True
    print(f"{count} blocks of commands were run")
    return 1 if failed or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
