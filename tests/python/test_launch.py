"""Several ranks as real processes: they train as one would, and whatever happens to one of them is named."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

try:
    from safetensors.numpy import load_file
except ImportError:
    print("skipped: safetensors is not installed; scripts/setup.sh --tests does it")
    sys.exit(77)

from run_helpers import RUNNER, SOURCE, THOROUGH, environment, main, records, run, series

SHAPES = SOURCE / "recipes/shapes.toml"
# 70 examples in batches of 32, 32 and 6, and 6 do not divide by 4.
SMALL = [SHAPES, "dataset.train=70", "dataset.eval=50", "loader.batch_size=32", "loader.eval_batch_size=16",
         "train.log_every=1step", "distributed.batch=global", "checkpoint.every=never"]
ENDLESS = [SHAPES, "dataset.train=512", "dataset.eval=32", "loader.batch_size=32", "train.epochs=100000",
           "train.log_every=1step", "eval.every=100000ep"]


def start(*words, **more):
    return subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            env=environment(**more), start_new_session=True)


def launch(count, *arguments, **options):
    return run("launch", "-n", count, *arguments, **options)


def compare(one, other, tolerance=2e-5):
    left, right = series(one, "train/loss"), series(other, "train/loss")
    assert len(left) == len(right) > 0, (left, right)
    assert all(abs(a - b) <= tolerance * max(1, abs(a)) for a, b in zip(left, right)), (left, right)
    for name in ("eval/accuracy", "eval/loss"):
        a, b = series(one, name), series(other, name)
        assert len(a) == len(b) > 0 and all(abs(x - y) <= tolerance for x, y in zip(a, b)), (name, a, b)
    first, second = load_file(one / "model.safetensors"), load_file(other / "model.safetensors")
    assert first.keys() == second.keys()
    for name in first:
        assert abs(first[name] - second[name]).max() <= tolerance, name


def any_number_of_ranks_trains_as_one(folder):
    for accumulation in (1, 3) if THOROUGH else (3,):
        common = [*SMALL, "train.epochs=2", f"train.accumulation_steps={accumulation}", "loader.batch_size=12",
                  "train.clip_norm=0.5"]
        one = folder / f"1-{accumulation}"
        run(*common, f"run.dir={one}")
        for ranks in (2, 3, 4) if THOROUGH else (2, 4):
            many = folder / f"{ranks}-{accumulation}"
            launch(ranks, *common, f"run.dir={many}")
            compare(one, many)


def every_strategy_gives_the_same(folder):
    for optimizer in ("adamw", "lamb") if THOROUGH else ("lamb",):
        common = [*SMALL, "train.epochs=2", f"optimizer={optimizer}", "optimizer.lr=0.001", "train.clip_norm=0.5"]
        run(*common, f"run.dir={folder}/{optimizer}")
        for strategy in ("zero1", "zero2"):
            many = folder / f"{optimizer}-{strategy}"
            launch(3, *common, f"distributed.strategy={strategy}", f"run.dir={many}")
            compare(folder / optimizer, many)


def reproducible_gives_the_same_bits(folder):
    common = [*SMALL, "train.epochs=2", "train.accumulation_steps=2", "loader.batch_size=24", "distributed.reproducible=true"]
    run(*common, f"run.dir={folder}/1")
    for ranks in (2, 4) if THOROUGH else (4,):
        launch(ranks, *common, f"run.dir={folder}/{ranks}")
        assert (folder / "1/model.safetensors").read_bytes() == (folder / f"{ranks}/model.safetensors").read_bytes()
    assert run("launch", "-n", 3, *common, f"run.dir={folder}/3", check=False).returncode == 1


def a_batch_of_each_rank_is_larger_in_all(folder):
    common = [SHAPES, "dataset.train=96", "dataset.eval=32", "train.epochs=1", "train.log_every=1step"]
    run(*common, "loader.batch_size=32", f"run.dir={folder}/one")
    launch(2, *common, "loader.batch_size=16", f"run.dir={folder}/two")
    compare(folder / "one", folder / "two")


def batch_norm_statistics_are_those_of_rank_0(folder):
    launch(2, *SMALL, "train.max_steps=3", "model=resnet18", "distributed.check_collectives=true", f"run.dir={folder}/run")
    weights = load_file(folder / "run/model.safetensors")
    assert any("running_mean" in name for name in weights), sorted(weights)


def only_rank_0_shows_and_writes(folder):
    done = launch(2, *SMALL, "train.epochs=1", f"run.dir={folder}/run")
    assert done.stderr.count("eval/accuracy") <= 4, done.stderr
    names = {path.name for path in (folder / "run").iterdir()}
    assert "ranks" in names and (folder / "run/ranks/rank-1.log").exists(), names
    steps = [record["step"] for record in records(folder / "run") if "train/loss" in record]
    assert steps == sorted(set(steps)), steps


def mistakes_in_the_recipe_are_said_once(folder):
    done = run("launch", "-n", 3, SHAPES, "optimizer.lrr=1", check=False)
    assert done.returncode == 2 and done.stderr.count("lrr") <= 2, done.stderr
    done = run("launch", SHAPES, check=False)
    assert done.returncode == 2 and "-n" in done.stderr, done.stderr
    done = run("launch", "--nodes", 2, "-n", 1, SHAPES, check=False)
    assert done.returncode == 2 and "--secret-file" in done.stderr, done.stderr


def torchrun_starts_ranks(folder):
    torchrun = pathlib.Path(sys.executable).with_name("torchrun")
    if not torchrun.exists():
        print("skipped: no torchrun")
        return
    run(*SMALL, "train.epochs=1", f"run.dir={folder}/one")
    subprocess.run([torchrun, "--no-python", "--standalone", "--nproc-per-node=2", RUNNER, *map(str, SMALL),
                    "train.epochs=1", f"run.dir={folder}/two"], check=True, capture_output=True, env=environment(),
                   timeout=400)
    compare(folder / "one", folder / "two")


def mpirun_starts_ranks(folder):
    if not shutil.which("mpirun"):
        print("skipped: no mpirun")
        return
    run(*SMALL, "train.epochs=1", f"run.dir={folder}/one")
    subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2", RUNNER, *map(str, SMALL),
                    "train.epochs=1", f"run.dir={folder}/two"], check=True, capture_output=True, env=environment(),
                   timeout=400)
    compare(folder / "one", folder / "two")


def wait_for_steps(folder, process, wanted=3):
    metrics = pathlib.Path(folder) / "metrics.jsonl"
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and process.poll() is None:
        if metrics.exists() and len(metrics.read_text().splitlines()) >= wanted:
            return
        time.sleep(0.05)
    if process.poll() is None:
        process.kill()
    raise AssertionError(f"no steps: {process.communicate()[0]}")


def ranks_of(launcher):
    """The processes of the ranks, by rank."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = int(re.search(r"^PPid:\s+(\d+)", (entry / "status").read_text(), re.M)[1])
            if parent != launcher.pid:
                continue
            variables = (entry / "environ").read_bytes().split(b"\0")
        except (OSError, TypeError):
            continue
        for variable in variables:
            if variable.startswith(b"RUNNER_RANK="):
                found[int(variable.split(b"=")[1])] = int(entry.name)
    return found


