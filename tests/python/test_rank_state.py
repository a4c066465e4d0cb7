"""What ranks keep apart, as real processes: optimizer state in parts, weights that are averaged, bytes that travel."""

import json
import shutil
import subprocess
import sys

try:
    from safetensors.numpy import load_file
except ImportError:
    print("skipped: safetensors is not installed; scripts/setup.sh --tests does it")
    sys.exit(77)

from run_helpers import RUNNER, SOURCE, THOROUGH, Skip, environment, main, run, series

COMMON = [SOURCE / "recipes/shapes.toml", "dataset.train=96", "dataset.eval=32", "loader.batch_size=16", "train.log_every=1step",
          "eval.every=4step", "optimizer=adamw", "optimizer.lr=0.002",
          "distributed.batch=global", "checkpoint.every=4step", "checkpoint.keep=5"]


MATRICES = """
[model]
name = "mlp"
hidden = [1024, 1024]
[dataset]
name = "synthetic"
shape = [256]
train = 64
eval = 8
[loader]
batch_size = 4
[optimizer]
name = "adamw"
lr = 0.001
[train]
max_steps = 1
[eval]
every = "never"
[checkpoint]
every = "never"
"""


def launch(ranks, *arguments, **options):
    return run("launch", "-n", ranks, *arguments, **options)


def same_bits(one, other, names=("model.safetensors",)):
    for name in names:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    assert series(one, "train/loss") == series(other, "train/loss")


def ranks_write_their_parts_and_any_number_goes_on(folder):
    common = [*COMMON, "distributed.strategy=zero1"]
    run(*COMMON, "train.max_steps=8", f"run.dir={folder}/one")
    alone = load_file(folder / "one/checkpoints/step-00000008/optimizer.safetensors")
    for ranks in (2, 4) if THOROUGH else (3,):
        place = folder / str(ranks)
        launch(ranks, *common, "train.max_steps=4", f"run.dir={place}")
        checkpoint = place / "checkpoints/step-00000004"
        parts = sorted(path.name for path in checkpoint.glob("optimizer-*"))
        assert parts == [f"optimizer-{rank:05}-of-{ranks:05}.safetensors" for rank in range(1, ranks + 1)], parts
        index = json.loads((checkpoint / "optimizer.safetensors.index.json").read_text())["weight_map"]
        assert index.keys() == alone.keys() and set(index.values()) <= set(parts), index
        assert "complete" in run("checkpoints", place).stdout
        run("export", place, "--step", 4, "-o", folder / "exported.safetensors")
        # Another number of ranks, the same one, and a single process.
        for next_ranks in sorted({1, ranks, 2}):
            copy = folder / f"{ranks}-{next_ranks}"
            shutil.copytree(place, copy, symlinks=True)
            more = [*common, "train.max_steps=8", f"run.dir={copy}"]
            launch(next_ranks, *more) if next_ranks > 1 else run(*more)
            weights, expected = (load_file(run_folder / "model.safetensors") for run_folder in (copy, folder / "one"))
            for name in expected:
                assert abs(weights[name] - expected[name]).max() < 2e-4, (ranks, next_ranks, name)


def a_damaged_part_is_named_and_the_checkpoint_before_is_used(folder):
    common = [*COMMON, "distributed.strategy=zero2"]
    launch(2, *common, "train.max_steps=8", f"run.dir={folder}/run")
    part = folder / "run/checkpoints/step-00000008/optimizer-00002-of-00002.safetensors"
    bytes_ = bytearray(part.read_bytes())
    bytes_[-2] ^= 1
    part.write_bytes(bytes_)
    listed = run("checkpoints", folder / "run").stdout
    assert "damaged: optimizer-00002-of-00002.safetensors" in listed, listed
    done = launch(2, *common, "train.max_steps=12", f"run.dir={folder}/run")
    assert "optimizer-00002-of-00002.safetensors" in done.stderr and "at step 4" in done.stderr, done.stderr


