"""Results that would be wrong without a word: directions, samples, units, targets, numbers at their extremes."""

import json

import numpy
from safetensors.numpy import load_file, save_file
from sklearn import metrics

from four_clouds import four_clouds, recipe
from run_helpers import SHAPES, main, records, run, series

SMALL = ["dataset.train=256", "dataset.eval=64", "loader.batch_size=32", "train.log_every=1step"]


def last(folder, name):
    return series(folder, name)[-1]


def a_batch_of_one_example_that_batch_norm_cannot_train_on_is_found_before_training(folder):
    rows = "".join(f"{i * 7 % 41},{'yes' if i % 2 else 'no'}\n" for i in range(41))
    for name in ("train", "eval"):
        (folder / f"{name}.csv").write_text("x,y\n" + rows)
    path = recipe(folder, f"""
model = {{ name = "tabular", batch_norm = true }}
dataset = {{ name = "csv", train = "train.csv", eval = "eval.csv", target = "y" }}
optimizer = "sgd"
train = {{ epochs = 1 }}
""")
    for size in (1, 40, 20):
        done = run(path, f"loader.batch_size={size}", f"run.dir={folder}/failed", check=False)
        assert done.returncode == 1 and f"41 training examples in batches of {size} make a batch of a single example" in done.stderr, done
        assert not (folder / "failed").exists()
    # Of a last batch of three examples, one of two ranks gets one.
    done = run("launch", "-n", 2, path, "loader.batch_size=19", f"run.dir={folder}/failed", check=False)
    assert done.returncode == 1 and "in batches of 19 on 2 ranks make a batch of a single example" in done.stderr, done
    assert not (folder / "failed").exists()
    run("launch", "-n", 2, path, "loader.batch_size=18", f"run.dir={folder}/ranks")
    run(path, "loader.batch_size=39", f"run.dir={folder}/run")
    run(path, "loader.batch_size=40", "train.max_steps=1", f"run.dir={folder}/short")
    # An attempt that succeeds leaves no trace in the statistics: what a convolution sees of one image is enough.
    images = [SHAPES, "model=resnet20", "dataset.train=33", "dataset.eval=8", "train.epochs=1", "loader.batch_size=32"]
    run(*images, "train.max_steps=2", "optimizer.lr=1e-30", f"run.dir={folder}/images")
    assert load_file(folder / "images/model.safetensors")["bn1.num_batches_tracked"] == 2


def a_single_class_is_told(folder):
    path = four_clouds(folder)
    data = load_file(folder / "data.safetensors")
    save_file({**data, "target": data["target"] * 0}, folder / "data.safetensors")
    assert "a single class, so every answer is right" in run("check", "--deep", path).stderr
    assert "a single class, so every answer is right" in run("run", "--dry-run", path).stderr
    (folder / "sentences.csv").write_text("text,label\n" + "some words,one\n" * 20)
    sentences = ["model=text_mean", f"dataset={{name=\"text_classification\",file=\"{folder}/sentences.csv\"}}"]
    assert "a single class, so every answer is right" in run("check", "--deep", path, *sentences).stderr


def early_stop_and_plateau_know_that_a_loss_falls(folder):
    path = four_clouds(folder)
    run(path, "train.epochs=6", "hook+={name=\"early_stop\", metric=\"eval/loss\", patience=1}",
        'scheduler={name="plateau", patience=0}', "train.log_every=1step", f"run.dir={folder}/run")
    losses = series(folder / "run", "eval/loss")
    assert len(losses) == 6 and losses[-1] < losses[0], losses
    assert len(set(series(folder / "run", "train/lr"))) == 1, "the rate dropped though the loss fell"
    for wrong in ('hook+={name="early_stop", metric="eval/loss", mode="max"}', 'scheduler={name="plateau", mode="max"}',
                  'checkpoint.best={metric="eval/loss", mode="max"}', 'hook+={name="early_stop", metric="eval/los"}',
                  'scheduler={name="plateau", metric="eval/los"}', 'checkpoint.best={metric="eval/los"}'):
        done = run("check", path, wrong, check=False)
        assert done.returncode == 2, (wrong, done)
        assert "lower is better" in done.stderr or 'did you mean "eval/loss"?' in done.stderr, done.stderr