def gone(process):
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def wait_until_gone(processes):
    deadline = time.monotonic() + 300
    while not all(gone(process) for process in processes):
        assert time.monotonic() < deadline, "a rank outlives its launcher"
        time.sleep(0.05)


def a_killed_rank_is_named_and_the_others_end(folder):
    launcher = start(RUNNER, "launch", "-n", 3, *ENDLESS, "distributed.timeout=60s", f"run.dir={folder}/run")
    wait_for_steps(folder / "run", launcher)
    ranks = ranks_of(launcher)
    os.kill(ranks[2], signal.SIGKILL)
    output = launcher.communicate(timeout=300)[0]
    assert launcher.returncode == 128 + signal.SIGKILL, (launcher.returncode, output)
    assert re.search(rf"rank 2 \(process {ranks[2]}\) died first: signal 9", output), output
    assert re.search(r"Rank 0 stopped in .*: rank 2 \(host .*, process \d+\) has died without a word at step \d+", output), output
    wait_until_gone(ranks.values())


def a_frozen_rank_is_named_within_the_timeout(folder):
    launcher = start(RUNNER, "launch", "-n", 2, *ENDLESS, "distributed.timeout=8s", f"run.dir={folder}/run")
    wait_for_steps(folder / "run", launcher)
    ranks = ranks_of(launcher)
    os.kill(ranks[1], signal.SIGSTOP)
    output = launcher.communicate(timeout=300)[0]
    assert launcher.returncode != 0, output
    assert re.search(r"rank 1 \(host .*\) does not answer: frozen, or cut off; last seen at step \d+", output), output
    assert f"rank 1 (process {ranks[1]}) was stopped by a signal" in output, output
    wait_until_gone(ranks.values())


def a_signal_to_any_rank_stops_all_at_the_same_step(folder):
    for number, target in enumerate(("rank 1", "launcher")):
        place = folder / str(number)
        launcher = start(RUNNER, "launch", "-n", 2, *ENDLESS, f"run.dir={place}")
        wait_for_steps(place, launcher)
        ranks = ranks_of(launcher)
        os.kill(ranks[1] if target == "rank 1" else launcher.pid, signal.SIGTERM)
        output = launcher.communicate(timeout=300)[0]
        assert launcher.returncode == 128 + signal.SIGTERM, (launcher.returncode, output)
        assert (place / "checkpoints/latest/manifest.json").exists(), output
        wait_until_gone(ranks.values())


def ranks_end_with_a_killed_launcher(folder):
    launcher = start(RUNNER, "launch", "-n", 2, *ENDLESS, f"run.dir={folder}/run")
    wait_for_steps(folder / "run", launcher)
    ranks = ranks_of(launcher)
    launcher.kill()
    launcher.communicate(timeout=300)
    wait_until_gone(ranks.values())


