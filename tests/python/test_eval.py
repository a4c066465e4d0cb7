"""eval: it measures what the run measured, with what the run learnt; which weights and which examples it takes."""

import json
import math
import shutil

import numpy
from PIL import Image

from run_helpers import SHAPES, main, records, run, series
from trained_table import QUICK, trained_table

SMALL = ["dataset.train=256", "dataset.eval=64", "loader.batch_size=32", "train.log_every=1step"]


def an_evaluation_alone_measures_what_the_run_measured(folder):
    done = trained_table(folder)
    before = sorted(path.name for path in folder.iterdir())
    told = json.loads(run("eval", done, "--json", cwd=folder).stdout)
    assert told["examples"] == 21 and told["weights"].endswith("model.safetensors"), told
    for name in ("eval/loss", "eval/accuracy"):
        assert math.isclose(told["metrics"][name], series(done, name)[-1], rel_tol=1e-6), told
    assert sorted(path.name for path in folder.iterdir()) == before
    table = run("eval", done, "eval.metric+=confusion_matrix", cwd=folder).stdout
    assert table.startswith("eval/loss") and "confusion" in table, table
    fresh = json.loads(run("eval", "table.toml", "--json", cwd=folder).stdout)
    assert "weights" not in fresh and fresh["metrics"] != told["metrics"], fresh
    same = json.loads(run("eval", "table.toml", "--json", "--weights", done / "model.safetensors", cwd=folder).stdout)
    assert same["metrics"] == told["metrics"]


def measured(*arguments, cwd):
    return json.loads(run("eval", *arguments, "--json", cwd=cwd).stdout)


def a_run_is_evaluated_with_what_it_learnt(folder):
    """Means, categories and words of the run count, not those that its training file would give now."""
    done = trained_table(folder, "dataset.eval=people.csv", "~dataset.split")
    before = measured(done, cwd=folder)["metrics"]
    shutil.copy(folder / "people.csv", folder / "same.csv")
    with open(folder / "people.csv", "a") as file:
        file.write("9000,Athens,7000,yes\n")
    assert measured(done, "dataset.eval=same.csv", cwd=folder)["metrics"] == before
    refused = run("eval", done, "dataset.target=age", "dataset.task=regression", "loss=mse", "eval.metric=['loss']", cwd=folder, check=False)
    assert refused.returncode == 2 and "dataset.target and dataset.task cannot be changed" in refused.stderr, refused
    # The recipe alone still learns from the file.
    weights = ("--weights", done / "model.safetensors")
    (folder / "other.csv").write_text((folder / "same.csv").read_text() + "9000,Rome,7000,yes\n")
    learns = measured("table.toml", "dataset.train=other.csv", "dataset.eval=same.csv", "~dataset.split", *weights, cwd=folder)
    assert learns["metrics"] != before

    (folder / "texts.csv").write_text("text,label\n" + "what a fine day,good\na poor film,bad\n" * 8)
    shutil.copy(folder / "texts.csv", folder / "check.csv")
    (folder / "text.toml").write_text("""
model = "text_mean"
dataset = { name = "text_classification", file = "texts.csv", eval_file = "check.csv", length = 8 }
optimizer = { name = "adam", lr = 0.05 }
train = { epochs = 5 }
""")
    run("text.toml", "run.threads=1", f"run.dir={folder}/texts", cwd=folder)
    before = measured(folder / "texts", cwd=folder)["metrics"]
    with open(folder / "texts.csv", "a") as file:
        file.write("film poor film poor film poor fine,good\n" * 30)  # which changes the numbers of the words
    assert measured(folder / "texts", cwd=folder)["metrics"] == before
    (folder / "texts/dataset.json").write_text("")
    refused = run("eval", folder / "texts", cwd=folder, check=False)
    assert refused.returncode == 1 and "dataset.json: it is empty" in refused.stderr, refused


