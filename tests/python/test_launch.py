"""Several ranks as real processes: they train as one would, whoever starts them."""

import os
import pathlib
import shutil
import socket
import subprocess
import sys

from launch_helpers import SMALL, TwoMachines, compare, free_address, launch, load_file
from run_helpers import RUNNER, SHAPES, THOROUGH, Skip, environment, main, records, run, series


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
        for strategy in ("zero1", "zero2", "zero3"):
            many = folder / f"{optimizer}-{strategy}"
            launch(3, *common, f"distributed.strategy={strategy}", f"run.dir={many}")
            compare(folder / optimizer, many)


def hooks_see_the_same_gradients_with_every_strategy(folder):
    common = [*SMALL, "train.epochs=2", "optimizer=sgd", "optimizer.lr=0.01",
              'hook=[{name="histograms", every=1}, {name="gradient_noise", every=2, over=2}]']
    run(*common, f"run.dir={folder}/one")
    names = {name for record in records(folder / "one") for name in record if name.startswith(("gradient_norm/", "train/gradient_noise"))}
    assert len(names) > 2, names
    for strategy in ("ddp", "zero2", "zero3"):
        launch(2, *common, f"distributed.strategy={strategy}", f"run.dir={folder}/{strategy}")
        for name in names:
            one, many = series(folder / "one", name), series(folder / strategy, name)
            assert len(one) == len(many) and all(abs(a - b) <= 0.01 * abs(a) for a, b in zip(one, many)), (strategy, name, one, many)


def reproducible_gives_the_same_bits(folder):
    common = [*SMALL, "train.epochs=2", "train.accumulation_steps=2", "loader.batch_size=24", "distributed.reproducible=true"]
    run(*common, f"run.dir={folder}/1")
    for ranks in (2, 4) if THOROUGH else (4,):
        launch(ranks, *common, f"run.dir={folder}/{ranks}")
        assert (folder / "1/model.safetensors").read_bytes() == (folder / f"{ranks}/model.safetensors").read_bytes()
    done = run("launch", "-n", 3, *common, f"run.dir={folder}/3", check=False)
    assert done.returncode == 2 and done.stderr.count("needs a power of two of ranks") == 1 and "failed first" not in done.stderr, done.stderr


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


