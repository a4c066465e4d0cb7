#!/usr/bin/env python3
"""Files as users have them, from `runner new` to `runner predict`: what is guessed is right or said, and the runs learn what there
is to learn."""

import csv
import gzip

import json
import math
import os
import random
import sys
import tempfile
from pathlib import Path

from program import run

DATA = os.environ.get("RUNNER_TEST_DATA")


def new(folder, task, data, *overrides):
    made = run("new", "--task", task, data, "-o", "made.toml", "-f", *overrides, cwd=folder)
    assert made.returncode == 0 and "does not fit" not in made.stderr, made
    return made.stderr


def train(folder, *overrides, into="done"):
    done = run("made.toml", f"run.dir={into}", *overrides, cwd=folder)
    assert done.returncode == 0, done
    return json.loads((folder / into / "result.json").read_text())


def measured(folder, *overrides, into="done"):
    """The last value of each metric."""
    train(folder, *overrides, into=into)
    records = [json.loads(line) for line in (folder / into / "metrics.jsonl").read_text().splitlines()]
    return {name: value for record in records for name, value in record.items() if name.startswith("eval/")}


def predictions(folder, *inputs):
    said = run("predict", "done", *inputs, "--format", "json", cwd=folder)
    assert said.returncode == 0, said
    return json.loads(said.stdout)


def write_csv(path, rows, **how):
    with open(path, "w", newline="") as file:
        csv.writer(file, **how).writerows(rows)


def houses(count=300):
    """A price that follows from the size: 500 per square metre, and from the age."""
    chance = random.Random(0)
    for _ in range(count):
        size, age = chance.randint(20, 200), chance.randint(0, 60)
        yield size, age, 500 * size - 100 * age


def us_thousands_are_no_decimals(folder):
    write_csv(folder / "homes.csv", [("size", "age", "price"), *((size, age, f"${price // 10:,}") for size, age, price in houses())])
    said = new(folder, "table", "homes.csv")
    assert 'dataset.thousands = ","' in said and 'the column to predict is "price"' in said, said
    found = measured(folder)
    assert found["eval/r2"] > 0.98, found
    value = predictions(folder, "100,10")[0]["values"][0]
    assert math.isclose(value, 4900, rel_tol=0.1), value


def missing_marks_do_not_make_categories(folder):
    for mark in ["#N/A", "None", "<NA>", "n/a", "-", ".", "ND", "NaN", "", "?", "\u00a0", "null", "#VALUE!"]:
        chance = random.Random(1)
        rows = [("a", "b", "kind")]
        for _ in range(200):
            a, b = chance.gauss(0, 1), chance.gauss(0, 1)
            rows.append((mark if chance.random() < 0.3 else f"{a:.3f}", mark if chance.random() < 0.2 else f"{b:.3f}", "up" if a > 0 else "down"))
        write_csv(folder / "marks.csv", rows)
        new(folder, "table", "marks.csv")
        seen = json.loads(run("data", "made.toml", "--json", cwd=folder).stdout)
        columns = {column["name"]: column for column in seen["columns"]}
        assert -4 < columns["a"]["min"] < -1 and 0.15 < columns["a"]["missing"] < 0.45 and "values" not in columns["a"], (mark, columns)


def numbers_are_refused_by_name_where_they_are_not_read(folder):
    """A recipe written by hand: the error names the setting, and with it the column is read."""
    recipe = ('model = "tabular"\noptimizer = "adamw"\ntrain = { max_steps = 2 }\n[dataset]\nname = "csv"\ntrain = "own.csv"\n'
              'split = 0.2\ntarget = "kind"\n')
    (folder / "hand.toml").write_text(recipe)
    cases = [("1\u00a0234", 'dataset.thousands = " "', 'dataset.thousands=" "'), ("5.251 g", 'dataset.units = ["g"]', 'dataset.units=["g"]'),
             ("$2,900", 'dataset.thousands = ",", dataset.units = ["$"]', 'dataset.thousands=, dataset.units=["$"]')]
    for cell, remedy, typed in cases:
        rows = [("x", "kind"), *((cell.replace("1", str(i + 1), 1) if i % 3 else "372", "ab"[i % 2]) for i in range(60))]
        write_csv(folder / "own.csv", rows)
        refused = run("hand.toml", "--dry-run", cwd=folder)
        assert refused.returncode == 2 and remedy in refused.stderr and "hand.toml:4:1" in refused.stderr, (cell, refused)
        words = [typed] if " dataset" not in typed else [typed.split(" ", 1)[0], typed.split(" ", 1)[1]]
        done = run("hand.toml", "--dry-run", *words, cwd=folder)
        assert done.returncode == 0, (cell, done)