def several_labels_are_measured_as_scikit_learn_does(folder):
    numbers = numpy.random.default_rng(3)
    inputs = numbers.normal(size=(300, 5)).astype("float32")
    targets = (inputs @ numbers.normal(size=(5, 3)) + 0.3 * numbers.normal(size=(300, 3)) > 0.4).astype("float32")
    save_file({"input": inputs, "target": targets}, folder / "train.safetensors")
    text = f"""
[model]
name = "mlp"
hidden = []
num_classes = 3
[dataset]
name = "tensors"
train = "{folder}/train.safetensors"
eval = "{folder}/train.safetensors"
[loss]
name = "bce_with_logits"
[optimizer]
name = "adam"
lr = 0.02
[train]
epochs = 5
[eval]
metric = ["loss", "accuracy", "f1", "auroc", "average_precision", "precision", "recall", "confusion_matrix"]
"""
    path = recipe(folder, text)
    run(path, f"run.dir={folder}/run")
    weights = load_file(folder / "run/model.safetensors")
    matrix = next(tensor for tensor in weights.values() if tensor.shape == (3, 5))
    bias = next(tensor for tensor in weights.values() if tensor.shape == (3,))
    scores = inputs @ matrix.T + bias
    answers = scores > 0
    for name, value in {"accuracy": metrics.accuracy_score(targets, answers),
                        "f1_macro": metrics.f1_score(targets, answers, average="macro"),
                        "precision_macro": metrics.precision_score(targets, answers, average="macro"),
                        "recall_macro": metrics.recall_score(targets, answers, average="macro"),
                        "auroc": metrics.roc_auc_score(targets, scores),
                        "average_precision": metrics.average_precision_score(targets, scores)}.items():
        assert abs(last(folder / "run", f"eval/{name}") - value) < 1e-6, name
    save_file({"input": inputs[:1]}, folder / "one.safetensors")
    answer = json.loads(run("predict", folder / "run", folder / "one.safetensors", "--format", "json").stdout)[0]["labels"]
    expected = 1 / (1 + numpy.exp(-scores[0]))
    assert [entry["label"] for entry in answer] == ["0", "1", "2"], answer
    assert numpy.allclose([entry["probability"] for entry in answer], expected, atol=1e-5), (answer, expected)
    assert run("predict", folder / "run", folder / "one.safetensors", "--format", "csv").stdout.startswith("input,label,probability\n")
    run("check", "--deep", path, "dataset.classes=3")  # numbers in the shape of the classes may be either
    done = run("check", path, 'eval.metric=["top_k"]', check=False)
    assert done.returncode == 2 and "0/1 for each output (multi-label)" in done.stderr, done.stderr
    done = run("check", path, 'eval.metric=["rmse"]', check=False)
    assert done.returncode == 2 and "needs numbers as targets" in done.stderr, done.stderr


def a_limit_takes_every_class_and_says_so(folder):
    path = four_clouds(folder, "train_limit = 80\neval_limit = 40")
    done = run(path, "loader.batch_size=8", f"run.dir={folder}/run")
    said = done.stdout + done.stderr
    assert "80 of 400 examples" in said and "same share of each class" in said, said
    assert last(folder / "run", "eval/accuracy") > 0.95, last(folder / "run", "eval/accuracy")
    assert all(series(folder / "run", f"eval/recall/{i}") for i in range(4))
    run(path, "~dataset.train_limit", "~dataset.eval_limit", "loader.overfit_batches=2", "loader.batch_size=8", "train.epochs=60",
        f"run.dir={folder}/overfit")
    assert last(folder / "overfit", "eval/accuracy") == 1.0


def overfitting_memorises_one_batch_of_text(folder):
    """By default windows start at random places: the examples that are chosen stay where they are."""
    numbers = numpy.random.default_rng(4)
    (folder / "text.txt").write_text("".join(numbers.choice(list("abcdefgh ")) for _ in range(20_000)))
    path = recipe(folder, f"""
[model]
name = "gpt"
layers = 1
heads = 2
width = 32
[dataset]
name = "text"
file = "{folder}/text.txt"
length = 16
[loader]
batch_size = 2
overfit_batches = 1
[loss]
name = "lm_cross_entropy"
[optimizer]
name = "adamw"
lr = 0.01
[train]
max_steps = 150
[eval]
metric = ["loss"]
""")
    run(path, f"run.dir={folder}/run")
    assert last(folder / "run", "eval/loss") < 0.2, last(folder / "run", "eval/loss")


def regression_learns_in_standardised_units_and_answers_in_those_of_the_table(folder):
    numbers = numpy.random.default_rng(5)
    x = numbers.uniform(-1, 1, size=(400, 3))
    y = 250_000 + 80_000 * x[:, 0] - 40_000 * x[:, 1] + 2_000 * numbers.normal(size=400)
    rows = ["a;b;c;price"] + [";".join(f"{value:.5f}".replace(".", ",") for value in [*row, price]) for row, price in zip(x, y)]
    (folder / "prices.csv").write_text("\n".join(rows) + "\n")
    path = recipe(folder, f"""
[model]
name = "mlp"
hidden = [16]
num_classes = 1
[dataset]
name = "csv"
train = "{folder}/prices.csv"
split = 0.25
target = "price"
task = "regression"
decimal = ","
[loss]
name = "mse"
[optimizer]
name = "adam"
lr = 0.01
[train]
max_steps = 200
[eval]
metric = ["r2", "rmse", "mae"]
[loader]
batch_size = 32
""")
    run(path, f"run.dir={folder}/run")
    assert last(folder / "run", "eval/r2") > 0.95
    assert 1_000 < last(folder / "run", "eval/rmse") < 20_000
    answer = json.loads(run("predict", folder / "run", "0,5;0,0;0,0", "--format", "json").stdout)[0]["values"][0]
    assert abs(answer - 290_000) < 25_000, answer
    done = run(path, "~dataset.decimal", f"run.dir={folder}/wrong", check=False)
    assert done.returncode != 0 and 'dataset.decimal = ","' in done.stdout + done.stderr, done