def ranks_share_the_cores(folder):
    """Where nobody has shared them out by OMP_NUM_THREADS."""
    cores = len(os.sched_getaffinity(0))
    for ranks, more, expected in (2, [], max(1, cores // 2)), (2, ["run.threads=3"], 3), (2, ["distributed.reproducible=true"], 1):
        place = folder / "-".join(more + [str(ranks)])
        variables = {name: value for name, value in environment().items() if name != "OMP_NUM_THREADS"}
        subprocess.run([RUNNER, "launch", "-n", str(ranks), *map(str, SMALL), "train.max_steps=1", *more, f"run.dir={place}"],
                       check=True, capture_output=True, env=variables, timeout=300)
        said = (place / "log.txt").read_text()
        assert f"threads of each rank: {expected}\n" in said, said


def a_run_that_diverges_fails_on_all_ranks_and_nobody_is_blamed(folder):
    for ranks in (1, 2):
        done = run("launch", "-n", ranks, "--max-restarts", 1, *SMALL, "train.epochs=3", "optimizer=sgd", "optimizer.lr=1e20",
                   f"run.dir={folder}/{ranks}", check=False)
        said = done.stdout + done.stderr
        assert done.returncode == 1 and "diverged" in said, said
        assert "failed first" not in said and "restarting" not in said, said


def ranks_without_examples_train_as_one(folder):
    """Of three examples, and then of one, some of four ranks get none."""
    common = [SHAPES, "dataset.train=4", "dataset.eval=3", "loader.batch_size=3", "train.epochs=2", "train.log_every=1step", "checkpoint.every=never",
              "distributed.batch=global", "distributed.timeout=60s", "optimizer=sgd", "optimizer.lr=0.01"]
    run(*common, f"run.dir={folder}/one")
    for strategy in ("ddp", "zero2", "zero3"):
        launch(4, *common, f"distributed.strategy={strategy}", f"run.dir={folder}/{strategy}")
        compare(folder / "one", folder / strategy)


def what_would_fail_again_is_not_restarted(folder):
    """A mistake that shows only when the recipe meets its data has its place, as in one process; a folder that cannot be used is named once."""
    mistake = [*SMALL, 'eval.metric=[{name="top_k", k=50}]', f"run.dir={folder}/run"]
    one = run(*mistake, check=False)
    done = run("launch", "-n", 2, "--max-restarts", 2, *mistake, check=False)
    assert one.returncode == done.returncode == 2 and one.stderr.splitlines()[-1] in done.stderr, done.stderr
    assert "failed first" not in done.stderr, done.stderr
    done = run("launch", "-n", 2, "--max-restarts", 2, *SMALL, "run.dir=/proc/none", check=False)
    assert done.returncode == 1 and done.stderr.count("cannot use the run folder") == 1 and "not restarting" in done.stderr, done.stderr


def mistakes_on_the_command_line_are_refused(folder):
    def refused(said, *words):
        done = run("launch", *words, SHAPES, "distributed.timeout=2s", check=False)
        assert done.returncode == 2 and said in done.stderr, (words, done.stderr)

    secret = folder / "secret"
    secret.write_text("x" * 40)
    secret.chmod(0o640)
    machines = ("--nodes", 2, "--node-rank", 0, "--secret-file", secret)
    refused("-n asks for 5000 ranks on a machine with", "-n", 5000)
    refused("--elastic asks for 5000 ranks", "--elastic", "1:5000", "--max-restarts", 1)
    refused("run: chmod 600", *machines, "--rendezvous", free_address(), "-n", 1)
    secret.chmod(0o600)
    refused("--rendezvous: cannot find nowhere.invalid", *machines, "--rendezvous", "nowhere.invalid:4711", "-n", 1)
    refused("need to know the port", *machines, "--rendezvous", "127.0.0.1:0", "-n", 1)
    refused("give the number of ranks on this one with -n", *machines, "--rendezvous", free_address(), "--elastic", "1:2", "--max-restarts", 1)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        refused("Address already in use", *machines, "--rendezvous", f"127.0.0.1:{taken.getsockname()[1]}", "-n", 1)
    refused("Cannot assign requested address", *machines, "--rendezvous", "192.0.2.1:4711", "-n", 1)  # of no machine


def mistakes_in_the_recipe_are_said_once(folder):
    done = run("launch", "-n", 3, SHAPES, "optimizer.lrr=1", check=False)
    assert done.returncode == 2 and done.stderr.count("lrr") <= 2, done.stderr
    done = run("launch", SHAPES, check=False)
    assert done.returncode == 2 and "-n" in done.stderr, done.stderr
    done = run("launch", "--nodes", 2, "-n", 1, SHAPES, check=False)
    assert done.returncode == 2 and "--secret-file" in done.stderr, done.stderr
    done = run("launch", "--elastic", "1:3", "--max-restarts", 1, SHAPES, "distributed.reproducible=true", check=False)
    assert done.returncode == 2 and "powers of two" in done.stderr, done.stderr
    done = run("launch", "--nodes", 2, "--node-rank", 0, "--rendezvous", "2130706433:4711", "--secret-file", folder / "none", "-n", 1, SHAPES,
               check=False)  # 127.0.0.1, in disguise as a host name of Debian's /etc/hosts would be
    assert done.returncode == 2 and "is a loopback address on this machine" in done.stderr, done.stderr
    done = run("launch", "--gpus", "0,1", "--elastic", "1:3", "--max-restarts", 1, SHAPES, check=False)
    assert done.returncode == 2 and "--elastic asks for 3 ranks, but there are 2 GPUs" in done.stderr, done.stderr
    done = run("launch", "--gpus", "0,x", "--elastic", "1:2", "--max-restarts", 1, SHAPES, check=False)
    assert done.returncode == 2 and "--gpus needs numbers" in done.stderr, done.stderr
    done = run("launch", "-n", 2, SHAPES, "distributed.reproducible=true", "train.on_out_of_memory=split", check=False)
    assert done.returncode == 2 and "which distributed.reproducible keeps fixed" in done.stderr, done.stderr
    done = run("launch", "-n", 2, SHAPES, "distributed.reproducible=true", "distributed.bucket_size=1MiB", check=False)
    assert done.returncode == 2 and "has no effect with reproducible = true" in done.stderr, done.stderr
    done = run("launch", "-n", 2, SHAPES, "distributed.backend=nccl", "run.device=cpu", check=False)
    assert done.returncode == 2 and "exchanges between GPUs" in done.stderr, done.stderr
    done = run("launch", "-n", 2, *SMALL, "distributed.backend=nccl", f"run.dir={folder}/run", check=False)
    assert done.returncode == 1 and "this rank computes on a CPU" in done.stderr, done.stderr
    for conflict in ("run.device=cpu", "precision=fp8", "train.on_out_of_memory=split", "distributed.strategy=zero3"):
        done = run("check", SHAPES, "train.cuda_graphs=true", conflict, check=False)
        assert done.returncode == 2 and "train.cuda_graphs" in done.stderr and "delete one of the two" in done.stderr, done.stderr
    done = run(*SMALL, "train.cuda_graphs=true", f"run.dir={folder}/run", check=False)
    assert done.returncode != 0 and "needs a GPU" in done.stderr, done.stderr


def torchrun_starts_ranks(folder):
    torchrun = pathlib.Path(sys.executable).with_name("torchrun")
    if not torchrun.exists():
        raise Skip("no torchrun")
    run(*SMALL, "train.epochs=1", f"run.dir={folder}/one")
    for own_store in ("0", "1"):  # "1": torchrun serves no store for the ranks, so rank 0 does
        two = folder / f"two{own_store}"
        subprocess.run([torchrun, "--no-python", "--standalone", "--nproc-per-node=2", RUNNER, *map(str, SMALL),
                        "train.epochs=1", "distributed.timeout=60s", f"run.dir={two}"], check=True, capture_output=True, text=True,
                       env=environment(TORCH_DISABLE_SHARE_RDZV_TCP_STORE=own_store), timeout=400)
        compare(folder / "one", two)


def ranks_join_by_the_variables_of_pytorch(folder):
    """As an operator of a cluster starts them: one process in each pod, and nothing but PyTorch's variables."""
    run(*SMALL, "train.epochs=1", f"run.dir={folder}/one")
    command = [RUNNER, *map(str, SMALL), "train.epochs=1", "distributed.timeout=60s"]
    for secret in (None, os.urandom(32).hex()):
        host, port = free_address().split(":")
        variables = {"WORLD_SIZE": "2", "MASTER_ADDR": host, "MASTER_PORT": port}
        if secret:
            (folder / "secret").write_text(secret)
            (folder / "secret").chmod(0o600)
            variables["RUNNER_SECRET_FILE"] = str(folder / "secret")
        two = folder / ("two" if secret else "plain")
        ranks = [subprocess.Popen([*command, f"run.dir={two}"], env=environment(RANK=str(rank), **variables),
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for rank in (1, 0)]
        for rank in ranks:
            output = rank.communicate(timeout=400)[0]
            assert rank.returncode == 0, output
        compare(folder / "one", two)
    done = subprocess.run(command, capture_output=True, text=True, env=environment(RANK="0", WORLD_SIZE="2"), timeout=400)
    assert done.returncode != 0 and "Set MASTER_ADDR and MASTER_PORT" in done.stderr, done.stderr


def mpirun_starts_ranks(folder):
    if not shutil.which("mpirun"):
        raise Skip("no mpirun")
    run(*SMALL, "train.epochs=1", f"run.dir={folder}/one")
    subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2", RUNNER, *map(str, SMALL),
                    "train.epochs=1", f"run.dir={folder}/two"], check=True, capture_output=True, text=True, env=environment(),
                   timeout=400)
    compare(folder / "one", folder / "two")


def two_machines_train_as_one(folder):
    with TwoMachines() as machines:
        common = [*SMALL, "train.epochs=1", "distributed.timeout=60s"]
        run(*common, f"run.dir={folder}/one")
        launchers = [machines.launch(number, folder, *common, f"run.dir={folder}/two") for number in (1, 0)]
        for launcher in launchers:
            output = launcher.communicate(timeout=300)[0]
            assert launcher.returncode == 0, output
        compare(folder / "one", folder / "two")


if __name__ == "__main__":
    chosen = set(sys.argv[1:])
    cases = [any_number_of_ranks_trains_as_one, every_strategy_gives_the_same, hooks_see_the_same_gradients_with_every_strategy,
             reproducible_gives_the_same_bits, a_batch_of_each_rank_is_larger_in_all,
             batch_norm_statistics_are_those_of_rank_0, only_rank_0_shows_and_writes, ranks_share_the_cores,
             a_run_that_diverges_fails_on_all_ranks_and_nobody_is_blamed, mistakes_in_the_recipe_are_said_once,
             mistakes_on_the_command_line_are_refused, ranks_without_examples_train_as_one, what_would_fail_again_is_not_restarted,
             torchrun_starts_ranks, ranks_join_by_the_variables_of_pytorch, mpirun_starts_ranks, two_machines_train_as_one]
    main([case for case in cases if not chosen or case.__name__ in chosen])
