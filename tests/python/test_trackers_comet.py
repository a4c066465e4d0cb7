"""Offline experiments for Comet, judged by Comet itself: the JSON schemas that `comet upload` uses, and `comet offline`."""

import csv
import io
import json
import unittest
import zipfile
from pathlib import Path

import tracker_tools
from tracker_tools import vendor, write

tracker_tools.in_vendors_environment()

from comet_ml import schemas  # noqa: E402

ID = "0123456789abcdef0123456789abcdef"
VALIDATORS = {"metric_msg": schemas.get_metric_msg_validator(), "parameter_msg": schemas.get_parameter_msg_validator(),
              "log_other": schemas.get_log_other_msg_validator()}


def read(archive):
    """The experiment and its messages, each held against Comet's schema."""
    with zipfile.ZipFile(archive) as files:
        assert files.testzip() is None
        experiment = json.loads(files.read("experiment.json"))
        messages = [json.loads(line) for line in files.read("messages.json").decode().splitlines()]
    schemas.get_experiment_file_validator().validate(experiment)
    for message in messages:
        VALIDATORS[message["type"]].validate(message["payload"])
    return experiment, messages


def metrics(messages, name):
    found = [message["payload"]["metric"] for message in messages if message["type"] == "metric_msg"]
    return [(metric["step"], metric["metricValue"]) for metric in found if metric["metricName"] == name]


class Comet(unittest.TestCase):
    def setUp(self):
        self.scratch = tracker_tools.scratch()
        self.folder = Path(self.scratch.name)

    def tearDown(self):
        self.scratch.cleanup()

    def test_whole_run(self):
        write("comet", self.folder, "whole", "project=shapes", "workspace=me")
        archive = self.folder / f"comet/{ID}.zip"
        experiment, messages = read(archive)
        self.assertEqual((experiment["project_name"], experiment["workspace"], experiment["offline_id"]), ("shapes", "me", ID))
        self.assertEqual((experiment["start_time"], experiment["tags"]), (1700000000500, ["baseline", "ä"]))
        self.assertEqual(metrics(messages, "train/loss"), [(n, 1 / n) for n in range(1, 201)])
        self.assertEqual(metrics(messages, "größe/ä"), [(n, n) for n in range(1, 201)])
        self.assertEqual(metrics(messages, "odd/value"), [(7, "NaN"), (8, "Infinity"), (9, "-Infinity")])
        params = {m["payload"]["param"]["paramName"]: m["payload"]["param"]["paramValue"] for m in messages if m["type"] == "parameter_msg"}
        self.assertEqual(params, {"optimizer|lr": 0.1, "optimizer|name": "sgd", "train|epochs": 3, "run|deterministic": True,
                                  "model|note": "\ufffdä"})
        others = {m["payload"]["key"]: m["payload"]["value"] for m in messages if m["type"] == "log_other"}
        self.assertEqual(others, {"Name": "größe 1", "note": "two\nlines ä", "Outcome": "finished"})
        self.assertEqual([m["payload"]["message_id"] for m in messages], list(range(1, len(messages) + 1)))

        done = vendor("comet", "offline", "--csv", archive)
        self.assertEqual((done.returncode, "ERROR" in done.stdout + done.stderr), (0, False), done.stderr)
        rows = {(row["level"], row["section"], row["name"]): row["value"] for row in csv.DictReader(io.StringIO(done.stdout))}
        self.assertEqual(float(rows["minimum", "metric", "train/loss"]), 1 / 200, rows)

    def test_resumed_stopped_and_failed(self):
        for scenario in ("resumed", "placed"):
            write("comet", self.folder / scenario, scenario)
            _, messages = read(self.folder / scenario / f"comet/{ID}.zip")
            self.assertEqual(metrics(messages, "train/loss"), [(n, 1 / n) for n in range(1, 81)])
            self.assertEqual(metrics(messages, "eval/accuracy"), [(n, n / 1000) for n in (20, 40, 60, 80)])
        write("comet", self.folder / "retried", "retried")
        _, messages = read(self.folder / f"retried/comet/{ID}.zip")
        others = {m["payload"]["key"]: m["payload"]["value"] for m in messages if m["type"] == "log_other"}
        self.assertEqual((others["Outcome"], others.get("Message")), ("finished", None))
        for scenario, message in (("stopped", "no longer better"), ("interrupted", "SIGINT"), ("failed", "the loss is not a number")):
            write("comet", self.folder / scenario, scenario)
            _, messages = read(self.folder / scenario / f"comet/{ID}.zip")
            self.assertEqual([m["payload"]["value"] for m in messages if m["type"] == "log_other"][-2:], [scenario, message])

    def test_killed_run_keeps_its_messages(self):
        write("comet", self.folder, "killed", returncode=-9)
        self.assertFalse((self.folder / f"comet/{ID}.zip").exists())
        lines = (self.folder / f"comet/{ID}-messages.json").read_text().splitlines()
        self.assertEqual(len(metrics([json.loads(line) for line in lines], "train/loss")), 100)

    def test_many_points(self):
        write("comet", self.folder / "many", "many")
        self.assertEqual(len(metrics(read(self.folder / f"many/comet/{ID}.zip")[1], "train/loss")), 100000)

    def test_many_metrics(self):
        write("comet", self.folder / "wide", "wide")
        self.assertEqual(metrics(read(self.folder / f"wide/comet/{ID}.zip")[1], "many/metric499"), [(1, 499.5), (2, 499.5), (3, 499.5)])


if __name__ == "__main__":
    unittest.main()
