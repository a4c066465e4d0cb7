"""Runs in W&B's offline format, judged by W&B itself: `wandb leet inspect`, and a real `wandb sync` against a stub on loopback."""

import json
import math
import os
import subprocess
import unittest
import unittest.mock
from pathlib import Path

import tracker_tools
from tracker_tools import Stub, vendor, write

tracker_tools.in_vendors_environment()

ID = "0123456789abcdef"
FOLDER = f"wandb/offline-run-20231114_221320-{ID}"
BACKEND = None


def graphql(method, path, body):
    """As much of W&B's backend as an upload needs."""
    if path != "/graphql":
        return {"exitcode": None, "limits": {}}
    asked = json.loads(body)
    query, variables = asked["query"], asked.get("variables", {})
    if "upsertBucket" in query:
        project = {"id": "p", "name": variables["project"], "entity": {"id": "e", "name": "me"}}
        bucket = {"id": "b", "name": variables["name"], "displayName": "d", "description": "", "config": "{}", "sweepName": None,
                  "project": project, "historyLineCount": 0}
        return {"data": {"upsertBucket": {"bucket": bucket, "inserted": True}}}
    if "createRunFiles" in query:
        files = [{"name": name, "uploadUrl": f"{BACKEND}/upload/{name}"} for name in variables["files"]]
        return {"data": {"createRunFiles": {"runID": "b", "uploadHeaders": [], "files": files}}}
    viewer = {"id": "v", "entity": "me", "username": "me", "teams": {"edges": []}, "flags": "{}"}
    server = {"cliVersionInfo": {"max_cli_version": "9.9.9"}, "latestLocalVersionInfo": None, "features": []}
    return {"data": {"viewer": viewer, "serverInfo": server}}


def inspect(folder):
    done = vendor("wandb", "leet", "inspect", "--json", folder)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def uploaded(stub, name):
    """The lines of a file that was streamed, at their offsets; and the exit code that ended the stream."""
    lines, code = {}, None
    for _, path, body in stub.requests:
        if path.endswith("/file_stream"):
            sent = json.loads(body)
            code = sent.get("exitcode", code)
            file = sent.get("files", {}).get(name)
            for i, line in enumerate(file["content"] if file else []):
                lines[file["offset"] + i] = line
    return [lines[i] for i in sorted(lines)], code


