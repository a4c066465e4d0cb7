"""Runs in SwanLab's offline format, judged by SwanLab itself: its DataStoreReader with its protobuf classes, and a real `swanlab sync`
against a stub on loopback."""

import hashlib
import json
import math
import os
import subprocess
import unittest
from pathlib import Path

import tracker_tools
from tracker_tools import Stub, vendor, write

tracker_tools.in_vendors_environment()

from swanlab.proto.swanlab.record.v1.record_pb2 import Record  # noqa: E402
from swanlab.sdk.internal.core_python.store import DataStoreReader  # noqa: E402

ID = "0123456789abcdef01234"
FOLDER = f"swanlog/run-20231114_221320-{ID}"


def read(folder):
    reader = DataStoreReader()
    reader.open(folder / f"run-{ID}.swanlab")
    records = []
    for data in iter(reader.scan, None):
        record = Record()
        record.ParseFromString(data)
        records.append(record)
    reader.close()
    return records


def of_kind(records, kind):
    return [getattr(record, kind) for record in records if record.HasField(kind)]


def backend(method, path, body):
    """As much of SwanLab's backend as an upload needs."""
    if path.endswith("/login/api_key"):
        return {"sid": "s", "expiredAt": "2099-01-01T00:00:00.000Z", "userInfo": {"username": "me"}, "webHost": "http://127.0.0.1", "apiHost": "http://127.0.0.1"}
    if path.endswith("/experiment"):
        return 201, {"id": 1, "cuid": ID, "slug": ID, "name": "n", "createdAt": "2026-01-01T00:00:00.000Z"}
    if "/resources/presigned/put" in path:
        return {"urls": [f"{path}" for _ in json.loads(body).get("paths", [])]}
    project = {"cuid": "p", "name": "shapes", "path": "/me/shapes", "group": {"username": "me"}, "_count": {"experiments": 0}}
    return project if "/project/" in path and method == "GET" else {}


def losses(stub):
    """The points of train/loss that a server on loopback was sent."""
    points = {}
    for _, path, body in stub.requests:
        if path.endswith("/house/metrics") and json.loads(body)["type"] == "scalar":
            points.update({metric["index"]: metric["data"] for metric in json.loads(body)["metrics"] if metric["key"] == "train/loss"})
    return points


