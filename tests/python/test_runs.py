"""Whole runs, as a user starts them: what they leave behind, how they end, and that they can be repeated."""

import json
import re
import subprocess
import time
import tomllib

import numpy
from run_helpers import RUNNER, SHAPES, SOURCE, environment, main, records, run, series
from safetensors import safe_open
from safetensors.numpy import load_file
from shapes_run import SMALL


def a_run_leaves_everything_in_its_folder(folder):
    done = run(SHAPES, *SMALL, "train.epochs=2", "checkpoint.best={metric=\"eval/accuracy\"}", "tracker+=csv", f"run.dir={folder}/run")
    assert re.search(rf"report +{folder}/run/report.html\n", done.stdout + done.stderr), done.stderr
    names = {path.name for path in (folder / "run").iterdir()}
    assert names >= {"recipe.toml", "metrics.jsonl", "log.txt", "model.safetensors", "best.safetensors"}, names
    assert not [name for name in names if name.endswith(".tmp")], names
    steps = [record["step"] for record in records(folder / "run") if "train/loss" in record]
    assert steps == list(range(1, 17)), steps
    assert len(series(folder / "run", "eval/accuracy")) == 2
    with safe_open(folder / "run/model.safetensors", "numpy") as file:
        assert set(file.keys()) == {f"{layer}.{kind}" for layer in ("conv1", "conv2", "fc1", "fc2")
                                    for kind in ("weight", "bias")}
    tomllib.loads((folder / "run/recipe.toml").read_text())


def the_resolved_recipe_runs_again_and_gives_the_same(folder):
    run(SHAPES, *SMALL, "train.max_steps=6", "run.seed=11", f"run.dir={folder}/first")
    run(folder / "first/recipe.toml", f"run.dir={folder}/second")
    assert (folder / "first/model.safetensors").read_bytes() == (folder / "second/model.safetensors").read_bytes()
    assert series(folder / "first", "train/loss") == series(folder / "second", "train/loss")


def loader_workers_change_nothing(folder):
    augmented = ["dataset.transform+={name=\"random_crop\", padding=4}", "dataset.transform+={name=\"random_flip\"}"]
    weights = set()
    for workers in (0, 1, 4):
        target = folder / f"run{workers}"
        run(SHAPES, *SMALL, "~dataset.transform", *augmented, "train.max_steps=10", f"loader.workers={workers}", f"run.dir={target}")
        weights.add((target / "model.safetensors").read_bytes())
    assert len(weights) == 1, "the number of workers changed the weights"
    run(SHAPES, *SMALL, "~dataset.transform", *augmented, "train.max_steps=10", "run.seed=1", f"run.dir={folder}/other")
    assert (folder / "other/model.safetensors").read_bytes() not in weights, "the seed changed nothing"


def a_short_last_window_counts_for_what_it_is(folder):
    # 70 examples in micro-batches of 16: windows of 32, 32 and 6. The same as batches of 32.
    common = [SHAPES, "dataset.train=70", "dataset.eval=64", "train.epochs=1", "train.log_every=1step",
              "loader.shuffle=false"]
    run(*common, "loader.batch_size=16", "train.accumulation_steps=2", f"run.dir={folder}/windows")
    run(*common, "loader.batch_size=32", f"run.dir={folder}/batches")
    windows, batches = series(folder / "windows", "train/loss"), series(folder / "batches", "train/loss")
    assert len(windows) == len(batches) == 3
    assert all(abs(a - b) < 1e-5 for a, b in zip(windows, batches)), (windows, batches)


def evaluation_does_not_depend_on_the_batch_size(folder):
    found = []
    for size in (1, 7, 128):
        run(SHAPES, *SMALL, "train.max_steps=0", f"loader.eval_batch_size={size}", f"run.dir={folder}/{size}")
        found.append((series(folder / str(size), "eval/accuracy"), series(folder / str(size), "eval/loss")))
    assert found[0][0] == found[1][0] == found[2][0], found
    assert all(abs(loss[0] - found[0][1][0]) < 1e-5 for _, loss in found), found


