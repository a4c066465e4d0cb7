"""Same bits: with and without checkpoints for every strategy and compression, and in reproducible mode on any number of ranks for
every part of the registry that has a say in an update."""

import json
import shutil
import sys

from run_helpers import SHAPES, main, run, series

# Seven examples are left for the last batch of an epoch: no number of ranks divides it.
COMMON = [SHAPES, "dataset.train_limit=39", "dataset.eval_limit=16", "loader.batch_size=16", "train.epochs=2", "train.log_every=1step",
          "eval.every=1ep", "optimizer=adamw", "optimizer.lr=0.002", "distributed.batch=global", "distributed.timeout=60s"]


def names_of(kind):
    """What is registered, as `runner list` says."""
    return [component["name"] for component in json.loads(run("list", kind, "--json").stdout)[0]["components"]]


def choices_of(key):
    """The values that the schema allows for a setting of [distributed]."""
    recipe = json.loads(run("schema").stdout)["$defs"]["recipe"]
    settings = recipe["properties"]["distributed"]["anyOf"][0]["properties"]
    return settings[key]["anyOf"][0]["enum"]


def launch(ranks, *arguments):
    return run("launch", "-n", ranks, *arguments) if ranks > 1 else run(*arguments)


def trained(folder):
    """What has been learnt: the weights, and those that hooks keep."""
    files = {path.name: path.read_bytes() for path in folder.glob("*.safetensors")}
    assert "model.safetensors" in files
    return files, series(folder, "train/loss"), series(folder, "eval/loss")


def checkpoints_do_not_change_the_training(folder):
    pairs = 0
    for strategy in choices_of("strategy"):
        for compression in choices_of("compression"):
            settings = [*COMMON, f"distributed.strategy={strategy}", f"distributed.compression={compression}"]
            if strategy == "fsdp" or run("check", *settings, check=False).returncode != 0:
                continue
            pairs += 1
            here = folder / f"{strategy}-{compression}"
            launch(2, *settings, "checkpoint.every=never", f"run.dir={here}/none")
            launch(2, *settings, "checkpoint.every=1step", "checkpoint.keep=9", f"run.dir={here}/each")
            assert trained(here / "none") == trained(here / "each"), f"{strategy} with {compression}: checkpoints change the training"
            kept = sorted((here / "each/checkpoints").glob("step-*"))
            assert len(kept) > 1, kept
            for later in kept[len(kept) // 2:]:  # as if it had been killed in the middle
                shutil.rmtree(later)
            launch(2, *settings, "checkpoint.every=1step", "checkpoint.keep=9", f"run.dir={here}/each")
            assert trained(here / "none") == trained(here / "each"), f"{strategy} with {compression}: a resumed run differs"
    assert pairs >= 12, pairs


# What a component needs; any other, also one that is registered later, has to do with its defaults.
SETTINGS = {
    "center_crop": "size=32", "random_resized_crop": "size=32", "resize": "size=32", "color_jitter": "brightness=0.4,hue=0.1",
    "random_crop": "padding=4",
    "early_stop": 'metric="eval/loss"', "freeze": 'match=["*.bias"],until="3step"', "time_limit": 'limit="1h"', "ema": 'decay=0.5',
    "swa": 'from="1step"', "lr_finder": 'steps=10',
    "distillation": 'teacher={name="simple_cnn",weights="TEACHER"}',
}
VALUES = ["model=autoencoder", "loss.target=input"]
TOKENS = ["model=gpt", "model.layers=1", "model.heads=2", "model.width=32",
          'dataset={name="text",file="TEXT",length=16,tokenizer="char"}', "~dataset.transform"]
SHARES = ['dataset.transform=[{name="mixup"}]', "eval.every=never", "eval.metric=[]"]
FOR_LOSS = {"lm_cross_entropy": TOKENS, "bce_with_logits": SHARES, "kl_div": SHARES, "mse": VALUES, "l1": VALUES, "huber": VALUES}


def component(name, folder):
    """As a value of a recipe."""
    settings = SETTINGS.get(name, "").replace("TEACHER", str(folder / "teacher.safetensors"))
    return f'{{name="{name}"{"," + settings if settings else ""}}}'


def reproduced(folder, name, *settings):
    """Trains on 1, 2 and 4 ranks."""
    expected = None
    for ranks in (1, 2, 4):
        here = folder / f"{name}-{ranks}"
        launch(ranks, *COMMON, "distributed.reproducible=true", "checkpoint.every=never", *settings, f"run.dir={here}")
        found = trained(here)
        expected = expected or found
        assert found == expected, f"{name}: other bits on {ranks} ranks than on one"


def reproduced_together(folder, kind, key, *settings):
    """All of a kind take a quarter of the time of one after the other; if that fails, each by itself says which."""
    names = sorted(names_of(kind), key=lambda name: (name not in SETTINGS, name))  # crops come before normalize
    try:
        reproduced(folder, "all", *settings, f"{key}=[" + ",".join(component(name, folder) for name in names) + "]")
    except AssertionError:
        for name in names:
            reproduced(folder, name, *settings, f"{key}=[{component(name, folder)}]")
        raise


def transforms_are_reproducible(folder):
    reproduced_together(folder, "transform", "dataset.transform")


def losses_are_reproducible(folder):
    (folder / "text.txt").write_text("".join("the cat and the dog sat down, said " + word + ".\n" for word in "one two three".split() * 40))
    run(*COMMON, "train.max_steps=1", "run.seed=5", f"run.dir={folder}/teacher")
    shutil.copy(folder / "teacher/model.safetensors", folder / "teacher.safetensors")
    for name in names_of("loss"):
        others = [word.replace("TEXT", str(folder / "text.txt")) for word in FOR_LOSS.get(name, [])]
        reproduced(folder, name, f"loss={component(name, folder)}", "eval.metric=[{name=\"loss\"}]", *others)


def hooks_are_reproducible(folder):
    reproduced_together(folder, "hook", "hook", "train.epochs=4")  # lr_finder needs ten steps


def precisions_are_reproducible(folder):
    for name in names_of("precision"):
        reproduced(folder, name, f"precision={component(name, folder)}")


if __name__ == "__main__":
    chosen = set(sys.argv[1:])
    cases = [checkpoints_do_not_change_the_training, transforms_are_reproducible, losses_are_reproducible, hooks_are_reproducible,
             precisions_are_reproducible]
    main([case for case in cases if not chosen or case.__name__ in chosen])