def the_best_weights_come_first(folder):
    # A learning rate so large that the loss rises again after the first epoch.
    done = trained_table(folder, 'checkpoint.best={metric = "eval/loss"}', "optimizer.lr=3")
    assert min(series(done, "eval/loss")) < series(done, "eval/loss")[-1], series(done, "eval/loss")
    best = json.loads(run("eval", done, "--json", cwd=folder).stdout)
    assert best["weights"].endswith("best.safetensors")
    assert math.isclose(best["metrics"]["eval/loss"], min(series(done, "eval/loss")), rel_tol=1e-6)
    last = json.loads(run("eval", done, "--weights", "model", "--json", cwd=folder).stdout)
    assert math.isclose(last["metrics"]["eval/loss"], series(done, "eval/loss")[-1], rel_tol=1e-6)
    rows = ["30,Rome,50", "70,Oslo,50"]
    by_best, by_last = (run("predict", done, *rows, "--weights", which, cwd=folder).stdout for which in ("best", "model"))
    assert by_best != by_last and by_best == run("predict", done, *rows, cwd=folder).stdout


def examples_that_cannot_be_read_are_counted(folder):
    chance = numpy.random.default_rng(0)
    for part in ("train", "val"):
        for name in "ab":
            (folder / "images" / part / name).mkdir(parents=True)
            for i in range(6):
                Image.fromarray(chance.integers(0, 255, (8, 8, 3), dtype=numpy.uint8)).save(folder / f"images/{part}/{name}/{i}.png")
    for i in range(6):
        (folder / f"images/val/{'ab'[i % 2]}/{i}.png").write_text("no image")
    (folder / "images.toml").write_text("""
model = { name = "mlp", hidden = [4] }
optimizer = "sgd"
train = { epochs = 1 }
loader = { on_error = "skip" }
dataset = { name = "image_folder", dir = "images", transform = [{ name = "resize", height = 8, width = 8 }] }
""")
    done = run("images.toml", *QUICK, f"run.dir={folder}/run", cwd=folder)
    assert "6 of 12 validation examples could not be read" in " ".join((done.stdout + done.stderr).split()), done
    found = measured(folder / "run", cwd=folder)
    assert found["examples"] == 6 and found["unreadable"] == 6, found


def an_untrained_network_is_called_so(folder):
    done = run("eval", SHAPES, "dataset.eval=64")
    assert "untrained" in done.stderr, done
    assert json.loads(run("eval", SHAPES, "dataset.eval=64", "--json").stdout)["untrained"] is True
    run(SHAPES, *SMALL, "train.max_steps=2", f"run.dir={folder}/run")
    assert "untrained" not in run("eval", folder / "run").stderr


def a_validation_set_chooses_and_the_test_set_judges(folder):
    done = run(SHAPES, *SMALL, "train.epochs=1", "dataset.validation=0.25", f"run.dir={folder}/run")
    assert "64 of 256 training examples are kept for evaluation" in done.stdout + done.stderr, done
    assert records(folder / "run")[-1]["step"] == 6, records(folder / "run")[-1]
    chosen = json.loads(run("eval", folder / "run", "--json").stdout)
    judged = json.loads(run("eval", folder / "run", "~dataset.validation", "--json").stdout)
    assert chosen["examples"] == 64 and judged["examples"] == 64
    assert chosen["metrics"]["eval/loss"] != judged["metrics"]["eval/loss"]


def evaluation_can_be_switched_off(folder):
    run(SHAPES, *SMALL, "train.max_steps=10", 'eval.every="never"', f"run.dir={folder}/run")
    assert series(folder / "run", "eval/accuracy") == []
    done = run("check", SHAPES, 'eval.every="never"', 'checkpoint.best={metric="eval/accuracy"}', check=False)
    assert done.returncode == 2 and "nothing is measured" in done.stderr, done.stderr
    assert run("check", SHAPES, 'train.log_every="never"', check=False).returncode == 2


if __name__ == "__main__":
    main([an_evaluation_alone_measures_what_the_run_measured, a_run_is_evaluated_with_what_it_learnt, the_best_weights_come_first,
          examples_that_cannot_be_read_are_counted, an_untrained_network_is_called_so, a_validation_set_chooses_and_the_test_set_judges,
          evaluation_can_be_switched_off])