def results_are_on_standard_output_and_progress_is_not(folder):
    done = run(SHAPES, *SMALL, "train.epochs=1", f"run.dir={folder}/run")
    assert done.stdout.lstrip().startswith("finished after") and "eval/accuracy" in done.stdout, done.stdout
    assert "simple_cnn" in done.stderr and "epoch 1" in done.stderr and "finished after" not in done.stderr, done.stderr


def the_log_holds_all_that_was_said(folder):
    (folder / "people.csv").write_text("age,city,buys\n" + "30,Rome,yes\n40,Oslo,no\n" * 20)
    (folder / "table.toml").write_text('model = "tabular"\ndataset = { name = "csv", train = "people.csv", split = 0.25, target = "buys" }\n'
                                       'optimizer = "sgd"\ntrain = { max_steps = 1, clip_norm = 1, clip_value = 2 }\n')
    run("table.toml", f"run.dir={folder}/table", cwd=folder)
    log = (folder / "table/log.txt").read_text()
    assert "categorical: city" in log and "changes nothing" in log, log
    run(SOURCE / "recipes/cifar10.toml", "dataset.download=false", f"dataset.dir={folder}/nothing", "model=simple_cnn",
        "dataset.fallback.train=64", "dataset.fallback.eval=64", "train.max_steps=1", f"run.dir={folder}/stand_in")
    assert "STAND-IN DATA" in (folder / "stand_in/log.txt").read_text()


def a_failure_is_in_the_log(folder):
    from PIL import Image
    for name in ("train", "val"):
        for kind in ("a", "b"):
            (folder / "photos" / name / kind).mkdir(parents=True)
            for number in range(8):
                Image.new("RGB", (32, 32)).save(folder / "photos" / name / kind / f"{number}.png")
    (folder / "photos/train/b/7.png").write_text("no image")  # not the first, which is looked at before training
    done = run(SHAPES, *SMALL[3:], "loader.batch_size=4", "dataset=image_folder", f"dataset.dir={folder}/photos", "train.epochs=1",
               'dataset.transform=[{name="resize", height=32, width=32}]', f"run.dir={folder}/run", check=False)
    assert done.returncode == 1 and 'loader.on_error = "skip"' in done.stderr, done.stderr
    log = (folder / "run/log.txt").read_text()
    assert "error: Cannot read example" in log and "train/b/7.png" in log, log


def a_deep_check_skips_what_the_run_skips(folder):
    from PIL import Image
    for name in ("train", "val"):
        for kind in ("a", "b"):
            (folder / "photos" / name / kind).mkdir(parents=True)
            for number in range(4):
                path = folder / "photos" / name / kind / f"{number}.png"
                path.write_text("no image") if number < 2 else Image.new("RGB", (32, 32)).save(path)
    words = [SHAPES, "dataset=image_folder", f"dataset.dir={folder}/photos", 'dataset.transform=[{name="resize", height=32, width=32}]']
    refused = run("check", "--deep", *words, check=False)
    assert refused.returncode == 2 and 'loader.on_error = "skip"' in refused.stderr, refused
    run("check", "--deep", *words, "loader.on_error=skip")
    done = run(*words, "loader.on_error=skip", "train.epochs=1", "loader.batch_size=8", f"run.dir={folder}/run")
    assert "4 examples could not be read and were replaced by others" in done.stderr, done.stderr


def a_condition_on_the_last_evaluation_finds_runs(folder):
    for seed in (1, 2):
        run(SHAPES, f"run.dir={folder}/runs/{seed}", f"run.seed={seed}", "dataset.train=64", "dataset.eval=16", "loader.batch_size=16",
            "train.max_steps=2", "~train.epochs")
    last = [json.loads((folder / f"runs/{seed}/result.json").read_text())["last"]["eval/loss"] for seed in (1, 2)]
    listed = lambda *words: [each["folder"][-1] for each in json.loads(run("runs", folder / "runs", "--json", *words).stdout)]
    assert sorted(listed("--where", "eval/loss>0")) == ["1", "2"]
    assert listed("--where", f"eval/loss<{sum(last) / 2}") == [str(1 + last.index(min(last)))]
    done = run("runs", folder / "runs", "--where", "eval/los>0", check=False)
    assert done.returncode == 2 and 'did you mean "eval/loss"?' in done.stderr, done


