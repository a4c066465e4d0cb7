"""Runs whose folder, disk or data fails them: each ends with a message and leaves nothing half-written."""

import os
import resource
import subprocess

import numpy
from run_helpers import RUNNER, SANITIZED, SHAPES, Skip, environment, main, records, run, wait_for_steps
from safetensors.numpy import load_file, save_file
from shapes_run import SMALL, start


def on_a_small_disk(folder, size):
    """What a run says that ends on a file system of that size, and the names of the files it leaves; nothing where none can be mounted."""
    disk = folder / f"disk{size}"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", disk], capture_output=True)
    if mounted.returncode != 0:
        raise Skip("a small file system cannot be mounted here")
    try:
        done = run(SHAPES, *SMALL, "train.max_steps=2", f"run.dir={disk}/run", check=False)
        assert done.returncode == 1, done.stderr
        names = [path.name for path in (disk / "run").iterdir() if "safetensors" in path.name]
        for name in names:
            load_file(disk / "run" / name)
        return done.stderr, names
    finally:
        subprocess.run(["umount", disk], check=True)


def a_folder_that_cannot_be_made_is_named(folder):
    (folder / "file").write_text("in the way")
    done = run(SHAPES, *SMALL, f"run.dir={folder}/file/run", check=False)
    assert done.returncode == 1 and "file/run" in done.stderr, done.stderr


def a_missing_folder_for_temporary_files_is_named(folder):
    done = subprocess.run([RUNNER, "run", "--dry-run", SHAPES, *SMALL], env=environment(TMPDIR=str(folder / "nope")), capture_output=True,
                          text=True, timeout=500)
    assert done.returncode == 1 and f'TMPDIR is "{folder}/nope", which is not a folder' in done.stderr, done


def a_current_folder_that_is_deleted_is_named(folder):
    program = os.path.abspath(RUNNER)
    done = subprocess.run(["sh", "-c", 'mkdir gone && cd gone && rmdir ../gone && exec "$0" --version', program], cwd=folder,
                          env=environment(), capture_output=True, text=True, timeout=500)
    assert done.returncode == 2 and done.stderr == "runner: error: the current folder no longer exists; change to another one\n", done


def a_full_disk_is_an_error_and_leaves_no_half_model(folder):
    if found := on_a_small_disk(folder, "300k"):
        said, names = found
        assert "model.safetensors" in said and "space" in said and names == [], found


def a_disk_too_small_for_the_checkpoint_still_takes_the_weights(folder):
    if found := on_a_small_disk(folder, "5m"):  # 2 MB of weights, 6 MB of checkpoint
        said, names = found
        assert "Not enough disk space for a checkpoint" in said and names == ["model.safetensors"], found


def closed_standard_descriptors_take_no_part(folder):
    """The first file that is opened would get the number of one, and what is said to the terminal would land in it."""
    done = subprocess.run(["bash", "-c", 'exec "$0" "$@" 0<&- 1>&- 2>&-', RUNNER, SHAPES, *SMALL, "train.epochs=1", f"run.dir={folder}/run"],
                          env=environment(), timeout=500)
    assert done.returncode == 0, done
    assert len(records(folder / "run")) == 9  # each line is a record: eight steps and an evaluation
    assert load_file(folder / "run/model.safetensors")["fc2.bias"].shape == (10,)
    assert "eval  epoch 1" in (folder / "run/log.txt").read_text()


def a_limit_on_the_size_of_files_is_an_error(folder):
    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))  # bytes: less than the weights

    done = subprocess.run([RUNNER, SHAPES, *SMALL, "train.max_steps=1", f"run.dir={folder}/run"], env=environment(), preexec_fn=limited,
                          capture_output=True, text=True, timeout=500)
    assert done.returncode == 1 and "File too large" in done.stderr and "model.safetensors" in done.stderr, done
    assert not list((folder / "run").glob("*.safetensors"))


def a_run_folder_that_is_deleted_ends_the_run(folder):
    process = start(SHAPES, *SMALL, "train.epochs=100000", f"run.dir={folder}/run")
    wait_for_steps(folder / "run", process)
    (folder / "run").rename(folder / "moved")
    said = process.communicate(timeout=120)[0]
    assert process.returncode == 1 and "was deleted or moved" in said, said
    left = sorted(path.name for path in (folder / "run").rglob("*")) if (folder / "run").exists() else []
    assert left == [], f"a folder without a recipe is in the way of the next start: {left}"


def a_data_file_that_is_truncated_ends_the_run_and_saves(folder):
    data = folder / "data.safetensors"
    labels = numpy.arange(200_000) % 4
    inputs = numpy.repeat(numpy.eye(4, dtype="float32")[labels], 16, axis=1)
    save_file({"input": inputs, "target": labels}, data)
    (folder / "recipe.toml").write_text(f"""
model = {{ name = "mlp", hidden = [4] }}
dataset = {{ name = "tensors", train = "{data}", eval = "{data}", eval_limit = 100 }}
optimizer = {{ name = "sgd", lr = 0.01 }}
train = {{ epochs = 100000, log_every = "1step" }}
eval = {{ every = "never" }}
loader = {{ batch_size = 64 }}
""")
    process = start(folder / "recipe.toml", f"run.dir={folder}/run")
    wait_for_steps(folder / "run", process)
    os.truncate(data, 4096)
    said = process.communicate(timeout=120)[0]
    assert process.returncode == 1 and "data.safetensors was truncated while it was being read" in said, said
    assert list((folder / "run/checkpoints").glob("step-*")), "nothing was saved"


def the_run_folder_is_not_looked_at_in_every_step(folder):
    """A network file system takes its time for that."""
    traced = ["strace", "-f", "-qq", "-e", "trace=%%stat", "-o", folder / "calls.txt"]
    steps = 400
    command = [RUNNER, SHAPES, *SMALL, f"train.max_steps={steps}", "~train.epochs", "checkpoint.every=never", "eval.every=never",
               f"run.dir={folder}/run"]
    try:
        done = subprocess.run([*map(str, [*traced, *command])], capture_output=True, text=True, env=environment(), timeout=400)
    except FileNotFoundError:
        return print("skipped: no strace")
    if "ptrace" in done.stderr:
        return print("skipped: processes cannot be traced here")
    assert done.returncode == 0, done.stderr
    looks = (folder / "calls.txt").read_text().count(f'"{folder}/run"')
    assert 0 < looks < steps / 4, looks


def too_little_memory_ends_with_a_message(folder):
    """Also where memory runs out while the libraries are loaded."""
    ends = set()
    for megabytes in range(400, 520, 10):
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
        done = subprocess.run([RUNNER, "check", str(SHAPES)], env=environment(), capture_output=True, text=True, timeout=300, preexec_fn=limit)
        assert done.returncode in (0, 1, 127) and "terminate called" not in done.stderr, (megabytes, done)
        ends.add("not enough memory" in done.stderr)
    assert True in ends or SANITIZED, ends


main([a_folder_that_cannot_be_made_is_named, a_missing_folder_for_temporary_files_is_named,
      a_current_folder_that_is_deleted_is_named, a_full_disk_is_an_error_and_leaves_no_half_model,
      a_disk_too_small_for_the_checkpoint_still_takes_the_weights, closed_standard_descriptors_take_no_part,
      a_limit_on_the_size_of_files_is_an_error, a_run_folder_that_is_deleted_ends_the_run,
      a_data_file_that_is_truncated_ends_the_run_and_saves, the_run_folder_is_not_looked_at_in_every_step,
      too_little_memory_ends_with_a_message])
