"""Whatever happens to one of several ranks: it is named, the others end and save, and nobody hangs."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import zlib

from launch_helpers import (ENDLESS, RESUMABLE, SMALL, compare, free_address, hold_connections, launch, launch_machine, listening_ports,
                            load_file, ranks_of, start, wait_until_gone, whole_checkpoints)
from run_helpers import RUNNER, SANITIZED, Skip, main, records, run, wait_for_steps, wait_until


# Its parts take a while to write.
LARGE = """
[model]
name = "mlp"
hidden = [2048, 2048, 2048]
[dataset]
name = "synthetic"
shape = [2048]
train = 64
eval = 8
[loader]
batch_size = 4
[optimizer]
name = "adamw"
lr = 0.0001
[train]
max_steps = 1000
[eval]
every = "never"
[checkpoint]
every = "2step"
async = false
"""


def png(size, shade):
    """A grey square as a file."""
    def chunk(name, data):
        return len(data).to_bytes(4, "big") + name + data + zlib.crc32(name + data).to_bytes(4, "big")
    header = size.to_bytes(4, "big") * 2 + bytes([8, 2, 0, 0, 0])
    rows = (b"\0" + bytes([shade] * 3 * size)) * size
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def a_killed_rank_is_named_and_the_others_end(folder):
    launcher = start(RUNNER, "launch", "-n", 3, *ENDLESS, "checkpoint.every=2step", "distributed.timeout=60s",
                     f"run.dir={folder}/run")
    wait_for_steps(folder / "run", launcher)
    ranks = ranks_of(launcher)
    os.kill(ranks[2], signal.SIGKILL)
    output = launcher.communicate(timeout=300)[0]
    assert launcher.returncode == 128 + signal.SIGKILL, (launcher.returncode, output)
    launcher_said = re.search(rf"rank 2 \(process {ranks[2]}\) failed first: signal 9 \(Killed\), last seen at step (\d+)", output)
    assert launcher_said, output
    # All ranks make the same updates: it died in the one after the last that rank 0 has recorded, or in the next.
    recorded = records(folder / "run")[-1]["step"]
    for rank, said in (0, output), (1, (folder / "run/ranks/rank-1.log").read_text()):
        named = rf"Rank {rank} stopped in .*: rank 2 \(host .*, process {ranks[2]}\) died without an error message; last seen at step \d+"
        assert re.search(named, said), said
        step = int(re.search(named.replace(r"step \d+", r"step (\d+)"), said)[1])
        assert abs(step - recorded) <= 1, (step, recorded)
    assert abs(int(launcher_said[1]) - recorded) <= 1, (launcher_said[0], recorded)
    wait_until_gone(ranks.values())
    whole_checkpoints(folder / "run")


def a_killed_rank_is_named_though_its_connections_stay_open(folder):
    """As happens where somebody else has them too: the ranks it was connected to see no end of them, but the store knows."""
    launcher = start(RUNNER, "launch", "-n", 2, *ENDLESS, "distributed.timeout=120s", f"run.dir={folder}/run")
    wait_for_steps(folder / "run", launcher)
    ranks = ranks_of(launcher)
    try:
        held = hold_connections(ranks[1], without=listening_ports(launcher.pid))
    except PermissionError:
        launcher.terminate()
        launcher.communicate()
        raise Skip("no access to the files of another process")
    assert held
    os.kill(ranks[1], signal.SIGKILL)
    output = launcher.communicate(timeout=300)[0]
    assert re.search(rf"Rank 0 stopped in .*: rank 1 \(host .*, process {ranks[1]}\) died without an error message; last seen at step \d+", output), output
    for connection in held:
        os.close(connection)


def a_rank_killed_while_a_checkpoint_is_written_is_noticed(folder):
    """Rank 0 waits for the parts of the others, and no exchange tells it that one has died."""
    (folder / "recipe.toml").write_text(LARGE)
    for number in range(3):
        here = folder / str(number)
        launcher = start(RUNNER, "launch", "-n", 2, folder / "recipe.toml", "distributed.strategy=zero3", "distributed.timeout=600s",
                         f"run.dir={here}")
        # Its part takes many times as long as this notices.
        wait_until(lambda: list(here.glob("checkpoints/.unfinished-*")), launcher)
        rank = ranks_of(launcher)[1]
        os.kill(rank, signal.SIGKILL)
        output = launcher.communicate(timeout=120)[0]
        assert launcher.returncode == 128 + signal.SIGKILL, (launcher.returncode, output)
        assert re.search(rf"rank 1 \(process {rank}\) failed first: signal 9", output), output
        assert "a disk that they share" not in output, output
        assert re.search(r"rank 1 \(host .*\) (has ended|died without an error message)", output), output


def a_rank_that_dies_before_it_joins_is_named(folder):
    """The others do not wait for it until they are killed."""
    limited = [*SMALL, "distributed.timeout=300s", f"run.dir={folder}/run"]
    launcher = start(RUNNER, "launch", "-n", 3, *limited)
    while 2 not in (ranks := ranks_of(launcher)):
        assert launcher.poll() is None, launcher.communicate()
    os.kill(ranks[2], signal.SIGKILL)
    output = launcher.communicate(timeout=300)[0]
    assert launcher.returncode == 128 + signal.SIGKILL, output
    assert re.search(rf"rank 2 \(process {ranks[2]}\) failed first: signal 9", output), output
    assert "Rank 2 of 3 ended before it joined the others" in output, output


def picture_recipe(folder, name="pictures"):
    """A recipe for a folder of 16 grey squares, which it makes."""
    for kind in ("first", "second"):
        (folder / name / kind).mkdir(parents=True)
        for number in range(8):
            (folder / name / kind / f"{number}.png").write_bytes(png(32, 10 * number))
    (folder / "recipe.toml").write_text(f"""
        model = {{name = "simple_cnn"}}
        dataset = {{name = "image_folder", dir = "{folder}/{name}", split = 0.25, transform = [{{name = "resize", height = 32, width = 32}}]}}
        loader = {{batch_size = 4, workers = 0}}
        optimizer = {{name = "sgd", lr = 0.1}}
        train = {{epochs = 100000, log_every = "1step"}}
        eval = {{every = "never"}}
        """)
    return folder / "recipe.toml"


def a_rank_that_throws_is_named_with_its_reason(folder):
    """One image of many vanishes in mid-run: only the rank whose batch has it meets the error."""
    launcher = start(RUNNER, "launch", "-n", 2, picture_recipe(folder), "distributed.timeout=60s", f"run.dir={folder}/run")
    wait_for_steps(folder / "run", launcher)
    for picture in folder.glob("pictures/*/3.png"):
        picture.unlink()
    output = launcher.communicate(timeout=300)[0]
    assert launcher.returncode == 1, output
    assert re.search(r"rank (\d) \(process \d+\) failed first: exit code 1, at step \d+", output), output
    both = output + (folder / "run/ranks/rank-1.log").read_text()
    assert "3.png" in both and re.search(r"Rank (\d) stopped in .*: rank (?!\1)\d \(host .*\) failed at step \d+.*3\.png", both), both


def different_settings_are_refused_by_name(folder):
    for wrong in (["optimizer.lr=0.07"], ["model=mlp"], ["distributed.strategy=zero1"]):
        address = free_address()
        launchers = [launch_machine(number, address, folder, *ENDLESS, "optimizer.lr=0.05", "distributed.timeout=60s",
                                    *(wrong if number else []), f"run.dir={folder}/run", "--tee") for number in (0, 1)]
        outputs = [launcher.communicate(timeout=300)[0] for launcher in launchers]
        assert all(launcher.returncode == 1 for launcher in launchers), outputs
        for output in outputs:
            assert "The ranks do not have the same settings, versions and data" in output, output
        expected = {"optimizer.lr=0.07": "optimizer.lr: 0.05 on rank 0; 0.07 on rank 1.",
                    "model=mlp": 'model.name: "mlp" on rank 1;',
                    "distributed.strategy=zero1": 'distributed.strategy: "ddp" on rank 0; "zero1" on rank 1.'}[wrong[0]]
        assert expected in outputs[0], outputs[0]


def different_data_is_refused(folder):
    """Files of the same names and sizes, but not the same contents."""
    recipe = picture_recipe(folder)
    shutil.copytree(folder / "pictures", folder / "others")
    for picture in folder.glob("others/*/*.png"):
        picture.write_bytes(png(32, 200))
    hidden = ("unshare", "-m", "sh", "-c", f'mount --bind {folder}/others {folder}/pictures && exec "$@"', "sh")
    if subprocess.run([*hidden, "true"], capture_output=True).returncode != 0:
        raise Skip("no mount namespaces")
    address = free_address()
    launchers = [launch_machine(number, address, folder, recipe, f"run.dir={folder}/run", through=hidden if number else ())
                 for number in (0, 1)]
    outputs = [launcher.communicate(timeout=300)[0] for launcher in launchers]
    assert all(launcher.returncode == 1 for launcher in launchers), outputs
    assert "Rank 1 has other examples in its training set than rank 0" in outputs[0], outputs[0]


def a_signal_to_any_rank_stops_all_at_the_same_step(folder):
    """Each rank has its part of the optimizer's state: only from one step do they continue as if nothing had happened."""
    common = [*RESUMABLE, "train.max_steps=60", "checkpoint.every=auto", "optimizer=adamw", "optimizer.lr=1e-4", "distributed.strategy=zero1"]
    run(*common, f"run.dir={folder}/quiet")
    for number, target in enumerate(("rank 1", "launcher")):
        place = folder / str(number)
        launcher = start(RUNNER, "launch", "-n", 2, *common, f"run.dir={place}")
        wait_for_steps(place, launcher)
        ranks = ranks_of(launcher)
        os.kill(ranks[1] if target == "rank 1" else launcher.pid, signal.SIGTERM)
        output = launcher.communicate(timeout=300)[0]
        assert launcher.returncode == 128 + signal.SIGTERM, (launcher.returncode, output)
        wait_until_gone(ranks.values())
        stopped_at = json.loads((place / "result.json").read_text())["steps"]
        assert 0 < stopped_at < 60 and whole_checkpoints(place)[-1] == stopped_at, (stopped_at, output)
        launch(2, *common, f"run.dir={place}")
        compare(folder / "quiet", place, tolerance=1e-4)


