"""What checkpoints cost: saving while a network trains, files of a large model beside other writers, resuming after a million steps,
and runs that are killed all the time."""
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from contenders import HERE, RUNNER, run, side_by_side

CHECKPOINT = HERE.parent / "build/release/bin/benchmark_checkpoint"
RESNET = ["model=resnet18", "model.stem=cifar", "loader.batch_size=16", "optimizer=sgd", "optimizer.lr=0.1", "optimizer.momentum=0.9"]


def turns(contenders, rounds):
    """Each contender once in a round, in another order each time, so that what disturbs the machine disturbs all."""
    found = {name: [] for name in contenders}
    for round_ in range(rounds):
        names = list(contenders)
        for name in names[round_ % len(names):] + names[: round_ % len(names)]:
            found[name].append(contenders[name]())
    return found


def while_training(data, rounds, steps=200):
    """resnet18 on CIFAR-10 with a checkpoint every 50 steps in the background: ratio to none. Two runs without tell how much is noise."""
    overrides = lambda every: [*RESNET, f"dataset.dir={data.cifar}", f'checkpoint.every="{every}"']
    return {name: [side_by_side("images.toml", overrides(every), overrides("never"), steps) for _ in range(rounds)]
            for name, every in (("no checkpoints", "never"), ("one every 50 steps", "50step"))}