def a_run_without_steps_evaluates_whatever_the_schedule(folder):
    for schedule in ('scheduler={name="constant", warmup="100step"}', 'scheduler={name="one_cycle"}', 'scheduler={name="cosine", warmup="2ep"}'):
        done = run(SHAPES, *SMALL, "train.max_steps=0", schedule, f"run.dir={folder}/{len(list(folder.iterdir()))}")
        assert "accuracy" in done.stdout + done.stderr


def what_does_not_fit_is_found_before_training(folder):
    for wrong, why in [(["eval.metric+={name=\"top_k\", k=50}"], "k = 50"), (["eval.metric+=rmse"], "needs numbers")]:
        done = run(SHAPES, *SMALL, "train.epochs=1", *wrong, f"run.dir={folder}/run", check=False)
        assert done.returncode == 2 and why in done.stdout + done.stderr, done
        assert ("command line: error: " in done.stderr or "shapes.toml:" in done.stderr) and "^^^" in done.stderr, done  # with its place
        assert not (folder / "run/metrics.jsonl").exists() or records(folder / "run") == []
        assert run("check", "--deep", SHAPES, *wrong, check=False).returncode == 2
    missing = recipe(folder, '[model]\nname="mlp"\n[dataset]\nname="tensors"\ntrain="nowhere.safetensors"\neval="nowhere.safetensors"\n'
                             '[optimizer]\nname="sgd"\n[train]\nepochs=1\n')
    done = run("check", "--deep", missing, check=False)
    assert done.returncode == 2 and "nowhere.safetensors" in done.stderr, done


def numbers_beyond_reason_are_refused(folder):
    for key, values in {"loader.batch_size": ["9223372036854775807", "1e300", "9" * 400, "-1"],
                        "loader.eval_batch_size": ["9223372036854775807"], "train.epochs": ["1e300", "1" + "0" * 400],
                        "train.max_steps": ["9223372036854775807"], "train.accumulation_steps": ["9223372036854775807"],
                        "model.num_classes": ["9223372036854775807"], "optimizer.lr": ["1e300", "1e400"]}.items():
        for value in values:
            done = run("check", SHAPES, f"{key}={value}", check=False)
            assert done.returncode == 2, (key, value, done)
            assert len(done.stderr) < 4096, (key, value)


def rare_classes_can_count_more(folder):
    labels = numpy.array([0] * 190 + [1] * 10)
    numbers = numpy.random.default_rng(2)
    inputs = (labels[:, None] * 1.2 + numbers.normal(size=(200, 2))).astype("float32")
    save_file({"input": inputs, "target": labels}, folder / "data.safetensors")
    path = recipe(folder, f"""
[model]
name = "mlp"
hidden = []
[dataset]
name = "tensors"
train = "{folder}/data.safetensors"
eval = "{folder}/data.safetensors"
[optimizer]
name = "adam"
lr = 0.05
[train]
epochs = 30
[eval]
metric = ["confusion_matrix"]
""")
    run(path, f"run.dir={folder}/plain")
    run(path, 'loss.class_weights="balanced"', f"run.dir={folder}/balanced")
    run(path, 'loss.class_weights={"1"=19}', f"run.dir={folder}/named")
    recalls = {name: last(folder / name, "eval/recall/1") for name in ("plain", "balanced", "named")}
    assert recalls["balanced"] > recalls["plain"] + 0.2, recalls
    assert recalls["named"] > recalls["plain"] + 0.2, recalls


if __name__ == "__main__":
    main([a_single_class_is_told, a_batch_of_one_example_that_batch_norm_cannot_train_on_is_found_before_training,
          early_stop_and_plateau_know_that_a_loss_falls, several_labels_are_measured_as_scikit_learn_does,
          a_limit_takes_every_class_and_says_so, overfitting_memorises_one_batch_of_text,
          regression_learns_in_standardised_units_and_answers_in_those_of_the_table, a_run_without_steps_evaluates_whatever_the_schedule,
          what_does_not_fit_is_found_before_training, numbers_beyond_reason_are_refused, rare_classes_can_count_more])