def a_closing_terminal_stops_and_saves_though_it_says_so_twice(folder):
    """Steps that take long enough for the second signal to come before the end of the first one's step."""
    launcher = start(RUNNER, "launch", "-n", 2, *ENDLESS, "dataset.train=4096", "train.accumulation_steps=1000", "checkpoint.every=never",
                     f"run.dir={folder}/run")
    wait_for_steps(folder / "run", launcher, wanted=1)
    launcher.send_signal(signal.SIGHUP)
    for line in launcher.stdout:
        if "stopping after this step" in line:
            break
    launcher.send_signal(signal.SIGHUP)
    output = launcher.communicate(timeout=300)[0]
    assert launcher.returncode == 128 + signal.SIGHUP and "failed first" not in output, (launcher.returncode, output)
    assert whole_checkpoints(folder / "run") == [json.loads((folder / "run/result.json").read_text())["steps"]], output


def a_rank_does_not_need_its_temporary_folder(folder):
    """Somebody may delete old files in /tmp while a run takes days."""
    scratch = folder / "scratch"
    scratch.mkdir()
    launcher = start(RUNNER, "launch", "-n", 2, *ENDLESS, f"run.dir={folder}/run", TMPDIR=str(scratch))
    wait_for_steps(folder / "run", launcher)
    assert (temporary := list(scratch.glob("runner-*"))), list(scratch.iterdir())
    for place in temporary:
        shutil.rmtree(place)
    wait_for_steps(folder / "run", launcher, wanted=len(records(folder / "run")) + 3)
    launcher.send_signal(signal.SIGTERM)
    output = launcher.communicate(timeout=300)[0]
    assert launcher.returncode == 128 + signal.SIGTERM, (launcher.returncode, output)