def a_mistake_in_the_data_is_bad_input_of_every_command(folder):
    (folder / "hand.toml").write_text('model = "tabular"\noptimizer = "adamw"\ntrain = { max_steps = 2 }\n[dataset]\nname = "csv"\n'
                                      'train = "own.csv"\nsplit = 0.2\ntarget = "absent"\n')
    (folder / "own.csv").write_text("x,kind\n1,a\n2,b\n3,a\n4,b\n")
    for command in (["check", "--deep", "hand.toml"], ["hand.toml"]):
        refused = run(*command, cwd=folder)
        assert refused.returncode == 2 and "hand.toml:4:1: error: " in refused.stderr and 'no column "absent"' in refused.stderr, refused


def small_sets_get_enough_steps(folder):
    if not DATA:
        return print("iris: skipped, RUNNER_TEST_DATA is not set")
    lines = (Path(DATA) / "iris/iris.csv").read_text().splitlines()[1:]
    (folder / "iris.csv").write_text("a,b,c,d,kind\n" + "\n".join(lines) + "\n")
    new(folder, "table", "iris.csv")
    found = measured(folder)
    assert found["eval/accuracy"] >= 0.93, found


def a_text_is_read_as_training_read_it(folder):
    chance = random.Random(2)
    good, bad = ["fine", "great", "lovely"], ["poor", "dull", "awful"]
    rows = [("id", "review", "mood")]
    for i in range(300):
        filler = " ".join(chance.choice(["the", "film", "was", "really", "so", "and"]) for _ in range(90))
        rows.append((i, f"{filler} {chance.choice(good if i % 2 else bad)}", "good" if i % 2 else "bad"))
    write_csv(folder / "reviews.csv", rows)
    said = new(folder, "text", "reviews.csv")
    assert 'the sentences are in column "review"' in said, said
    found = measured(folder)  # the word that decides is the last of 91
    assert found["eval/accuracy"] > 0.95, found
    cut = run("made.toml", "run.dir=cut", "dataset.length=64", "train.max_steps=2", cwd=folder)
    assert "have more than dataset.length = 64 tokens and are cut there. dataset.length = 91 leaves all" in cut.stderr + cut.stdout, cut
    seen = json.loads(run("data", "made.toml", "dataset.length=64", "--json", cwd=folder).stdout)
    assert seen["lengths"]["max"] == 91 and any("tokens and are cut off" in text for text in seen["problems"]), seen["lengths"]
    answers = predictions(folder, "reviews.csv")
    assert len(answers) == 300 and answers[0]["input"] == rows[1][1], answers[0]
    right = sum(answer["classes"][0]["class"] == row[2] for answer, row in zip(answers, rows[1:]))
    assert right > 285, right
    refused = run("predict", "done", "@reviews.csv", cwd=folder)
    assert refused.returncode == 2 and "without @ to classify its texts" in refused.stderr, refused
    with open(folder / "unlabelled.jsonl", "w") as file:
        for row in rows[1:4]:
            print(json.dumps({"review": row[1]}), file=file)
    assert [answer["input"] for answer in predictions(folder, "unlabelled.jsonl")] == [row[1] for row in rows[1:4]]


def json_lines_are_the_same_as_a_table(folder):
    rows = list(houses(200))
    write_csv(folder / "a.csv", [("size", "age", "town", "price"), *((s, a, "Oslo" if s % 2 else "Rome", p) for s, a, p in rows)])
    objects = [{"size": s, "age": a, "town": "Oslo" if s % 2 else "Rome", "price": p} for s, a, p in rows]
    (folder / "a.jsonl").write_text("".join(json.dumps(one) + "\n" for one in objects))
    (folder / "a.json").write_text(json.dumps(objects, indent=1))
    with gzip.open(folder / "a.jsonl.gz", "wt") as file:
        file.write((folder / "a.jsonl").read_text())
    with gzip.open(folder / "a.csv.gz", "wt") as file:
        file.write((folder / "a.csv").read_text())
    learnt = set()
    for name in ["a.csv", "a.jsonl", "a.json", "a.jsonl.gz", "a.csv.gz"]:
        new(folder, "table", name)
        train(folder, "train.max_steps=3", into=f"run-{name}")
        folder_of = folder / f"run-{name}"
        learnt.add(json.dumps(json.loads((folder_of / "dataset.json").read_text())) + (folder_of / "model.safetensors").read_bytes().hex())
    assert len(learnt) == 1, [one[:300] for one in learnt]
    said = run("predict", "run-a.json", "a.jsonl", '{"size": 50, "age": 5, "town": "Rome"}', cwd=folder)
    assert said.returncode == 0 and len(said.stdout.splitlines()) == 201, said


