"""What trackers cost: simple_cnn, every step logged to all trackers at once, against no tracker but metrics.jsonl.

Both runs train at the same time, each with all of its threads on a core of its own, so that what changes the speed of the machine changes
both; the cores are swapped from one round to the next. MLflow is a server on loopback that accepts everything, at once or after five seconds; a real one would take processor time away from
training on the same machine, and that is not the tracker's.
"""
import json
import subprocess
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from contenders import HERE, RUNNER

FILES = ["csv", "tensorboard", "wandb", "swanlab", "comet", "console"]
STEPS, TIMED = 800, (100, 700)  # both runs are training in the timed ones


class Server:
    """Says to every question of the tracker what a server without any runs would."""

    def __init__(self, delay):
        answers = {"get-by-name": {"experiment": {"experiment_id": "1"}}, "runs/get": {"run": {"data": {}}},
                   "runs/create": {"run": {"info": {"run_id": "r", "artifact_uri": "mlflow-artifacts:/1/r/artifacts"}}}}

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                time.sleep(delay)
                body = json.dumps(next((answers[key] for key in answers if key in self.path), {})).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PUT = answer

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def tracker(self):
        return f'{{name="mlflow",url="http://127.0.0.1:{self.server.server_port}",artifacts=false}}'


def begin(core, folder, data, trackers):
    return subprocess.Popen(["taskset", "-c", str(core), str(RUNNER), str(HERE / "recipes/images.toml"), f"run.dir={folder}", "run.threads=1",
                             f"train.max_steps={STEPS}", "train.log_every=1step", "checkpoint.every=never", f"dataset.dir={data.cifar}",
                             f"tracker=[{','.join(trackers)}]"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def step_seconds(folder):
    with open(f"{folder}/metrics.jsonl") as records:
        times = {record["step"]: record["time"] for record in map(json.loads, records) if "time" in record}
    first, last = TIMED
    return (times[last] - times[first]) / (last - first)


def ratio(data, trackers, round_):
    """Seconds a step with these trackers by seconds without any."""
    with tempfile.TemporaryDirectory() as scratch:
        runs = {f"{scratch}/with": trackers, f"{scratch}/without": []}
        processes = [begin((round_ + place) % 2, folder, data, of) for place, (folder, of) in enumerate(runs.items())]
        for process in processes:
            if process.wait() != 0:
                raise SystemExit("a run with trackers failed")
        return step_seconds(f"{scratch}/with") / step_seconds(f"{scratch}/without")


def measure(data, rounds):
    """Ratios, each of two rounds with the cores swapped. Two runs without trackers tell how much of it is noise."""
    files = [f'{{name="{name}"}}' for name in FILES]
    contenders = {"no trackers": [], "all trackers": [*files, Server(0).tracker()],
                  "all trackers, MLflow answers after 5 s": [*files, Server(5).tracker()]}
    found = {name: [] for name in contenders}
    for round_ in range(rounds):
        for name, trackers in contenders.items():
            found[name].append((ratio(data, trackers, 0) * ratio(data, trackers, 1)) ** 0.5)
    return found