def averages_go_on_with_the_same_bits(folder):
    common = [*COMMON, "distributed.strategy=local_sgd", "distributed.average_every=2"]
    launch(2, *common, "train.max_steps=12", f"run.dir={folder}/whole")
    launch(2, *common, "train.max_steps=8", f"run.dir={folder}/parts")
    launch(2, *common, "train.max_steps=12", f"run.dir={folder}/parts")
    same_bits(folder / "whole", folder / "parts")
    # Checkpoints wait for an average: every third update is none.
    launch(2, *common, "distributed.average_every=4", "checkpoint.every=3step", "eval.every=100step", "train.max_steps=9",
           f"run.dir={folder}/waiting")
    steps = sorted(path.name for path in (folder / "waiting/checkpoints").glob("step-*"))
    assert steps == ["step-00000004", "step-00000008", "step-00000009"], steps
    done = launch(2, *common, "train.max_steps=2", 'hook=[{name="ema"}]', f"run.dir={folder}/ema", check=False)
    assert done.returncode == 1 and '"ema" follows the weights' in done.stderr, done.stderr
    done = launch(2, *common, "train.max_steps=2", 'hook=[{name="gradient_noise"}]', f"run.dir={folder}/noise", check=False)
    assert done.returncode == 1 and '"gradient_noise" needs gradients that are summed' in done.stderr, done.stderr


def what_compression_left_out_goes_on_with_the_same_bits(folder):
    common = [*COMMON, "distributed.compression=powersgd", "distributed.powersgd_rank=2"]
    launch(2, *common, "train.max_steps=12", f"run.dir={folder}/whole")
    launch(2, *common, "train.max_steps=8", f"run.dir={folder}/parts")
    launch(2, *common, "train.max_steps=12", f"run.dir={folder}/parts")
    same_bits(folder / "whole", folder / "parts")


def batch_norm_over_all_ranks_trains_as_one(folder):
    # The last batch is 2: one of three ranks has none. An adaptive optimizer would make rounding large where gradients vanish.
    common = [*COMMON, "model=resnet20", "train.max_steps=3", "dataset.train=34", "optimizer=sgd", "optimizer.lr=0.005"]
    run(*common, f"run.dir={folder}/one")
    launch(3, *common, "distributed.sync_batch_norm=true", "distributed.check_collectives=true", f"run.dir={folder}/many")
    one, many = (load_file(folder / name / "model.safetensors") for name in ("one", "many"))
    for name in one:
        assert abs(one[name] - many[name]).max() < 2e-3 * max(1, abs(one[name]).max()), name


def bytes_that_travel_are_those_of_the_estimate(folder):
    (folder / "recipe.toml").write_text(MATRICES)
    recipe = [folder / "recipe.toml"]
    in_a_network_of_its_own = ["unshare", "-n", "sh", "-c", 'ip link set lo up && "$@" >&2 && cat /proc/net/dev', "sh"]
    if subprocess.run(["unshare", "-n", "ip", "link", "set", "lo", "up"], capture_output=True).returncode != 0:
        raise Skip("no network namespaces")

    def bytes_of(ranks, steps, *more):
        words = [RUNNER, "launch", "-n", ranks, *recipe, f"train.max_steps={steps}", f"run.dir={folder}/{len(list(folder.iterdir()))}", *more]
        done = subprocess.run([*in_a_network_of_its_own, *map(str, words)], capture_output=True, text=True, env=environment(),
                              timeout=300)
        assert done.returncode == 0, done.stderr
        line = next(line for line in done.stdout.splitlines() if line.strip().startswith("lo:"))
        return int(line.split(":")[1].split()[8])

    cases = [(2, "distributed.strategy=ddp"), (2, "distributed.strategy=zero2"), (2, "distributed.strategy=zero3"),
             (2, "distributed.strategy=zero3", "precision=bf16")]
    if THOROUGH:
        cases += [(2, "distributed.strategy=zero1"), (2, "distributed.compression=bf16"), (2, "distributed.compression=fp16"), (2, "distributed.reproducible=true"), (3, "distributed.strategy=ddp"),
                  (3, "distributed.strategy=zero2"), (4, "distributed.reproducible=true")]
    for ranks, *settings in cases:
        measured = (bytes_of(ranks, 13, *settings) - bytes_of(ranks, 3, *settings)) / 10
        estimate = json.loads(run("estimate", *recipe, "train.max_steps=1", *settings, "--ranks", ranks, "--json").stdout)
        expected = ranks * estimate["sent_bytes"]
        print(f"{ranks} ranks, {', '.join(settings)}: {measured:.0f} bytes an update, {expected} expected")
        assert abs(measured - expected) < 0.05 * expected, (ranks, settings, measured, expected)


if __name__ == "__main__":
    chosen = set(sys.argv[1:])
    cases = [ranks_write_their_parts_and_any_number_goes_on, a_damaged_part_is_named_and_the_checkpoint_before_is_used,
             averages_go_on_with_the_same_bits, what_compression_left_out_goes_on_with_the_same_bits,
             batch_norm_over_all_ranks_trains_as_one, bytes_that_travel_are_those_of_the_estimate]
    main([case for case in cases if not chosen or case.__name__ in chosen])