def json_lines_are_texts(folder):
    words = ["apple", "pear", "plum", "quince"]
    chance = random.Random(3)
    texts = [" ".join(chance.choice(words) for _ in range(30)) for _ in range(200)]
    (folder / "t.jsonl").write_text("".join(json.dumps({"text": text, "meta": {"id": i}}) + "\n" for i, text in enumerate(texts)))
    (folder / "t.txt").write_text("\n".join(texts))
    found = []
    for name in ["t.jsonl", "t.txt"]:
        new(folder, "language-model", name)
        found.append(measured(folder, "train.epochs=0.1", into=name + "-run"))
    assert found[0] == found[1] and found[0], found
    (folder / "chat.jsonl").write_text('{"messages": [{"role": "user", "content": "Hi"}]}\n')
    refused = run("new", "--task", "language-model", "chat.jsonl", cwd=folder)
    assert refused.returncode != 0 and "its keys are messages. Set dataset.text" in refused.stderr, refused


def what_is_no_text_is_called_by_its_name(folder):
    import zipfile
    with zipfile.ZipFile(folder / "book.xlsx", "w") as book:
        book.writestr("[Content_Types].xml", "<Types/>")
        book.writestr("xl/workbook.xml", "<workbook/>")
    (folder / "t.parquet").write_bytes(b"PAR1\x15\x04\x15\x80" + bytes(200) + b"PAR1")
    (folder / "x.npy").write_bytes(b"\x93NUMPY\x01\x00v\x00" + bytes(100))
    (folder / "x.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    for name, kind in [("book.xlsx", "is an Excel workbook"), ("t.parquet", "is a Parquet file"), ("x.npy", "is a NumPy array"),
                       ("x.h5", "is an HDF5 file")]:
        for task in ["table", "text", "language-model"]:
            refused = run("new", "--task", task, name, cwd=folder)
            assert refused.returncode != 0 and kind in refused.stderr and "iconv" not in refused.stderr, (name, task, refused)


def nonsense_is_refused(folder):
    from_table = lambda task, *overrides: run("new", "--task", task, "odd.csv", *overrides, cwd=folder)
    write_csv(folder / "odd.csv", [("premise", "hypothesis", "label"), *((f"a man number {i} walks here", f"somebody {i} moves about", "ab"[i % 2]) for i in range(40))])
    refused = from_table("text")
    assert refused.returncode == 2 and 'two columns of text, "premise" and "hypothesis"' in refused.stderr, refused
    assert from_table("text", "dataset.text=premise").returncode == 0
    for separator in ",|;":
        tags = ["red", "blue", "green", f"red{separator}blue", f"green{separator}blue", f"red{separator}green"]
        write_csv(folder / "odd.csv", [("x", "tags"), *((i % 7, tags[i % 6]) for i in range(60))])
        refused = from_table("table")
        assert refused.returncode == 2 and "several labels in one value" in refused.stderr, refused
    write_csv(folder / "odd.csv", [("Sales of 2024", "", ""), ("x", "y", "kind"), *((i, i * 2, "ab"[i % 2]) for i in range(40))])
    made = from_table("table")
    assert made.returncode == 0 and "skip_lines = 1" in made.stdout and "skipped as a title" in made.stderr, made
    from_folder = folder / "pictures"
    for kind in ["images", "masks"]:
        (from_folder / kind).mkdir(parents=True)
        for i in range(3):
            (from_folder / kind / f"{i}.png").write_bytes((Path(__file__).parents[1] / "components/images/images/colour.png").read_bytes())
    refused = run("new", "--task", "images", "pictures", cwd=folder)
    assert refused.returncode == 2 and "images and their masks, which are not two classes" in refused.stderr, refused


def main():
    failed = 0
    for name, case in list(globals().items()):
        if not callable(case) or getattr(case, "__module__", "") != "__main__" or name in ("main", "new", "train", "measured", "predictions", "write_csv", "houses", "run"):
            continue
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                case(Path(folder))
                print(f"ok   {name}")
            except (AssertionError, LookupError, OSError, ValueError) as error:
                failed += 1
                print(f"FAIL {name}: {type(error).__name__} {error}")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