class SwanLab(unittest.TestCase):
    def setUp(self):
        self.scratch = tracker_tools.scratch()
        self.folder = Path(self.scratch.name) / "run"

    def tearDown(self):
        self.scratch.cleanup()

    def test_whole_run(self):
        write("swanlab", self.folder, "whole", "project=shapes")
        run = self.folder / FOLDER
        records = read(run)
        start = records[0].start
        self.assertTrue(records[0].HasField("start"))
        self.assertEqual((start.project, start.name, start.id, list(start.tags)), ("shapes", "größe 1", ID, ["baseline", "ä"]))
        self.assertEqual(start.started_at.ToMilliseconds(), 1700000000500)
        scalars = of_kind(records, "scalar")
        self.assertEqual({s.step: s.value.number for s in scalars if s.key == "train/loss"}, {n: 1 / n for n in range(1, 201)})
        self.assertEqual({s.step: s.value.number for s in scalars if s.key == "eval/accuracy"}, {n: n / 1000 for n in range(20, 201, 20)})
        self.assertEqual([s.value.number for s in scalars if s.key == "größe/ä"], list(range(1, 201)))
        odd = [s.value.number for s in scalars if s.key == "odd/value"]
        self.assertTrue(math.isnan(odd[0]) and odd[1:] == [math.inf, -math.inf], odd)
        self.assertEqual({c.column_key: c.section_name for c in of_kind(records, "column")},
                         {"train/loss": "train", "eval/accuracy": "eval", "größe/ä": "größe", "odd/value": "odd", "note": "default",
                          "samples/first_batch": "samples"})
        picture, note = (m.value.items[0] for m in of_kind(records, "media"))
        for item, kind in ((picture, "image"), (note, "text")):
            written = (run / "media" / kind / item.filename).read_bytes()
            self.assertEqual((item.size, item.sha256), (len(written), hashlib.sha256(written).hexdigest()))
        (finish,) = of_kind(records, "finish")
        self.assertEqual(finish.state, 1)
        (saved,) = of_kind(records, "save")
        import yaml
        config = {key: entry["value"] for key, entry in yaml.safe_load(Path(saved.source_path).read_text()).items()}
        self.assertEqual(config, {"optimizer.lr": 0.1, "optimizer.name": "sgd", "train.epochs": 3, "run.deterministic": True,
                                  "model.note": "\ufffdä"})

    def test_resumed_killed_stopped_failed(self):
        for scenario in ("resumed", "placed"):
            write("swanlab", self.folder / scenario, scenario)
            records = read(self.folder / scenario / FOLDER)
            self.assertEqual([s.step for s in of_kind(records, "scalar") if s.key == "train/loss"], list(range(1, 81)))
            self.assertEqual([s.step for s in of_kind(records, "scalar") if s.key == "eval/accuracy"], [20, 40, 60, 80])
            self.assertEqual((len(of_kind(records, "start")), len(of_kind(records, "finish"))), (1, 1))
            columns = [column.column_key for column in of_kind(records, "column")]
            self.assertEqual(len(columns), len(set(columns)))
        write("swanlab", self.folder / "killed", "killed", returncode=-9)
        records = read(self.folder / "killed" / FOLDER)
        self.assertEqual(len([s for s in of_kind(records, "scalar") if s.key == "train/loss"]), 100)
        self.assertEqual(of_kind(records, "finish"), [])
        for scenario, state in (("stopped", 1), ("failed", 2), ("interrupted", 3)):
            write("swanlab", self.folder / scenario, scenario)
            (finish,) = of_kind(read(self.folder / scenario / FOLDER), "finish")
            self.assertEqual(finish.state, state)
            self.assertTrue(finish.error)

    def test_many_points(self):
        write("swanlab", self.folder / "many", "many")
        self.assertEqual(len(of_kind(read(self.folder / "many" / FOLDER), "scalar")), 100000)

    def test_many_metrics(self):
        write("swanlab", self.folder / "wide", "wide")
        records = read(self.folder / "wide" / FOLDER)
        self.assertEqual((len(of_kind(records, "scalar")), len(of_kind(records, "column"))), (1500, 500))

    def test_swanlab_sync_uploads_it(self):
        write("swanlab", self.folder, "resumed", "project=shapes")
        with Stub(backend) as stub:
            done = vendor("swanlab", "sync", "-k", "k" * 21, "-h", stub.address, self.folder / FOLDER)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            points = {}
            for method, path, body in stub.requests:
                if path.endswith("/house/metrics") and json.loads(body)["type"] == "scalar":
                    for metric in json.loads(body)["metrics"]:
                        points.setdefault(metric["key"], []).append((metric["index"], metric["data"]))
            self.assertEqual(sorted(points["train/loss"]), [(n, 1 / n) for n in range(1, 81)], done.stdout)
            self.assertEqual(sorted(points["eval/accuracy"]), [(n, n / 1000) for n in (20, 40, 60, 80)])
            states = [json.loads(body)["state"] for _, path, body in stub.requests if path.endswith("/state")]
            self.assertEqual(states, ["FINISHED"])


    def test_a_growing_file_can_be_synced_again_and_again(self):
        write("swanlab", self.folder, "resumed", "project=shapes")
        file = self.folder / FOLDER / f"run-{ID}.swanlab"
        whole = file.read_bytes()
        with Stub(backend) as stub:
            for bytes_ in (whole[:len(whole) // 3], whole[:2 * len(whole) // 3], whole):  # torn, as while it is written
                file.write_bytes(bytes_)
                done = vendor("swanlab", "sync", "-k", "k" * 21, "-h", stub.address, self.folder / FOLDER)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(losses(stub), {n: 1 / n for n in range(1, 81)})

    def test_live_hands_it_to_swanlabs_own_program(self):
        (self.folder / "bin").mkdir(parents=True)
        (self.folder / "bin/swanlab").symlink_to(tracker_tools.VENDORS / "bin/swanlab")
        with Stub(backend) as stub:
            os.environ.update(SWANLAB_API_HOST=stub.address, SWANLAB_WEB_HOST=stub.address, SWANLAB_API_KEY="k" * 21)
            before = os.environ["PATH"]
            os.environ["PATH"] = f"{self.folder / 'bin'}:{before}"
            try:
                write("swanlab", self.folder, "resumed", "mode=live")
            finally:
                os.environ["PATH"] = before
                del os.environ["SWANLAB_API_HOST"], os.environ["SWANLAB_WEB_HOST"], os.environ["SWANLAB_API_KEY"]
            log = (self.folder / FOLDER / "sync.log").read_text()
            self.assertEqual(losses(stub), {n: 1 / n for n in range(1, 81)}, log)
        for file in self.folder.rglob("*"):
            if file.is_file():
                self.assertNotIn(b"k" * 21, file.read_bytes(), file)

    def test_live_without_the_program_is_a_warning(self):
        done = subprocess.run([tracker_tools.TOOL, "swanlab", self.folder, "whole", "mode=live"], capture_output=True, text=True,
                              env={**os.environ, "PATH": "/nowhere"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("does not start", done.stderr)
        self.assertEqual(len([s for s in of_kind(read(self.folder / FOLDER), "scalar") if s.key == "train/loss"]), 200)


if __name__ == "__main__":
    unittest.main()