def a_checkpoint_is_requested_through_the_launcher(folder):
    """As `scancel -s USR1` does, which may come before any rank can take the request."""
    launcher = start(RUNNER, "launch", "-n", 2, *ENDLESS, f"run.dir={folder}/run", "checkpoint.every=never")
    wait_until(lambda: len(ranks_of(launcher)) == 2, launcher)
    launcher.send_signal(signal.SIGUSR1)
    wait_until((folder / "run/checkpoints/latest/manifest.json").exists, launcher)
    ranks = ranks_of(launcher)
    launcher.kill()
    launcher.communicate(timeout=300)
    wait_until_gone(ranks.values())


def ranks_end_with_a_killed_launcher(folder):
    launcher = start(RUNNER, "launch", "-n", 2, *ENDLESS, f"run.dir={folder}/run")
    wait_for_steps(folder / "run", launcher)
    ranks = ranks_of(launcher)
    launcher.kill()
    launcher.communicate(timeout=300)
    wait_until_gone(ranks.values())


def memory_that_runs_out_on_one_rank(folder):
    if SANITIZED:
        raise Skip("the sanitizer takes more memory than the test leaves")
    # One layer's output for all examples of a rank is 164 MB, and there are four of that size: too much for 400 MiB.
    recipe = folder / "wide.toml"
    recipe.write_text("""
        model = {name = "mlp", hidden = [4096]}
        dataset = {name = "synthetic", shape = [4], train = 20000, eval = 10}
        loader = {batch_size = 10000, workers = 0}
        optimizer = {name = "sgd", lr = 0.1}
        train = {max_steps = 1, log_every = "1step"}
        run = {threads = 1}
        """)

    def train(name, *arguments):
        address = free_address()
        words = [recipe, "--tee", f"run.dir={folder}/{name}", *arguments]
        limited = ("prlimit", f"--data={400 << 20}")
        launchers = [launch_machine(0, address, folder, *words), launch_machine(1, address, folder, *words, through=limited)]
        outputs = [launcher.communicate(timeout=300)[0] for launcher in launchers]
        return launchers[0].returncode, launchers[1].returncode, *outputs

    first, second, here, there = train("stop")
    assert first == second == 1, (here, there)
    assert re.search(r"Rank 0 stopped in .*: rank 1 \(host .*, process \d+\) failed at step 0 \(last exchange: .*\): 10000 examples at once "
                     "do not fit into memory", here), here
    assert "failed first: exit code 1" in there, there

    first, second, here, there = train("split", "train.on_out_of_memory=split")
    assert first == second == 0, (here, there)
    assert "examples at once do not fit" in there and "examples at once do not fit" not in here, (here, there)
    launch(2, recipe, "loader.batch_size=1000", "train.accumulation_steps=10", f"run.dir={folder}/small")
    split, small = (load_file(folder / f"{name}/model.safetensors") for name in ("split", "small"))
    for name in split:
        assert abs(split[name] - small[name]).max() < 1e-5, name


if __name__ == "__main__":
    chosen = set(sys.argv[1:])
    cases = [a_killed_rank_is_named_and_the_others_end, a_killed_rank_is_named_though_its_connections_stay_open,
             a_rank_killed_while_a_checkpoint_is_written_is_noticed, a_rank_that_dies_before_it_joins_is_named,
             a_rank_that_throws_is_named_with_its_reason, different_settings_are_refused_by_name, different_data_is_refused,
             a_signal_to_any_rank_stops_all_at_the_same_step, a_closing_terminal_stops_and_saves_though_it_says_so_twice,
             a_rank_does_not_need_its_temporary_folder, a_checkpoint_is_requested_through_the_launcher,
             ranks_end_with_a_killed_launcher, memory_that_runs_out_on_one_rank]
    main([case for case in cases if not chosen or case.__name__ in chosen])
