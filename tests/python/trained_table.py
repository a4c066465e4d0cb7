"""A small table of people, and a model that was trained on it."""

import csv
import random

from run_helpers import run

QUICK = ["run.threads=1", "optimizer=sgd", "optimizer.lr=0.1"]
TABLE = """
model = { name = "mlp", hidden = [5] }
dataset = { name = "csv", train = "people.csv", split = 0.25, target = "buys", categories = "one_hot" }
optimizer = "sgd"
train = { epochs = 3 }
loader = { batch_size = 8 }
eval = { metric = ["loss", "accuracy"] }
"""


def write_people(path, rows=80):
    chance = random.Random(1)
    with open(path, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["age", "city", "weight", "buys"])
        for _ in range(rows):
            age, city = chance.randint(18, 80), chance.choice(["Rome", "Oslo", "New\nYork", ""])
            table.writerow([age, city, chance.choice(["", 50, 60.5]), "yes" if age > 40 else "no"])


def trained_table(folder, *changes):
    write_people(folder / "people.csv")
    (folder / "table.toml").write_text(TABLE)
    run("table.toml", *QUICK, *changes, f"run.dir={folder}/run", cwd=folder)
    return folder / "run"
