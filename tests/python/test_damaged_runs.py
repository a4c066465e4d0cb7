"""Run folders whose JSON files are damaged: every command says what is wrong in words of its own, with exit code 1 or 2, or does without the file."""

import json
import os
import pathlib
import random
import shutil
import subprocess

from run_helpers import RUNNER, THOROUGH, environment, main, run

TABLE = """
model = { name = "mlp", hidden = [4] }
dataset = { name = "csv", train = "table.csv", split = 0.25, target = "y", categories = "one_hot" }
optimizer = "sgd"
train = { epochs = 2, log_every = "1step" }
loader = { batch_size = 8 }
checkpoint = { best = { metric = "eval/loss" } }
"""
TEXT = """
model = "text_mean"
dataset = { name = "text_classification", files = { good = "good.txt", bad = "bad.txt" }, split = 0.5, length = 8 }
optimizer = "sgd"
train = { epochs = 1 }
"""
LIBRARY_WORDS = ("json.exception", "nlohmann", "[json", "parse error at", "type_error", "out_of_range", "frame #", "std::", "bad_alloc", "basic_string", "stoll", "vector::")
WRONG_VALUES = (None, True, -1, 1e308, 99999999999999999999, "x", "", [], [[]], {}, {"a": 1}, ["a", 1])


def trained(folder, recipe):
    (folder / "table.csv").write_text("a,b,y\n" + "".join(f"{i % 7},{'uv'[i % 2]},{i % 3}\n" for i in range(60)))
    (folder / "good.txt").write_text("what a fine day\na fine film\n" * 4)
    (folder / "bad.txt").write_text("what a poor day\na poor film\n" * 4)
    (folder / "recipe.toml").write_text(recipe)
    run("recipe.toml", f"run.dir={folder}/whole", cwd=folder)
    return folder / "whole"


def damages(text, chance):
    """The text cut off, garbled and emptied; and each entry missing, or of another kind."""
    yield from ("", "{", "[]", "null", "{}", text[: len(text) // 2], text.replace(":", ";", 1), "\x00" * 40, "[" * 5000)
    for _ in range(8):
        place = chance.randrange(len(text))
        yield text[:place] + chance.choice('{}[],:"0\n-\\') + text[place + 1 :]
    for path in paths(json.loads(text)):
        for value in ("remove", *chance.sample(WRONG_VALUES, 2)):
            changed = json.loads(text)
            holder = changed
            for key in path[:-1]:
                holder = holder[key]
            if value == "remove":
                del holder[path[-1]]
            else:
                holder[path[-1]] = value
            yield json.dumps(changed)


def paths(value, path=()):
    if path:
        yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ():
        yield from paths(inner, (*path, key))


def commands(folder, given):
    yield ["predict", folder, given]
    yield ["eval", folder]
    yield ["runs", folder.parent]
    yield ["report", folder, "-o", folder.parent / "report.html"]
    yield ["export", folder, "-o", folder.parent / "model.safetensors"]
    yield ["checkpoints", folder]
    yield ["resume", "--check", folder]
    yield ["resume", folder]


def concerned(file, command):
    """Commands that read the file; the rest is tried in the thorough run, with one damage."""
    readers = {"data_spec.json": ("predict", "eval"), "dataset.json": ("predict", "eval"), "result.json": ("runs", "report", "resume"),
               "run.json": ("runs", "report", "resume"), "manifest.json": ("checkpoints", "resume", "export"), "state.json": ("resume",), "data.json": ("resume",)}
    return command[0] in readers.get(file.name, (command[0],))


def check_all(folder, recipe, given, only=None):
    whole = trained(folder, recipe)
    chance = random.Random(1)
    files = sorted(path.relative_to(whole) for path in whole.rglob("*.json") if "latest" not in path.parts)
    assert {"data_spec.json", "result.json", "dataset.json"} <= {str(file) for file in files}, files
    for file in files if THOROUGH or not only else map(pathlib.Path, only):
        text = (whole / file).read_text()
        tried = list(damages(text, chance))
        few = tried[:1] + chance.sample(tried, min(len(tried), 40 if THOROUGH else 2))
        for number, damage in enumerate(few):
            runs = folder / "runs"
            shutil.rmtree(runs, ignore_errors=True)
            shutil.copytree(whole, runs / "run", symlinks=True)
            (runs / "run" / file).write_text(damage)
            for command in commands(runs / "run", given):
                if not concerned(file, command) and (number > 0 or not THOROUGH):
                    continue
                done = run(*command, check=False, cwd=folder)
                said = done.stdout + done.stderr
                assert done.returncode in (0, 1, 2), (file, damage[:200], command, done)
                assert not any(word in said for word in LIBRARY_WORDS), (file, damage[:200], command, said)
                if done.returncode != 0:
                    assert "error: " in said or "needs --force" in said or "has no complete checkpoint" in said, (file, damage[:200], command, said)


def a_run_on_a_table(folder):
    check_all(folder, TABLE, "3,u")


def a_run_on_texts(folder):
    check_all(folder, TEXT, "a fine day", only=["data_spec.json", "dataset.json"])  # the others are as those of a table


def what_describes_the_data_is_named_with_the_remedy(folder):
    run_folder = trained(folder, TABLE)
    for name, damage, why in (("data_spec.json", '{"input_shape": 3}', '"input_shape" is of the wrong kind'), ("data_spec.json", "{", "it is not valid JSON"),
                              ("dataset.json", '{"columns": 3}', "an entry is missing or of the wrong kind"), ("dataset.json", "[", "it is not valid JSON")):
        before = (run_folder / name).read_text()
        (run_folder / name).write_text(damage)
        done = run("predict", run_folder, "3,u", check=False, cwd=folder)
        assert done.returncode == 1 and f"{run_folder}/{name}" in done.stderr and why in done.stderr and f"runner resume {run_folder}" in done.stderr, done
        run("resume", run_folder, cwd=folder)
        assert (run_folder / name).read_text() == before  # the remedy helps
        run("predict", run_folder, "3,u", cwd=folder)


def a_pipe_in_place_of_a_file_is_refused(folder):
    """Opening one would wait for a process that writes to it."""
    run_folder = trained(folder, TABLE)
    for name in (".lock", "metrics.jsonl", "log.txt", "started_from.txt", "data_spec.json", "dataset.json"):
        file = run_folder / name
        before = file.read_bytes() if file.exists() else None
        file.unlink(missing_ok=True)
        os.mkfifo(file)
        for command in (["predict", run_folder, "3,u"], ["resume", run_folder], ["recipe.toml", f"run.dir={run_folder}"]):
            done = subprocess.run([RUNNER, *map(str, command)], capture_output=True, text=True, env=environment(), cwd=folder, timeout=60)
            assert done.returncode in (1, 2) and f"{file} is a pipe" in done.stderr, (name, command, done)
        file.unlink()
        if before is not None:
            file.write_bytes(before)
    run("predict", run_folder, "3,u", cwd=folder)


if __name__ == "__main__":
    main([what_describes_the_data_is_named_with_the_remedy, a_pipe_in_place_of_a_file_is_refused, a_run_on_a_table, a_run_on_texts])
