"""Hooks in whole runs: what they leave in the run folder, and that the loop does what they ask for."""

import json
import resource
import subprocess

import numpy
from safetensors.numpy import load_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from run_helpers import RUNNER, SANITIZED, SHAPES, Skip, environment, main, run, series

SMALL = [SHAPES, "dataset.train=256", "dataset.eval=64", "loader.batch_size=32", "train.log_every=1step"]


def same(one, other):
    one, other = load_file(one), load_file(other)
    return one.keys() == other.keys() and all(numpy.array_equal(one[name], other[name]) for name in one)


def ema_is_measured_and_saved_beside_the_model(folder):
    run(*SMALL, "train.epochs=2", "hook+={name=\"ema\", decay=0.5}", f"run.dir={folder}/run",
        "checkpoint.best={metric=\"ema/loss\", mode=\"min\"}")
    assert len(series(folder / "run", "ema/accuracy")) == 2
    assert series(folder / "run", "ema/loss") != series(folder / "run", "eval/loss")
    assert not same(folder / "run/ema.safetensors", folder / "run/model.safetensors")
    losses = series(folder / "run", "ema/loss")
    if losses[1] < losses[0]:
        assert same(folder / "run/best.safetensors", folder / "run/ema.safetensors")
    # Watching changes nothing: the weights are those of a run without the hook.
    run(*SMALL, "train.epochs=2", f"run.dir={folder}/plain")
    assert same(folder / "run/model.safetensors", folder / "plain/model.safetensors")


def an_average_of_the_last_weights_alone_is_the_model(folder):
    run(*SMALL, "train.epochs=1", "hook+={name=\"ema\", decay=0.0, warmup=false}",
        "hook+={name=\"swa\", from=\"8step\", every=\"1step\"}", f"run.dir={folder}/run")
    assert same(folder / "run/ema.safetensors", folder / "run/model.safetensors")
    assert same(folder / "run/swa.safetensors", folder / "run/model.safetensors")
    assert series(folder / "run", "swa/accuracy") == series(folder / "run", "eval/accuracy")


def swa_is_the_mean_of_the_weights_of_its_steps(folder):
    weights = []
    for steps in (6, 7, 8):
        run(*SMALL, f"train.max_steps={steps}", "eval.every=\"100ep\"", f"run.dir={folder}/{steps}")
        weights.append(load_file(folder / f"{steps}/model.safetensors"))
    run(*SMALL, "train.max_steps=8", "hook+={name=\"swa\", from=\"6step\", every=\"1step\"}", f"run.dir={folder}/swa")
    average = load_file(folder / "swa/swa.safetensors")
    for name, found in average.items():
        expected = sum(each[name].astype(numpy.float64) for each in weights) / 3
        assert numpy.abs(found - expected).max() < 1e-6, name


def the_profiler_leaves_a_trace_and_a_table(folder):
    done = run(*SMALL, "train.max_steps=8", "hook+={name=\"profiler\", skip=3, steps=2}", f"run.dir={folder}/run")
    names = [event["name"] for event in json.loads((folder / "run/trace.json").read_text())["traceEvents"]
             if event.get("cat") == "cpu_op"]
    assert names.count("aten::convolution_backward") == 4, "two convolutions in two steps"
    assert names.count("aten::_fused_adam_") == 2, "one update a step"
    assert "aten::convolution_backward" in done.stderr or "aten::mkldnn_convolution" in done.stderr, done.stderr
    assert "self ms" in (folder / "run/log.txt").read_text()


def the_finder_draws_suggests_and_ends_the_run(folder):
    done = run(*SMALL, "train.epochs=100", "hook+={name=\"lr_finder\", steps=60, highest=1.0, lowest=1e-5}",
               f"run.dir={folder}/run")
    assert "Suggested learning rate: " in done.stderr, done.stderr
    suggestion = float(done.stderr.split("Suggested learning rate: ")[1].split(". ")[0])
    assert 1e-4 < suggestion < 0.1, suggestion
    assert abs(series(folder / "run", "lr_finder/suggestion")[0] / suggestion - 1) < 0.1
    rates = series(folder / "run", "train/lr")
    assert len(rates) <= 60 and rates[0] == 1e-5 and rates == sorted(rates), rates
    assert "log10 of the learning rate" in (folder / "run/log.txt").read_text()