def a_restart_goes_on_from_the_newest_checkpoint(folder):
    common = [SHAPES, "dataset.train=256", "dataset.eval=64", "loader.batch_size=32", "train.max_steps=40",
              "train.log_every=1step", "checkpoint.every=5step", "distributed.batch=global"]
    run(*common, f"run.dir={folder}/quiet")
    launcher = start(RUNNER, "launch", "-n", 2, "--max-restarts", 1, *common, f"run.dir={folder}/run")
    wait_for_steps(folder / "run", launcher, wanted=12)
    os.kill(ranks_of(launcher)[1], signal.SIGKILL)
    output = launcher.communicate(timeout=300)[0]
    assert launcher.returncode == 0, output
    assert "starting 2 ranks again (restart 1 of 1)" in output, output
    compare(folder / "quiet", folder / "run", tolerance=1e-4)


class TwoMachines:
    """Two network namespaces with a cable between them; None where that is not allowed."""

    def __enter__(self):
        self.names = [f"runner{os.getpid() % 100000}{letter}" for letter in "ab"]
        try:
            for name in self.names:
                self.ip("netns", "add", name)
            self.ip("link", "add", "cable0", "netns", self.names[0], "type", "veth", "peer", "name", "cable1", "netns", self.names[1])
            for number, name in enumerate(self.names):
                self.ip("-n", name, "addr", "add", f"10.77.0.{number + 1}/24", "dev", f"cable{number}")
                self.ip("-n", name, "link", "set", "lo", "up")
                self.ip("-n", name, "link", "set", f"cable{number}", "up")
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"skipped: no network namespaces ({error})")
            self.__exit__()
            return None
        return self

    def __exit__(self, *_):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL, check=False)

    @staticmethod
    def ip(*words):
        subprocess.run(["ip", *words], check=True, stderr=subprocess.DEVNULL)

    def launch(self, number, folder, *arguments):
        secret = folder / "secret"
        if not secret.exists():
            secret.write_text(os.urandom(32).hex())
            secret.chmod(0o600)
        return start("ip", "netns", "exec", self.names[number], RUNNER, "launch", "--nodes", 2, "--node-rank", number,
                     "--rendezvous", "10.77.0.1:4711", "--secret-file", secret, "-n", 1, *arguments)


def two_machines_train_as_one(folder):
    with TwoMachines() as machines:
        if not machines:
            return
        common = [*SMALL, "train.epochs=1", "distributed.timeout=60s"]
        run(*common, f"run.dir={folder}/one")
        launchers = [machines.launch(number, folder, *common, f"run.dir={folder}/two") for number in (1, 0)]
        for launcher in launchers:
            output = launcher.communicate(timeout=300)[0]
            assert launcher.returncode == 0, output
        compare(folder / "one", folder / "two")


def a_lost_network_ends_both_machines(folder):
    with TwoMachines() as machines:
        if not machines:
            return
        launchers = [machines.launch(number, folder, *ENDLESS, "distributed.timeout=3s", f"run.dir={folder}/run") for number in (0, 1)]
        wait_for_steps(folder / "run", launchers[0])
        machines.ip("-n", machines.names[0], "link", "set", "cable0", "down")
        outputs = [launcher.communicate(timeout=300)[0] for launcher in launchers]
        assert all(launcher.returncode != 0 for launcher in launchers), outputs
        assert re.search(r"rank 1 \(host .*\) (does not answer|has died)", outputs[0]), outputs[0]


def an_elastic_run_goes_on_with_those_that_are_left(folder):
    common = [SHAPES, "dataset.train=256", "dataset.eval=64", "loader.batch_size=32", "train.max_steps=40",
              "train.log_every=1step", "checkpoint.every=5step", "distributed.batch=global"]
    run(*common, f"run.dir={folder}/quiet")
    launcher = start(RUNNER, "launch", "--elastic", "1:2", "--max-restarts", 3, *common, f"run.dir={folder}/run")
    wait_for_steps(folder / "run", launcher, wanted=12)
    os.kill(ranks_of(launcher)[0], signal.SIGKILL)
    output = launcher.communicate(timeout=300)[0]
    assert launcher.returncode == 0, output
    assert "starting 1 rank again" in output, output
    compare(folder / "quiet", folder / "run", tolerance=1e-4)


if __name__ == "__main__":
    chosen = set(sys.argv[1:])
    cases = [any_number_of_ranks_trains_as_one, every_strategy_gives_the_same,
             reproducible_gives_the_same_bits, a_batch_of_each_rank_is_larger_in_all,
             batch_norm_statistics_are_those_of_rank_0, only_rank_0_shows_and_writes,
             mistakes_in_the_recipe_are_said_once, torchrun_starts_ranks, mpirun_starts_ranks,
             a_killed_rank_is_named_and_the_others_end, a_frozen_rank_is_named_within_the_timeout,
             a_signal_to_any_rank_stops_all_at_the_same_step, ranks_end_with_a_killed_launcher,
             a_restart_goes_on_from_the_newest_checkpoint, an_elastic_run_goes_on_with_those_that_are_left,
             two_machines_train_as_one]
    if THOROUGH or chosen:
        cases.append(a_lost_network_ends_both_machines)
    main([case for case in cases if not chosen or case.__name__ in chosen])
