"""How each contender is started, and what one run of it tells."""
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
RUNNER = HERE.parent / "build/release/bin/runner"
BARE = HERE.parent / "build/release/bin/benchmark_bare"
LOADER = HERE.parent / "build/release/bin/benchmark_loader"


@dataclass
class Work:
    """One comparison: a model with its batch, and how many steps are timed."""

    name: str
    model: str
    batch: int
    steps: int
    overrides: list = field(default_factory=list)  # of the recipe
    recipe: str = "images.toml"
    data: str = "cifar"  # or text, images


@dataclass
class Process:
    output: str
    began: float
    seconds: float
    megabytes: float  # the most that was resident
    private: float  # the most of it that was no file's, as far as looking now and then tells


def run(command, cores, threads, preload=None):
    """Runs on this many cores, whatever threads it starts."""
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads), PYTHONWARNINGS="ignore")
    if preload:
        environment["LD_PRELOAD"] = preload
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        began = time.time()
        process = subprocess.Popen([str(word) for word in command], stdout=output, stderr=errors, env=environment,
                                   preexec_fn=lambda: os.sched_setaffinity(0, range(cores)))
        seen, ended = [0], threading.Event()
        watcher = threading.Thread(target=watch, args=(process.pid, seen, ended))
        watcher.start()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.time() - began
        ended.set(), watcher.join()
        output.seek(0), errors.seek(0)
        if status != 0:
            sys.exit(f"failed: {' '.join(map(str, command))}\n{errors.read().decode()}")
        return Process(output.read().decode(), began, seconds, usage.ru_maxrss / 1024, max(seen))


def watch(pid, seen, ended):
    """Notes the megabytes of memory that are neither a library's nor a mapped file's, until the process has ended."""
    while not ended.wait(0.05):
        try:
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError):
            return
        seen += [int(line.split()[1]) / 1024 for line in lines if line.startswith("RssAnon")]


def peer(script, arguments, cores, preload=None):
    done = run([sys.executable, HERE / "peer" / script, *arguments], cores, cores, preload)
    told = json.loads(done.output.strip().splitlines()[-1])
    return {"step": told["step_seconds"], "first": told["first_step_at"] - done.began, "memory": done.megabytes}


def ordinary(work, data, cores):
    return peer("ordinary.py", [work.model, work.batch, work.steps, work.data, data.of(work)], cores)


def best(work, data, cores, *more):
    return peer("best.py", [work.model, work.batch, work.steps, work.data, data.of(work), *more], cores, jemalloc())


def compiled(work, data, cores):
    return best(work, data, cores, "--compile")


def bare(work, data, cores):
    if work.data == "images":
        return None  # it takes its data as tensors, and augmented JPEG files are no tensors
    done = run([BARE, work.model, work.batch, work.steps, cores, data.of(work)], cores, cores)
    told = json.loads(done.output)
    return {"step": told["step_seconds"], "first": told["first_step_at"] - done.began, "memory": done.megabytes}


def runner_once(recipe, overrides, cores, steps, ranks=1):
    """A run of this many steps; the second half of them is timed, as the run's own records tell. Ranks share the cores."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "run"
        half = max(1, steps // 2)
        launch = ["launch", "-n", ranks] if ranks > 1 else []
        threads = cores // ranks
        done = run([RUNNER, *launch, HERE / "recipes" / recipe, f"run.dir={folder}", f"run.threads={threads}",
                    f"train.max_steps={steps}", f"train.log_every={half}step", *overrides], cores, threads)
        return done, step_seconds(folder, half, 2 * half) if steps > 1 else None


def side_by_side(recipe, overrides, others, steps):
    """Seconds a step with the one list of overrides by seconds with the other. Both runs train at the same time, each with all of its
    threads on a core of its own, so that what changes the speed of the machine changes both; then again with the cores swapped."""
    def once(cores):
        with tempfile.TemporaryDirectory() as scratch:
            folders = [Path(scratch) / name for name in ("one", "other")]
            processes = [subprocess.Popen(["taskset", "-c", str(core), RUNNER, HERE / "recipes" / recipe, f"run.dir={folder}", "run.threads=1",
                                           f"train.max_steps={steps}", "train.log_every=1step", *of],
                                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                         for core, folder, of in zip(cores, folders, (overrides, others))]
            if any([process.wait() != 0 for process in processes]):
                sys.exit(f"failed: {recipe} with {overrides} or {others}")
            one, other = [step_seconds(folder, steps // 8, steps - steps // 8) for folder in folders]
            return one / other

    return (once((0, 1)) * once((1, 0))) ** 0.5


def step_seconds(folder, first, last):
    """Between these two steps, as the run's own records tell."""
    records = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    times = {record["step"]: record["time"] for record in records if "time" in record}
    return (times[last] - times[first]) / (last - first)


def exported(work, data, cores):
    """The peer's own module, exported by torch.export, trained by the runner."""
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "model.pt2"
        run([sys.executable, HERE / "peer/export.py", work.model, work.data, file], cores, cores)
        settings = [setting for setting in work.overrides if not setting.startswith("model.")]
        return ours(work, data, cores, f'model={{name="exported", file="{file}"}}', settings)


def ours(work, data, cores, model=None, settings=None):
    overrides = [model or f"model={work.model}", f"loader.batch_size={work.batch}", *data.overrides(work), *(work.overrides if settings is None else settings)]
    done, step = runner_once(work.recipe, overrides, cores, 2 * work.steps)
    # A whole process of one step, the saving of the model included: more than the first step, so it flatters nobody.
    first, _ = runner_once(work.recipe, overrides, cores, 1)
    return {"step": step, "first": first.seconds, "memory": done.megabytes}


def jemalloc():
    found = sorted(Path("/usr/lib").glob("*/libjemalloc.so.2"))
    return str(found[0]) if found else None


CONTENDERS = {"runner": ours, "runner, exported model": exported, "Accelerate, ordinary": ordinary, "Accelerate, best settings": best,
              "Accelerate, best settings, torch.compile": compiled, "bare loop": bare}