def large_model(rounds, size=2 * 10**9):
    """Seconds to save and to load a model of 2 GB, each in a process of its own; dd writes as many bytes and flushes."""
    def of(command):
        def once():
            with tempfile.TemporaryDirectory(dir=os.environ.get("CHECKPOINT_DIR")) as folder:
                return json.loads(run(command(folder), os.cpu_count(), os.cpu_count()).output.strip().splitlines()[-1])
        return once

    def dd():
        # From a file in memory, not from /dev/zero: some disks are faster with zeros.
        with (tempfile.TemporaryDirectory(dir=os.environ.get("CHECKPOINT_DIR")) as folder,
              tempfile.NamedTemporaryFile(dir="/dev/shm") as source):
            piece = os.urandom(4 << 20)
            for _ in range(size // len(piece)):
                source.write(piece)
            source.flush()
            done = run(["dd", f"if={source.name}", f"of={folder}/bytes", "bs=4M", "conv=fsync"], 1, 1)
            return {"save": done.seconds, "load": None}

    peer = lambda how: of(lambda folder: [sys.executable, HERE / "peer/checkpoint.py", how, folder, size])
    contenders = {"runner": of(lambda folder: [CHECKPOINT, folder, size]), "torch.save": peer("torch"),
                  "safetensors in Python": peer("safetensors"), "Accelerate's save_state": peer("accelerate"), "dd with fsync": dd}
    if subprocess.run([sys.executable, "-c", "import accelerate"], capture_output=True).returncode != 0:
        del contenders["Accelerate's save_state"]
    return turns(contenders, rounds)


TINY = ["model=mlp", "model.hidden=[16]", "dataset=synthetic", "~dataset.transform", "loader.batch_size=8", "run.threads=1",
        'checkpoint.every="never"']


def moved_to(folder, step):
    """The run's checkpoint as if it had been written after so many steps, at the place in the data where the run would be then, with a record of each."""
    checkpoint = next(path for path in (folder / "checkpoints").iterdir() if not path.is_symlink())
    state = json.loads((checkpoint / "state.json").read_text())
    progress = state["progress"]["integers"]
    # As train.cpp counts: whole epochs of steps_per_epoch updates, of which the last one of an epoch may be smaller.
    examples, steps = progress["examples_per_epoch"], progress["steps_per_epoch"]
    epoch, position = step // steps, step % steps * (progress["examples"] // progress["step"])
    progress.update({"step": step, "examples": epoch * examples + position, "epoch": epoch, "cursor.epoch": epoch,
                     "cursor.position": position})
    state["progress"]["numbers"]["exact_epoch"] = epoch + position / examples
    write_records(folder, step)
    places = state["trackers"]["parts"]["/places"]["parts"]
    places["jsonl"]["integers"]["metrics.jsonl"] = (folder / "metrics.jsonl").stat().st_size
    places["csv"]["integers"]["step"] = step
    places["tensorboard"]["integers"]["size"] = next((folder / "tensorboard").iterdir()).stat().st_size
    text = json.dumps(state)
    (checkpoint / "state.json").write_text(text)
    manifest = json.loads((checkpoint / "manifest.json").read_text())
    manifest.update({"step": step, "epoch": state["progress"]["numbers"]["exact_epoch"]})
    manifest["files"]["state.json"] = {"size": len(text), "sha256": hashlib.sha256(text.encode()).hexdigest()}
    (checkpoint / "manifest.json").write_text(json.dumps(manifest))
    checkpoint.rename(checkpoint.with_name(f"step-{step:08}"))
    (folder / "checkpoints/latest").unlink()
    (folder / "checkpoints/latest").symlink_to(f"step-{step:08}")


def write_records(folder, step):
    """A record of each step in metrics.jsonl, metrics.csv and TensorBoard."""
    with open(folder / "metrics.jsonl", "w") as records, open(folder / "metrics.csv", "w") as rows:
        rows.write("step,epoch,time,train/loss,train/lr\n")
        for i in range(1, step + 1):
            records.write(f'{{"step":{i},"epoch":{i / 100:.2f},"time":{i / 1000:.3f},"train/loss":2.3,"train/lr":0.001}}\n')
            rows.write(f"{i},{i / 100:.2f},{i / 1000:.3f},2.3,0.001\n")
    events = next((folder / "tensorboard").iterdir())
    steps = [record for record in event_records(events.read_bytes()) if b"train/loss" in record]
    events.write_bytes(b"".join(steps) * (step // len(steps)))


def event_records(content):
    """The records of a TensorBoard file, each with its length and checksums."""
    at = 0
    while at < len(content):
        size = int.from_bytes(content[at:at + 8], "little") + 16
        yield content[at:at + size]
        at += size


def until_first_record(words, records, step):
    size = records.stat().st_size
    os.sync()  # what was made up for this is not for the run to flush
    began = time.monotonic()
    process = subprocess.Popen([str(word) for word in [*words, f"train.max_steps={step + 10**6}", "train.log_every=1step"]],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while records.stat().st_size <= size:
        if process.poll() is not None:
            sys.exit("the run ended before its first step")
        time.sleep(0.002)
    seconds = time.monotonic() - began
    process.kill()
    process.wait()
    return seconds


def resuming(rounds):
    """Seconds from the start of a process that resumes at a step until the record of its first step is there."""
    recipe = HERE / "recipes/images.toml"

    def after(step):
        def once():
            with tempfile.TemporaryDirectory() as scratch:
                folder = Path(scratch) / "run"
                # The millionth step of epochs of 6251 is in the middle of one.
                words = [RUNNER, recipe, f"run.dir={folder}", *TINY, "dataset.train=50008", "tracker=[csv,tensorboard]"]
                run([*words, "train.max_steps=10", "train.log_every=1step", 'checkpoint.every="10step"'], 1, 1)
                if step != 10:
                    moved_to(folder, step)
                return until_first_record(words, folder / "metrics.jsonl", step)
        return once

    return turns({f"at step {step:,}": after(step) for step in (10, 1_000_000)}, rounds)


def goodput(data, minutes, every=30):
    """The share of the time that went into steps that counted, of a run that is killed every 30 seconds."""
    words = [RUNNER, HERE / "recipes/images.toml", "model=simple_cnn", f"dataset.dir={data.cifar}", "train.log_every=50step"]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "run"
        began, kills = time.monotonic(), 0
        while time.monotonic() - began < 60 * minutes:
            process = subprocess.Popen([str(word) for word in [*words, f"run.dir={folder}", "train.max_steps=100000000"]],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            try:
                _, errors = process.communicate(timeout=every)
                sys.exit(f"the run ended by itself:\n{errors.decode()}")
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.communicate()
                kills += 1
        elapsed = time.monotonic() - began
        state = json.loads((folder / "checkpoints/latest/state.json").read_text())
        shutil.rmtree(folder)
    # What the checkpoint counts is the time of steps that nobody has to repeat.
    times = state["times"]["numbers"]
    counted = sum(times[activity] for activity in ("data", "forward and backward", "update"))
    return {"kills": kills, "seconds": elapsed, "steps": state["progress"]["integers"]["step"], "share": counted / elapsed}
