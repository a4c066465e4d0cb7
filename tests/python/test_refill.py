"""`runner track` fills in what trackers lack, from metrics.jsonl, and says that they have everything only if they have. Trackers lack
something after their disk was full, or because the process was killed before they had written what was in memory."""

import csv
import json
import pathlib
import shutil
import subprocess

import time
import urllib.parse

from run_helpers import RUNNER, environment, main, records
from test_trackers_disk import with_disk
from tracker_tools import Stub

FILES = {"csv": "metrics.csv", "tensorboard": "tensorboard", "wandb": "wandb", "swanlab": "swanlog", "comet": "comet"}
RECIPE = """[model]
name = "mlp"
[dataset]
name = "synthetic"
train = 64
eval = 16
[loader]
batch_size = 8
[optimizer]
name = "sgd"
lr = 0.01
[train]
max_steps = 8
log_every = "1step"
[run]
threads = 1
"""


def runner(*words, code=0, **options):
    done = subprocess.run([RUNNER, *map(str, words)], capture_output=True, text=True, env=environment(), timeout=300, **options)
    assert done.returncode == code, (words, done)
    return done


def logged(run):
    return sorted((name, record["step"]) for record in records(run) for name in record if name not in ("step", "epoch", "time"))


def in_csv(run):
    rows = csv.DictReader((run / "metrics.csv").open())
    return sorted((name, int(row["step"])) for row in rows for name, cell in row.items() if cell and name not in ("step", "epoch", "time"))


def in_comet(run):
    lines = [json.loads(line) for line in next((run / "comet").glob("*-messages.json")).open()]
    return sorted((line["payload"]["metric"]["metricName"], line["payload"]["metric"]["step"]) for line in lines if line["type"] == "metric_msg")


def in_tensorboard(run):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    events = EventAccumulator(str(run / "tensorboard"), size_guidance={"scalars": 0})
    events.Reload()
    return sorted((tag, each.step) for tag in events.Tags()["scalars"] for each in events.Scalars(tag))


def trackers(names, where=None):
    return "tracker=[" + ",".join(f'{{name="{name}"' + (f',logging_dir="{where}/{name}"' if where else "") + "}" for name in names) + "]"


def what_was_lost_comes_from_metrics_jsonl(folder):
    (folder / "r.toml").write_text(RECIPE)
    run, kept = folder / "run", folder / "kept"
    runner(folder / "r.toml", trackers(FILES), f"run.dir={run}")
    already = runner("track", run).stdout
    assert already == "".join(f"{name}: has everything already\n" for name in FILES), already
    kept.mkdir()
    for file in FILES.values():
        (shutil.copytree if (run / file).is_dir() else shutil.copy)(run / file, kept / file)
    runner("resume", run, "train.max_steps=24")
    early = {(name, step) for name, step in logged(run) if step <= 8}
    for file in FILES.values():  # as they were after 8 steps
        (shutil.rmtree if (run / file).is_dir() else pathlib.Path.unlink)(run / file)
        shutil.move(kept / file, run / file)
    lost = [(name, step) for name, step in logged(run) if step > 8]
    assert len(lost) > 16 and early and len(in_csv(run)) < len(logged(run))
    said = runner("track", run).stdout
    for name in FILES:
        assert f"{name}: has everything now; {len(lost)} points came from metrics.jsonl" in said, said
    assert in_csv(run) == in_comet(run) == logged(run)
    try:
        assert in_tensorboard(run) == logged(run)
    except ImportError:
        print("    TensorBoard's own reader is not installed")
    assert runner("track", run).stdout == already


def a_full_disk_is_made_up_for(folder):
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
        print("    not run: a file system of its own needs root")
        return
    (folder / "r.toml").write_text(RECIPE)
    (folder / "disk").mkdir()
    run = folder / "run"
    done = with_disk("size=16k", folder / "disk", folder / "r.toml", trackers(FILES, folder / "disk"), f"run.dir={run}", "train.max_steps=400")
    assert done.returncode == 0, done.stderr
    said = runner("track", run).stdout  # the disk is not there any more: everything is lost
    for name in FILES:
        assert f"{name}: has everything now; {len(logged(run))} points came from metrics.jsonl" in said, said
    assert in_csv_file(folder / "disk/csv/metrics.csv") == logged(run)


def in_csv_file(file):
    return in_csv(file.parent)


def a_server_that_lost_points_gets_them(folder):
    points = {}

    def answer(_, path, body):
        if "get-by-name" in path:
            return {"experiment": {"experiment_id": "1"}}
        if "runs/create" in path:
            return {"run": {"info": {"run_id": "r", "artifact_uri": "s3://elsewhere"}}}
        if "get-history" in path:
            key = urllib.parse.parse_qs(urllib.parse.urlparse(path).query)["metric_key"][0]
            return {"metrics": [{"key": key, "step": step, "timestamp": time, "value": value} for name, step, time, value in points if name == key]}
        if "log-batch" in path:
            for each in json.loads(body).get("metrics", []):
                points[each["key"], each["step"], each["timestamp"], each["value"]] = True
        return {"run": {"info": {"run_id": "r", "artifact_uri": "s3://elsewhere"}, "data": {}}}

    with Stub(answer) as stub:
        (folder / "r.toml").write_text(RECIPE)
        runner(folder / "r.toml", f'tracker=[{{name="mlflow",url="{stub.address}"}}]', f"run.dir={folder / 'run'}")
        assert sorted((name, step) for name, step, _, _ in points) == logged(folder / "run")
        for gone in list(points)[::3]:
            del points[gone]
        said = runner("track", folder / "run").stdout
        assert "mlflow: has everything now; " in said and "came from metrics.jsonl" in said, said
        assert sorted((name, step) for name, step, _, _ in points) == logged(folder / "run")
        assert runner("track", folder / "run").stdout == "mlflow: has everything already\n"
    done = runner("track", folder / "run", code=1)  # the server is gone: nobody can tell
    assert "has everything" not in done.stdout, done


def the_end_of_a_run_waits_as_long_as_it_says(folder):
    for number, (answer, wanted) in enumerate([((500, {"message": "broken"}), "answered 500"), ((429, {"message": "slowly"}), "answered 429"),
                                               (None, "does not answer"), ("hangs", "its server is slow")]):
        with Stub(lambda *_: time.sleep(60) if answer == "hangs" else answer) as stub:
            if answer is None:
                stub.server.shutdown()
                stub.server.server_close()
            (folder / "r.toml").write_text(RECIPE)
            begun = time.monotonic()
            done = runner(folder / "r.toml", f'tracker=[{{name="mlflow",url="{stub.address}"}}]', f"run.dir={folder / str(number)}")
            took = time.monotonic() - begun
            said = " ".join((done.stdout + done.stderr).split())
            assert wanted in said and ("server is slow" in said) == (answer == "hangs"), (wanted, said)
            assert took < 25, (wanted, took)  # was more; the message says 10


if __name__ == "__main__":
    main([what_was_lost_comes_from_metrics_jsonl, a_full_disk_is_made_up_for, a_server_that_lost_points_gets_them,
          the_end_of_a_run_waits_as_long_as_it_says])