class Wandb(unittest.TestCase):
    def setUp(self):
        self.scratch = tracker_tools.scratch()
        self.folder = Path(self.scratch.name) / "run"

    def tearDown(self):
        self.scratch.cleanup()

    def sync(self, folder, *words):
        global BACKEND
        with Stub(graphql) as stub:
            BACKEND = stub.address
            done = vendor("wandb", *(words or ("sync",)), folder, WANDB_BASE_URL=stub.address, WANDB_API_KEY="a" * 40)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            return stub

    def test_whole_run(self):
        write("wandb", self.folder, "whole", "project=shapes", "notes=first try")
        run = self.folder / FOLDER
        records = inspect(run)
        kinds = [record["type"] for record in records]
        self.assertEqual([record["num"] for record in records], list(range(1, len(records) + 1)))
        self.assertEqual(kinds.count("history"), 3 + 200 + 10)
        self.assertEqual((kinds.count("header"), kinds.count("run"), kinds.count("summary"), kinds.count("exit")), (1, 1, 1, 1))
        stub = self.sync(run)
        history, code = uploaded(stub, "wandb-history.jsonl")
        rows = [json.loads(line) for line in history]
        self.assertEqual(code, 0)
        self.assertEqual([row["_step"] for row in rows], list(range(213)))
        losses = {row["step"]: row["train/loss"] for row in rows if "train/loss" in row}
        self.assertEqual(losses, {step: 1 / step for step in range(1, 201)})
        self.assertEqual({row["step"]: row["eval/accuracy"] for row in rows if "eval/accuracy" in row},
                         {step: step / 1000 for step in range(20, 201, 20)})
        self.assertEqual([row["größe/ä"] for row in rows if "größe/ä" in row], list(range(1, 201)))
        odd = [float(row["odd/value"]) for row in rows if "odd/value" in row]
        self.assertTrue(math.isnan(odd[0]) and odd[1:] == [math.inf, -math.inf], odd)
        self.assertEqual(rows[1]["note"], "two\nlines ä")
        self.assertEqual(rows[2]["weights/fc"], {"_type": "histogram", "values": [1, 3], "bins": [-1, 0, 1]})
        picture = rows[0]["samples/first_batch"]
        self.assertEqual((picture["_type"], picture["width"], picture["height"]), ("image-file", 3, 2))
        sent = {path[len("/upload/"):]: body for method, path, body in stub.requests if path.startswith("/upload/")}
        self.assertEqual(sent[picture["path"]], (run / "files" / picture["path"]).read_bytes())
        self.assertIn(b"lr = 0.1", sent["recipe.toml"])
        summary = json.loads(sent["wandb-summary.json"])
        self.assertEqual((summary["train/loss"], summary["step"]), (1 / 200, 200))

        upsert = [json.loads(body)["variables"] for _, _, body in stub.requests if b"upsertBucket" in body]
        self.assertEqual((upsert[0]["name"], upsert[0]["project"], upsert[0]["displayName"]), (ID, "shapes", "größe 1"))
        self.assertEqual((upsert[0]["tags"], upsert[0]["notes"]), (["baseline", "ä"], "first try"))
        config = {key: entry["value"] for key, entry in json.loads(upsert[0]["config"]).items() if key != "_wandb"}
        self.assertEqual(config, {"optimizer.lr": 0.1, "optimizer.name": "sgd", "train.epochs": 3, "run.deterministic": True,
                                  "model.note": "\ufffdä"})
        self.assertIs(type(config["train.epochs"]), int)

    def test_resumed_run_is_one_run_without_what_was_taken_back(self):
        write("wandb", self.folder, "resumed")
        (run,) = (self.folder / "wandb").iterdir()
        records = inspect(run)
        (summary,) = [record["summary"]["update"] for record in records if record["type"] == "summary"]
        self.assertEqual((summary["train/loss"], summary["odd/value"]), (1 / 80, "-Infinity"))  # the latter only before the checkpoint
        declared = [record["metric"]["name"] for record in records if record["type"] == "metric"]
        self.assertEqual(len(declared), len(set(declared)))
        rows = [json.loads(line) for line in uploaded(self.sync(run), "wandb-history.jsonl")[0]]
        self.assertEqual([row["step"] for row in rows if "train/loss" in row], list(range(1, 81)))
        self.assertEqual([row["step"] for row in rows if "eval/accuracy" in row], [20, 40, 60, 80])
        self.assertEqual([row["_step"] for row in rows], list(range(84)))
        write("wandb", self.folder / "retried", "retried")  # the end of the attempt that failed is gone
        kinds = [record["type"] for record in inspect(self.folder / "retried" / FOLDER)]
        self.assertEqual((kinds.count("summary"), kinds.count("exit")), (1, 1))

    def test_killed_run_is_uploaded_as_failed(self):
        write("wandb", self.folder, "killed", returncode=-9)
        history, code = uploaded(self.sync(self.folder / FOLDER), "wandb-history.jsonl")
        self.assertEqual((len(history), code), (105, 1))

    def test_failed_interrupted_and_stopped(self):
        for scenario, expected in (("failed", 1), ("interrupted", 255), ("stopped", 0)):
            write("wandb", self.folder / scenario, scenario)
            self.assertEqual(uploaded(self.sync(self.folder / scenario / FOLDER), "wandb-history.jsonl")[1], expected)

    def test_many_points(self):
        write("wandb", self.folder / "many", "many")
        many = [record for record in inspect(self.folder / "many" / FOLDER) if record["type"] == "history"]
        self.assertEqual(len(many), 100000)

    def test_many_metrics(self):
        write("wandb", self.folder / "wide", "wide")
        wide = [record for record in inspect(self.folder / "wide" / FOLDER) if record["type"] == "history"]
        self.assertEqual([len(record["history"]["item"]) for record in wide], [500 + 5] * 3)

    def test_live_hands_it_to_wandbs_own_program(self):
        global BACKEND
        (self.folder / "bin").mkdir(parents=True)
        (self.folder / "bin/wandb").symlink_to(tracker_tools.VENDORS / "bin/wandb")
        with Stub(graphql) as stub:
            BACKEND = stub.address
            os.environ.update(WANDB_BASE_URL=stub.address, WANDB_API_KEY="a" * 40)
            before = os.environ["PATH"]
            os.environ["PATH"] = f"{self.folder / 'bin'}:{before}"
            try:
                write("wandb", self.folder, "whole", "mode=live")
            finally:
                os.environ["PATH"] = before
                del os.environ["WANDB_BASE_URL"], os.environ["WANDB_API_KEY"]
            history, code = uploaded(stub, "wandb-history.jsonl")
            log = (self.folder / FOLDER / "sync.log").read_text()
            self.assertFalse((Path(os.environ["HOME"]) / "wandb").exists(), "W&B's program wrote where the run was started")
            self.assertEqual((len(history), code), (213, 0), log)
        for file in self.folder.rglob("*"):
            if file.is_file():
                self.assertNotIn(b"a" * 40, file.read_bytes(), file)

    def test_live_says_that_the_key_was_refused(self):
        with Stub(lambda *_: (401, {"errors": [{"message": "unauthorized"}]})) as stub:
            environment = {"PATH": f"{tracker_tools.VENDORS / 'bin'}:{os.environ['PATH']}", "WANDB_BASE_URL": stub.address, "WANDB_API_KEY": "a" * 40}
            with unittest.mock.patch.dict(os.environ, environment):
                said = write("wandb", self.folder, "whole", "mode=live").stderr
        self.assertIn("did not upload everything: wandb: ERROR unauthorized", " ".join(said.split()))

    def test_live_takes_no_server_from_the_run_folder(self):
        (self.folder / "wandb").mkdir(parents=True)
        (self.folder / "wandb/settings").write_text("[default]\nbase_url = http://127.0.0.1:9\n")
        said = write("wandb", self.folder, "whole", "mode=live", returncode=1).stderr
        self.assertIn("could name another server for the key", " ".join(said.split()))

    def test_live_without_the_program_is_a_warning(self):
        done = subprocess.run([tracker_tools.TOOL, "wandb", self.folder, "whole", "mode=live"], capture_output=True, text=True,
                              env={**os.environ, "PATH": "/nowhere"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("does not start", done.stderr)
        self.assertEqual(len([r for r in inspect(self.folder / FOLDER) if r["type"] == "history"]), 213)


if __name__ == "__main__":
    unittest.main()