def what_is_frozen_stays_and_is_trained_later(folder):
    freeze = "hook+={name=\"freeze\", match=[\"conv*\"], until=\"4step\"}"
    for steps in (1, 4, 5):
        run(*SMALL, f"train.max_steps={steps}", freeze, f"run.dir={folder}/{steps}")
    first, fourth, fifth = (load_file(folder / f"{steps}/model.safetensors") for steps in (1, 4, 5))
    assert numpy.array_equal(first["conv1.weight"], fourth["conv1.weight"])
    assert not numpy.array_equal(first["fc1.weight"], fourth["fc1.weight"])
    assert not numpy.array_equal(fourth["conv1.weight"], fifth["conv1.weight"])
    done = run(*SMALL, "train.max_steps=4", "hook+={name=\"freeze\", match=[\"*\"]}", check=False, cwd=folder)
    assert done.returncode == 1 and "nothing is left to train" in done.stderr, done.stderr


def overfitting_memorises_its_batches(folder):
    run(*SMALL, "loader.overfit_batches=1", "optimizer.lr=0.003", "train.epochs=8", "eval.every=\"64step\"",
        f"run.dir={folder}/run")
    assert series(folder / "run", "eval/accuracy")[-1] == 1.0
    losses = series(folder / "run", "train/loss")
    assert len(losses) == 64 and losses[-1] < 0.2 * losses[0], losses


def histograms_reach_tensorboard_and_norms_the_measurements(folder):
    run(*SMALL, "train.max_steps=4", "tracker+=tensorboard", "hook+={name=\"histograms\", every=2}",
        "hook+={name=\"sample_predictions\", count=3}", f"run.dir={folder}/run")
    reader = EventAccumulator(str(folder / "run/tensorboard"), size_guidance={"histograms": 0, "tensors": 0})
    reader.Reload()
    points = reader.Histograms("gradients/fc1.weight")
    assert [point.step for point in points] == [1, 3], points
    weights = load_file(folder / "run/model.safetensors")["fc1.weight"]
    assert sum(points[0].histogram_value.bucket) == points[0].histogram_value.num == weights.size
    assert len(series(folder / "run", "gradient_norm/conv1.bias")) == 2
    text = reader.Tensors("sample_predictions/text_summary")[0].tensor_proto.string_val[0].decode()
    assert text.count("predicted") == 3, text


def a_run_that_is_out_of_memory_splits_and_goes_on(folder):
    if SANITIZED:
        raise Skip("the sanitizer takes more memory than the test leaves")
    # One layer's output for all examples at once is 655 MB, and there are four of that size: too much for 2 GiB.
    recipe = folder / "wide.toml"
    recipe.write_text("""
        model = {name = "mlp", hidden = [4096]}
        dataset = {name = "synthetic", shape = [4], train = 40000, eval = 10}
        loader = {batch_size = 40000, workers = 0}
        optimizer = {name = "sgd", lr = 0.1}
        train = {max_steps = 1, log_every = "1step"}
        run = {threads = 1}
        """)

    def start(name, *arguments):
        limit = 2 << 30
        return subprocess.run([RUNNER, recipe, f"run.dir={folder}/{name}", *arguments], capture_output=True, text=True,
                              env=environment(), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))

    done = start("stop")
    assert done.returncode == 1 and "train.on_out_of_memory" in done.stderr, done.stderr
    done = start("split", "train.on_out_of_memory=split")
    assert done.returncode == 0 and "40000 examples at once do not fit into memory" in done.stderr, done.stderr
    done = start("small", "loader.batch_size=4000", "train.accumulation_steps=10")
    assert done.returncode == 0 and "do not fit" not in done.stderr, done.stderr
    split, small = (load_file(folder / f"{name}/model.safetensors") for name in ("split", "small"))
    for name in split:
        assert numpy.abs(split[name] - small[name]).max() < 1e-5, name


if __name__ == "__main__":
    main([ema_is_measured_and_saved_beside_the_model, an_average_of_the_last_weights_alone_is_the_model,
          swa_is_the_mean_of_the_weights_of_its_steps, the_profiler_leaves_a_trace_and_a_table,
          the_finder_draws_suggests_and_ends_the_run, what_is_frozen_stays_and_is_trained_later,
          overfitting_memorises_its_batches, histograms_reach_tensorboard_and_norms_the_measurements,
          a_run_that_is_out_of_memory_splits_and_goes_on])
