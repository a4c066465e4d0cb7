"""Run folders of strangers: records that are endless, that keep a reader waiting, or that lead elsewhere."""

import json
import os

from hostile_files import ESCAPE, hostile, recipe

MADE = """
[model]
name = "mlp"
hidden = [8]
[dataset]
name = "synthetic"
shape = [16]
train = 64
eval = 16
[optimizer]
name = "sgd"
lr = 0.1
[train]
max_steps = 4
[[tracker]]
name = "csv"
"""
READERS = (["report"], ["watch", "--once"], ["verify"], ["resume"], ["track"])


def run_folder(folder):
    run = folder / "run"
    (run / "tracking").mkdir(parents=True)
    (run / "recipe.toml").write_text(MADE)
    return run


def commands(run, words=READERS):
    return [[*each, run] for each in words]


for name in ("metrics.jsonl", "log.txt", "texts.jsonl", "result.json", "STAND-IN-DATA.txt", "run.json"):
    def endless(folder, name=name):
        run = run_folder(folder)
        (run / name).symlink_to("/dev/zero")
        return commands(run)

    def waiting(folder, name=name):
        run = run_folder(folder)
        os.mkfifo(run / name)
        return commands(run)

    endless.__name__, waiting.__name__ = f"endless_{name}", f"pipe_{name}"
    hostile("is a link that leaves the run folder")(endless)
    hostile("is a pipe")(waiting)


def sparse(path, size):
    path.touch()
    os.truncate(path, size)


@hostile("has a line of more than")
def sparse_metrics(folder):
    run = run_folder(folder)
    sparse(run / "metrics.jsonl", 4 << 30)
    return commands(run, (["watch", "--once"], ["resume"]))


@hostile("is not read", accepted=True)
def sparse_records(folder):
    run = run_folder(folder)
    for name in ("metrics.jsonl", "log.txt", "texts.jsonl", "STAND-IN-DATA.txt"):
        sparse(run / name, 4 << 30)
    return [["report", run, "-o", folder / "page.html"], ["runs", folder]]


@hostile("is not read", accepted=True)
def links_in_a_list(folder):
    run = run_folder(folder)
    (run / "metrics.jsonl").symlink_to("/dev/zero")
    (run / "STAND-IN-DATA.txt").symlink_to("/etc/passwd")
    return [["runs", folder], ["runs", folder, "--json"]]


@hostile("", accepted=True)
def a_long_line_in_front(folder):
    """A line of 40 MB is skipped as fast as it is read."""
    run = run_folder(folder)
    (run / "metrics.jsonl").write_text('{"step":1,"note":"' + "x" * 40_000_000 + '"}\n')
    return [["resume", run]]


@hostile("", accepted=True)
def a_long_unfinished_line(folder):
    run = run_folder(folder)
    (run / "metrics.jsonl").write_text('{"step":1,"epoch":0.5,"time":1}\n' + "x" * 40_000_000)
    return [["resume", run]]


@hostile("hidden", accepted=True)
def directions_in_names(folder):
    run = run_folder(folder)
    (run / "recipe.toml").write_text(MADE + '[run]\nname = "hidden\u009b31m\u202egnp.exe\u2066"\n')
    return [["runs", folder, "--json"], ["runs", folder]]


@hostile('a recipe needs "model"')
def extends_the_kernel_log(folder):
    return [["check", recipe(folder, 'extends = "/proc/kmsg"\n')]]