def the_kept_recipe_repeats_the_run_from_anywhere(folder):
    work, elsewhere = folder / "work", folder / "elsewhere"
    (work / "data").mkdir(parents=True)
    elsewhere.mkdir()
    (work / "data/people.csv").write_text("age,city,buys\n" + "30,Rome,yes\n40,Oslo,no\n" * 20)
    (work / "table.toml").write_text('model = "tabular"\ndataset = { name = "csv", train = "data/people.csv", split = 0.25, target = "buys" }\n'
                                     'optimizer = "sgd"\ntrain = { max_steps = 3 }\nrun = { dir = "first" }\n')
    run("work/table.toml", cwd=folder)  # the file's paths begin at the file
    assert (work / "first/model.safetensors").exists()
    run(work / "first/recipe.toml", cwd=elsewhere)
    second = next((elsewhere / "runs/run").iterdir())
    assert (second / "model.safetensors").read_bytes() == (work / "first/model.safetensors").read_bytes()


def overfitting_takes_as_many_steps_as_the_run_has(folder):
    run(SHAPES, *SMALL, "loader.overfit_batches=1", "train.accumulation_steps=2", "train.epochs=2", f"run.dir={folder}/run")
    losses = series(folder / "run", "train/loss")
    assert len(losses) == 8, losses  # 256 examples, 64 a step, twice
    assert losses[-1] < losses[0], losses
    assert len(series(folder / "run", "eval/accuracy")) == 2


def a_mistake_that_shows_late_is_one_of_the_recipe(folder):
    (folder / "words.txt").write_text("some words to learn from\n" * 20)
    (folder / "bad.toml").write_text('dataset = { name = "text", file = "words.txt", length = 8 }\noptimizer = "sgd"\n'
                                     'train = { max_steps = 1 }\n[model]\nname = "simple_cnn"\n')
    for words in (["check", "--deep", "bad.toml"], ["bad.toml"]):
        done = run(*words, cwd=folder, check=False)
        assert done.returncode == 2 and "bad.toml:4" in done.stderr and "this model needs images" in done.stderr, (words, done.stderr)
    assert not (folder / "runs").exists()


def a_dry_run_leaves_nothing_behind(folder):
    scratch = folder / "scratch"
    scratch.mkdir()
    words = [RUNNER, "run", "--dry-run", SHAPES, *SMALL, "train.epochs=100000", f"run.dir={folder}/run"]
    done = subprocess.run([str(word) for word in words], cwd=folder, env=environment(TMPDIR=str(scratch)), capture_output=True, text=True)
    assert "accuracy" in done.stderr, done.stderr
    assert list(folder.iterdir()) == [scratch] and list(scratch.iterdir()) == [], [*folder.iterdir(), *scratch.iterdir()]


def a_dry_run_is_planned_as_the_whole_run(folder):
    # Two steps of a warm-up of six: a schedule made for two steps would refuse it.
    done = run("run", "--dry-run", SHAPES, *SMALL, "train.max_steps=12", "scheduler=cosine", "scheduler.warmup=6step",
               f"run.dir={folder}/run", cwd=folder)
    assert "/12" in done.stderr and "2 steps" in done.stderr, done.stderr


def limits_shorten_both_sets(folder):
    run(SHAPES, *SMALL, "dataset.train_limit=70", "dataset.eval_limit=10", "train.epochs=1", f"run.dir={folder}/run")
    assert len(series(folder / "run", "train/loss")) == 3, "70 examples are three batches of at most 32"
    (accuracy,) = series(folder / "run", "eval/accuracy")
    assert abs(accuracy * 10 - round(accuracy * 10)) < 1e-6, accuracy


