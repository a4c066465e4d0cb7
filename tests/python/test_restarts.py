"""Runs that lose a rank and continue: with as many ranks, with those that are left, or later with another number of them."""

import os
import re
import signal
import subprocess
import sys

from launch_helpers import RESUMABLE, compare, launch, load_file, ranks_of, start
from run_helpers import RUNNER, SHAPES, SOURCE, THOROUGH, environment, main, records, run, wait_for_steps, wait_until


def launch_and_kill(rank, folder, *words, wanted=12):
    """The exit code and the output of a launch of which a rank was killed after some steps."""
    launcher = start(RUNNER, "launch", *words, f"run.dir={folder}/run")
    wait_for_steps(folder / "run", launcher, wanted)
    os.kill(ranks_of(launcher)[rank], signal.SIGKILL)
    output = launcher.communicate(timeout=300)[0]
    return launcher.returncode, output


def a_restart_goes_on_from_the_newest_checkpoint(folder):
    run(*RESUMABLE, f"run.dir={folder}/quiet")
    code, output = launch_and_kill(1, folder, "-n", 2, "--max-restarts", 1, *RESUMABLE)
    assert code == 0, output
    assert "restarting with 2 ranks (restart 1 of 1)" in output, output
    assert re.search(r"training resumed [\d.]+ s after the failure", output), output
    compare(folder / "quiet", folder / "run", tolerance=1e-4)


def the_only_rank_restarts_in_its_folder(folder):
    """Without run.dir: the launcher learns from the rank where the run is."""
    run(*RESUMABLE, f"run.dir={folder}/quiet")
    launcher = start(RUNNER, "launch", "-n", 1, "--max-restarts", 1, *RESUMABLE, at=folder)
    found = wait_until(lambda: list(folder.glob("runs/*/*/metrics.jsonl")), launcher)
    wait_for_steps(found[0].parent, launcher, wanted=12)
    os.kill(ranks_of(launcher)[0], signal.SIGKILL)
    output = launcher.communicate(timeout=300)[0]
    assert launcher.returncode == 0 and "restarting with 1 rank" in output, output
    assert re.search(r"training resumed [\d.]+ s after the failure", output), output
    assert list(folder.glob("runs/*/*/metrics.jsonl")) == found, output
    compare(folder / "quiet", found[0].parent, tolerance=1e-4)


def a_run_from_another_checkpoint_restarts_from_its_own(folder):
    common = [*RESUMABLE, "optimizer.lr=1e-4"]  # Adam makes steps of this size out of rounding
    run(*common, "train.max_steps=10", f"run.dir={folder}/first")
    longer = [*common, "train.max_steps=60", "--resume", folder / "first/checkpoints/step-00000010"]
    run("run", *longer, f"run.dir={folder}/quiet")
    code, output = launch_and_kill(1, folder, "-n", 2, "--max-restarts", 1, *longer)
    assert code == 0 and "restarting with 2 ranks" in output, output
    compare(folder / "quiet", folder / "run", tolerance=1e-4)


def an_elastic_run_goes_on_with_those_that_are_left(folder):
    run(*RESUMABLE, f"run.dir={folder}/quiet")
    code, output = launch_and_kill(0, folder, "--elastic", "1:2", "--max-restarts", 3, *RESUMABLE)
    assert code == 0, output
    assert "restarting with 1 rank" in output, output
    compare(folder / "quiet", folder / "run", tolerance=1e-4)


def sharded_parameters_go_on_with_another_number_of_ranks(folder):
    """With averages beside the weights, small units, and a batch of which the second rank gets nothing."""
    common = [*RESUMABLE, "dataset.train=257", "train.max_steps=30",
              "optimizer=adamw", "optimizer.lr=1e-4",  # Adam turns roundings of tiny gradients into steps of this size
              'hook+={name="ema", decay=0.9}', 'hook+={name="histograms", every=10}']
    zero3 = ["distributed.strategy=fsdp", "distributed.unit_size=20kB"]
    run(*common, f"run.dir={folder}/quiet")
    code, output = launch_and_kill(1, folder, "-n", 2, *common, *zero3)
    assert code != 0 and "rank 1" in output, output
    launch(3, *common, *zero3, f"run.dir={folder}/run")
    compare(folder / "quiet", folder / "run", tolerance=1e-4)
    one, many = (load_file(folder / name / "ema.safetensors") for name in ("quiet", "run"))
    assert one.keys() == many.keys() and all(abs(one[name] - many[name]).max() <= 1e-4 for name in one)
    norms = [[line[key] for line in records(folder / name) for key in line if key.startswith("gradient_norm/")]
             for name in ("quiet", "run")]
    assert len(norms[0]) == len(norms[1]) > 0, norms
    assert all(abs(a - b) <= 1e-3 * max(1, abs(a)) for a, b in zip(*norms)), norms


def a_reproducible_run_goes_on_with_a_power_of_two(folder):
    common = [SHAPES, "dataset.train=64", "dataset.eval=16", "loader.batch_size=16", "train.max_steps=30", "train.log_every=1step",
              "checkpoint.every=3step", "distributed.batch=global", "distributed.reproducible=true"]
    run(*common, f"run.dir={folder}/quiet")
    code, output = launch_and_kill(3, folder, "--elastic", "1:4", "--max-restarts", 3, *common, wanted=8)
    assert code == 0 and "restarting with 2 ranks" in output, output
    assert (folder / "quiet/model.safetensors").read_bytes() == (folder / "run/model.safetensors").read_bytes()


def a_campaign_of_kills_ends_with_the_weights_of_a_quiet_run(folder):
    campaign = SOURCE / "tests/campaigns/kill_ranks.py"
    done = subprocess.run([sys.executable, campaign, "--kills", "6", "--binary", RUNNER], capture_output=True, text=True,
                          env=environment(RUNNER_SOURCE_DIR=str(SOURCE)), timeout=580)
    assert done.returncode == 0, done.stdout + done.stderr


if __name__ == "__main__":
    chosen = set(sys.argv[1:])
    cases = [a_restart_goes_on_from_the_newest_checkpoint, the_only_rank_restarts_in_its_folder,
             a_run_from_another_checkpoint_restarts_from_its_own, an_elastic_run_goes_on_with_those_that_are_left,
             sharded_parameters_go_on_with_another_number_of_ranks, a_reproducible_run_goes_on_with_a_power_of_two]
    if THOROUGH or chosen:
        cases += [a_campaign_of_kills_ends_with_the_weights_of_a_quiet_run]
    main([case for case in cases if not chosen or case.__name__ in chosen])
