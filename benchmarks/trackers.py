"""What trackers cost: simple_cnn, every step logged to all trackers at once, against no tracker but metrics.jsonl.

MLflow is a server on loopback that accepts everything, at once or after five seconds; a real one would take processor time away from
training on the same machine, and that is not the tracker's.
"""
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from contenders import side_by_side

FILES = ["csv", "tensorboard", "wandb", "swanlab", "comet", "console"]
STEPS = 800


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


def measure(data, rounds):
    """Ratios to no trackers. Two runs without trackers tell how much of it is noise."""
    overrides = lambda trackers: [f"dataset.dir={data.cifar}", "checkpoint.every=never", f"tracker=[{','.join(trackers)}]"]
    files = [f'{{name="{name}"}}' for name in FILES]
    contenders = {"no trackers": [], "all trackers": [*files, Server(0).tracker()],
                  "all trackers, MLflow answers after 5 s": [*files, Server(5).tracker()]}
    found = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, trackers in contenders.items():
            found[name].append(side_by_side("images.toml", overrides(trackers), overrides([]), STEPS))
    return found