def evaluations_and_trackers_are_told_to_log_and_person(folder):
    done = run(SHAPES, *SMALL, "train.epochs=1", f"run.dir={folder}/run")
    assert "jsonl" in done.stderr, done.stderr
    lines = [line for line in (folder / "run/log.txt").read_text().splitlines() if "info: eval " in line]
    assert len(lines) == 1 and "epoch 1" in lines[0] and "accuracy" in lines[0], lines
    assert done.stderr.count("eval  epoch 1") == 1, done.stderr


def a_loss_that_is_not_a_number_stops_the_run(folder):
    done = run(SHAPES, *SMALL, "optimizer=sgd", "optimizer.lr=1e30", "hook+=nan_guard", f"run.dir={folder}/run", check=False)
    assert done.returncode == 1 and "is not a number in step" in done.stdout, done
    assert len(series(folder / "run", "train/loss")) < 16
    weights = load_file(folder / "run/model.safetensors")
    assert all(numpy.isfinite(tensor).all() for tensor in weights.values())


def a_run_never_writes_over_another(folder):
    run(SHAPES, *SMALL, "train.max_steps=1", f"run.dir={folder}/run")
    before = (folder / "run/metrics.jsonl").read_bytes()
    done = run(SHAPES, *SMALL, "train.max_steps=1", "checkpoint.resume=never", f"run.dir={folder}/run", check=False)
    assert done.returncode == 2 and "already contains a run" in done.stderr, done.stderr
    assert (folder / "run/metrics.jsonl").read_bytes() == before


def a_batch_larger_than_the_set_is_one_short_batch(folder):
    run(SHAPES, "dataset.train=50", "dataset.eval=10", "loader.batch_size=64", "train.epochs=2",
        "train.log_every=1step", f"run.dir={folder}/run")
    assert len(series(folder / "run", "train/loss")) == 2


def fp16_counts_skipped_steps_and_moves_nothing_for_them(folder):
    run(SHAPES, *SMALL, "precision=fp16", "precision.init_scale=1e30", "train.max_steps=3", f"run.dir={folder}/run")
    rows = [record for record in records(folder / "run") if "train/loss" in record]
    assert [row["step"] for row in rows] == [1, 2, 3], rows
    assert rows[-1]["train/skipped_steps"] > 10, rows[-1]


def the_time_in_the_result_is_that_of_the_process(folder):
    def seconds(*arguments):
        began = time.monotonic()
        run(*arguments)
        return time.monotonic() - began

    outside = seconds(SHAPES, *SMALL, "train.epochs=100000", "train.max_time=8s", f"run.dir={folder}/run")
    counted = sum(json.loads((folder / "run/result.json").read_text())["time"].values())
    # Not counted: loading the libraries before main() and ending the process, as any command does; and what
    # comes after result.json is written, the report.
    around = 2 * seconds("--version") + 0.3
    assert counted <= outside + 0.01, (counted, outside)
    assert outside - counted <= 0.01 * outside + around, (counted, outside, around)


main([a_run_leaves_everything_in_its_folder, the_resolved_recipe_runs_again_and_gives_the_same, loader_workers_change_nothing,
      a_short_last_window_counts_for_what_it_is, evaluation_does_not_depend_on_the_batch_size,
      results_are_on_standard_output_and_progress_is_not, the_log_holds_all_that_was_said, a_failure_is_in_the_log,
      a_deep_check_skips_what_the_run_skips, a_condition_on_the_last_evaluation_finds_runs,
      the_kept_recipe_repeats_the_run_from_anywhere,
      overfitting_takes_as_many_steps_as_the_run_has, a_mistake_that_shows_late_is_one_of_the_recipe, a_dry_run_leaves_nothing_behind,
      a_dry_run_is_planned_as_the_whole_run, limits_shorten_both_sets, evaluations_and_trackers_are_told_to_log_and_person,
      a_loss_that_is_not_a_number_stops_the_run, a_run_never_writes_over_another, a_batch_larger_than_the_set_is_one_short_batch,
      fp16_counts_skipped_steps_and_moves_nothing_for_them, the_time_in_the_result_is_that_of_the_process])
