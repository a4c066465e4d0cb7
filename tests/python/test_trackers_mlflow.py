"""Runs sent to a real MLflow server, read back with MLflow's own client: also when the server goes away in the middle of a run."""

import base64
import json
import math
import os
import signal
import socket
import subprocess
import sys
import time
import unittest
import unittest.mock
import urllib.parse
import urllib.request
from pathlib import Path

import tracker_tools
from run_helpers import RUNNER, THOROUGH, environment, records, wait_until
from tracker_tools import Stub, write

tracker_tools.in_vendors_environment()

TEXT = """[model]
name = "mlp"
[dataset]
name = "synthetic"
[optimizer]
name = "sgd"
lr = 0.01
[train]
max_steps = 10
log_every = "1step"
[run]
tags = ["baseline"]
threads = 1
"""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Server:
    def __init__(self, folder, port):
        self.address, self.folder, self.port = f"http://127.0.0.1:{port}", folder, port
        self.log = open(folder / "mlflow.log", "ab")
        self.start()

    def start(self):
        words = ["-m", "mlflow", "server", "--backend-store-uri", f"sqlite:///{self.folder}/mlflow.db", "--artifacts-destination",
                 f"{self.folder}/artifacts", "--host", "127.0.0.1", "--port", str(self.port), "--workers", "1"]
        self.process = subprocess.Popen([sys.executable, *words], stdout=self.log, stderr=self.log, start_new_session=True)
        wait_until(self.answers)

    def answers(self):
        assert self.process.poll() is None, "the MLflow server did not start"
        try:
            return urllib.request.urlopen(self.address + "/health", timeout=5).status == 200
        except OSError:
            return False

    def stop(self):
        if self.process.poll() is not None:
            return
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class MLflow(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tracker_tools.scratch()
        cls.folder = Path(cls.scratch.name)
        (cls.folder / "r.toml").write_text(TEXT)
        cls.server = Server(cls.folder, free_port())
        import mlflow
        cls.client = mlflow.MlflowClient(cls.server.address)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.server.log.close()
        cls.scratch.cleanup()

    def runs(self, experiment):
        found = self.client.get_experiment_by_name(experiment)
        return self.client.search_runs([found.experiment_id]) if found else []

    def history(self, run, name):
        return [(point.step, point.value) for point in self.client.get_metric_history(run.info.run_id, name)]

    def runner(self, *words, wait=True, **more):
        process = subprocess.Popen([RUNNER, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   env=environment(**more))
        return (process.communicate()[0], process.returncode) if wait else process

    def tracker(self, experiment, url=None):
        return f'tracker=[{{name="mlflow",url="{url or self.server.address}",experiment="{experiment}"}}]'

    def test_everything_of_a_run_is_there(self):
        self.runner(self.folder / "r.toml", self.tracker("whole"), f"run.dir={self.folder / 'whole'}")
        (run,) = self.runs("whole")
        self.assertEqual(run.info.status, "FINISHED")
        self.assertEqual((run.data.params["train.max_steps"], run.data.params["optimizer.lr"]), ("10", "0.01"))
        self.assertEqual(run.data.tags["baseline"], "true")
        logged = records(self.folder / "whole")
        for name in ("train/loss", "train/lr", "eval/loss"):
            self.assertEqual(sorted(self.history(run, name)), [(r["step"], r[name]) for r in logged if name in r])
        names = [item.path for item in self.client.list_artifacts(run.info.run_id)]
        self.assertIn("recipe.toml", names)
        self.assertIn("model.safetensors", names)
        report = self.client.download_artifacts(run.info.run_id, "report.html", str(self.folder))
        self.assertEqual(Path(report).read_bytes(), (self.folder / "whole/report.html").read_bytes())
        copy = self.client.download_artifacts(run.info.run_id, "model.safetensors", str(self.folder))
        self.assertEqual(Path(copy).read_bytes(), (self.folder / "whole/model.safetensors").read_bytes())
        self.assertEqual((self.folder / "whole/tracking/mlflow.spool").stat().st_size, 0)

    def test_the_server_goes_away_and_comes_back(self):
        folder = self.folder / "outage"
        process = self.runner(self.folder / "r.toml", self.tracker("outage"), f"run.dir={folder}", "train.max_steps=1000000000",
                              "train.max_time=400s", "train.log_every=100step", "eval.every=100000ep", wait=False)
        try:
            count = lambda: len((folder / "metrics.jsonl").read_text().splitlines()) if (folder / "metrics.jsonl").exists() else 0
            wait_until(lambda: self.runs("outage") and self.history(self.runs("outage")[0], "train/loss"))
            self.server.stop()
            missed = count()
            wait_until(lambda: count() > missed + 20)  # training does not notice
            self.server.start()
            back = count() - 1
            wait_until(lambda: self.history(self.runs("outage")[0], "train/loss")[-1:] >= [(records(folder)[back]["step"], -1)])
        finally:
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate()
        self.assertEqual(process.returncode, 130, output)
        self.assertEqual(self.runner("track", folder)[1], 0)  # a slow machine may not have sent all of it by the end of the run
        (run,) = self.runs("outage")
        self.assertEqual(run.info.status, "KILLED")
        expected = [(r["step"], r["train/loss"]) for r in records(folder) if "train/loss" in r]
        self.assertEqual(sorted(self.history(run, "train/loss")), expected, output)
        log = (folder / "log.txt").read_text()
        said = [line for line in log.splitlines() if 'warning: Tracker "mlflow"' in line]  # the end of the run repeats it as a summary
        self.assertEqual(len(said), 1, log)
        self.assertIn("metrics wait on disk", said[0])

    def test_runner_track_sends_later_what_could_not_be_sent(self):
        folder = self.folder / "later"
        output, code = self.runner(self.folder / "r.toml", self.tracker("later", f"http://127.0.0.1:{free_port()}"), f"run.dir={folder}")
        self.assertEqual(code, 0, output)
        self.assertIn(f"runner track {folder}", " ".join(output.split()))
        self.assertEqual(self.runs("later"), [])
        address = f'tracker.0.url="{self.server.address}"'
        output, code = self.runner("track", folder, address)
        self.assertEqual((code, output), (0, "mlflow: has everything now\n"))
        (run,) = self.runs("later")
        self.assertEqual(run.info.status, "FINISHED")
        self.assertEqual(sorted(self.history(run, "train/loss")), [(r["step"], r["train/loss"]) for r in records(folder) if "train/loss" in r])
        self.assertEqual(self.runner("track", folder, address), ("mlflow: has everything already\n", 0))
        self.assertEqual(len(self.runs("later")), 1)

    def test_the_end_is_when_the_run_ended_not_when_it_was_sent(self):
        folder = self.folder / "old"
        output, code = self.runner(self.folder / "r.toml", self.tracker("old", f"http://127.0.0.1:{free_port()}"), f"run.dir={folder}")
        self.assertEqual(code, 0, output)
        sent_after = 1000 * time.time()
        self.assertEqual(self.runner("track", folder, f'tracker.0.url="{self.server.address}"')[1], 0)
        (run,) = self.runs("old")
        self.assertLess(run.info.start_time, run.info.end_time)
        self.assertLessEqual(run.info.end_time, sent_after)

    def test_odd_values_names_and_many_metrics(self):
        write("mlflow", self.folder, "whole", f"url={self.server.address}", "experiment=odd")
        (run,) = self.runs("odd")
        self.assertEqual(len(self.history(run, "train/loss")), 200)
        self.assertEqual(len(self.history(run, "gr__e/_")), 200)
        (_, nan), (_, plus), (_, minus) = self.history(run, "odd/value")
        self.assertTrue(math.isnan(nan) and plus > 1e300 and minus < -1e300)  # MLflow's database has no infinity
        names = [item.path for item in self.client.list_artifacts(run.info.run_id, "images")]
        self.assertEqual(names, ["images/samples_first_batch-0.png"])
        write("mlflow", self.folder, "wide", f"url={self.server.address}", "experiment=wide")
        (run,) = self.runs("wide")
        self.assertEqual(len([name for name in run.data.metrics if name.startswith("many/")]), 500)
        self.assertEqual(self.history(run, "many/metric499"), [(1, 499.5), (2, 499.5), (3, 499.5)])

    @unittest.skipUnless(THOROUGH, "takes minutes: RUNNER_THOROUGH=1 runs it")
    def test_many_points(self):
        write("mlflow", self.folder, "many", f"url={self.server.address}", "experiment=many")
        (run,) = self.runs("many")
        self.assertEqual(sorted(step for step, _ in self.history(run, "train/loss")), list(range(1, 100001)))

    def test_resumed_run_is_the_same_run(self):
        write("mlflow", self.folder, "resumed", f"url={self.server.address}", "experiment=resumed")
        (run,) = self.runs("resumed")
        self.assertEqual(run.data.tags["runner.resumed_at"], "40")
        self.assertEqual(run.info.status, "FINISHED")
        # The same point sent twice is one; MLflow has no way of taking back what the first attempt sent.
        self.assertEqual([step for step, _ in sorted(self.history(run, "train/loss"))], list(range(1, 81)))

    def test_a_run_that_is_resumed_forgets_why_it_failed(self):
        write("mlflow", self.folder, "retried", f"url={self.server.address}", "experiment=retried")
        (run,) = self.runs("retried")
        self.assertEqual(run.info.status, "FINISHED")
        self.assertNotIn("runner.message", run.data.tags)

    def test_secrets_come_from_the_environment_and_stay_out_of_every_file(self):
        secret = "hush-hush-hush-token"
        folder = self.folder / "refused"
        with Stub(lambda *_: (401, {"error_code": "UNAUTHENTICATED", "message": "Who are you?"})) as stub:
            output, code = self.runner(self.folder / "r.toml", self.tracker("refused", stub.address), f"run.dir={folder}",
                                       MLFLOW_TRACKING_TOKEN=secret)
            self.assertEqual(stub.authorization, {f"Bearer {secret}"})
        self.assertEqual(code, 0, output)
        self.assertIn("Who are you?", output)
        self.assertIn("MLFLOW_TRACKING_TOKEN", output)
        self.assertNotIn(secret, output)
        for file in folder.rglob("*"):
            if file.is_file():
                self.assertNotIn(secret.encode(), file.read_bytes(), file)
        self.assertGreater((folder / "tracking/mlflow.spool").stat().st_size, 0)


def usual_answer(path, **experiment):
    """What MLflow answers of its one experiment, without any earlier run."""
    if "get-by-name" in path:
        return {"experiment": {"experiment_id": "1", **experiment}}
    if "runs/create" in path:
        return {"run": {"info": {"run_id": "r", "artifact_uri": "mlflow-artifacts:/1/r/artifacts"}}}
    return {"run": {"data": {}}} if "runs/get" in path else {}


class Answers(unittest.TestCase):
    """Servers that answer otherwise than MLflow does when all is well."""

    def sent(self, answer=lambda path, items: None, returncode=0, **server):
        """What a server took of a run: `answer(path, items of the batch)` may give another answer than MLflow's."""
        taken, batches = [], []

        def reply(method, path, body):
            items = [item for kind in ("metrics", "params") for item in json.loads(body).get(kind, [])] if "log-batch" in path else []
            batches.extend([items] if items else [])
            other = answer(path, items)
            if other is not None:
                return other
            taken.extend((item["key"], item.get("step")) for item in items)
            return usual_answer(path, **server)

        with tracker_tools.scratch() as folder, Stub(reply) as stub:
            done = write("mlflow", folder, "whole", f"url={stub.address}", returncode=returncode)
        return taken, batches, done.stderr

    def refused(self, condition, returncode=0):
        refusal = 400, {"error_code": "INVALID_PARAMETER_VALUE", "message": "not this one"}
        return self.sent(lambda path, items: refusal if any(condition(item) for item in items) else None, returncode)

    def test_only_the_refused_points_are_missing(self):
        bad = {("train/loss", 33), ("eval/accuracy", 40)}
        taken, _, said = self.refused(lambda item: (item["key"], item.get("step")) in bad)
        expected = {("train/loss", step) for step in range(1, 201)} | {("gr__e/_", step) for step in range(1, 201)}
        expected |= {("odd/value", step) for step in (7, 8, 9)} | {("eval/accuracy", step) for step in range(20, 201, 20)}
        self.assertEqual({point for point in taken if point[1] is not None}, expected - bad)
        self.assertIn('refused the metric "train/loss" at step 33: not this one', said)

    def test_only_the_refused_parameters_are_missing(self):
        taken, _, said = self.refused(lambda item: item["key"] == "optimizer.name")
        self.assertEqual({name for name, step in taken if step is None}, {"optimizer.lr", "train.epochs", "run.deterministic", "model.note"})
        self.assertIn(("train/loss", 200), taken)
        self.assertIn('refused the parameter "optimizer.name": not this one', said)

    def test_a_server_that_refuses_everything_is_not_asked_a_thousand_times(self):
        taken, batches, said = self.refused(lambda item: "step" in item, 1)
        self.assertEqual([point for point in taken if point[1] is not None], [])
        self.assertLess(len(batches), 60)
        self.assertIn("not this one", said)

    def test_what_answers_in_place_of_mlflow_has_stored_nothing(self):
        page = 200, b"<html><title>Log in</title></html>", {"Content-Type": "text/html"}
        cases = [("log-batch", (200, b'{"run": {"info"', {}), "is it an MLflow server?"),
                 ("log-batch", (404, *page[1:]), "is it an MLflow server?"),
                 ("log-batch", (302, b"", {"Location": "https://me:hush@login.example/x?token=hush"}), "leads to https://login.example/x"),
                 ("log-batch", (200, b"{}", {"Content-Length": "100", "Connection": "close"}), "does not answer"),
                 *((where, page, "is it an MLflow server?") for where in ("get-by-name", "runs/create", "log-batch", "runs/update", "mlflow-artifacts"))]
        for where, answer, said in cases:
            with self.subTest(answer=answer, where=where):
                _, _, heard = self.sent(lambda path, items: answer if where in path else None, 1)
                self.assertIn(said, heard)
                self.assertNotIn("hush", heard)

    def resumed(self, found, searched=None, returncode=0):
        """The requests of a resumed run if the server answers `found` for its id, and `searched` when it is looked for by its tag."""
        made = []

        def reply(_, path, body):
            made.extend(["r"] if "runs/create" in path else [])
            if "runs/get" in path:
                return found
            if "runs/search" in path and made and searched:
                return {"runs": [searched]}
            return usual_answer(path)

        with tracker_tools.scratch() as folder, Stub(reply) as stub:
            write("mlflow", folder, "resumed", f"url={stub.address}", returncode=returncode)
        asked = [(path.split("mlflow/")[-1].split("?")[0], body) for _, path, body in stub.requests]
        return [(what, json.loads(body)) for what, body in asked if what.startswith("runs/") and body], len(made)

    def test_a_resumed_run_is_never_created_twice(self):
        run = {"info": {"run_id": "r", "artifact_uri": "mlflow-artifacts:/1/r/artifacts"}, "data": {"params": [{"key": "optimizer.lr", "value": "0.1"}]}}
        refused = 403, {"error_code": "PERMISSION_DENIED", "message": "no"}
        unknown = 404, {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "no"}
        self.assertEqual(self.resumed(refused, returncode=1)[1], 1)
        self.assertEqual(self.resumed(unknown)[1], 2)  # only if it is not there by its tag either
        self.assertEqual(self.resumed(unknown, run)[1], 1)
        requests, made = self.resumed({"run": run})
        self.assertEqual(made, 1)
        sent = [param["key"] for what, body in requests if what == "runs/log-batch" for param in body.get("params", [])]
        self.assertEqual((sent.count("optimizer.lr"), sent.count("optimizer.name")), (1, 2))  # MLflow keeps the first value
        self.assertEqual([body["status"] for what, body in requests if what == "runs/update"], ["RUNNING", "FINISHED"])

    def test_refused_credentials_are_not_taken_for_a_refused_file(self):
        refused = 403, {"error_code": "PERMISSION_DENIED", "message": "no"}
        _, _, said = self.sent(lambda path, items: refused if "mlflow-artifacts" in path else None, 1)
        self.assertIn("MLFLOW_TRACKING_TOKEN", said)

    def test_a_user_in_the_address_takes_precedence(self):
        with tracker_tools.scratch() as folder, Stub(lambda _, path, __: usual_answer(path)) as stub:
            known = {"MLFLOW_TRACKING_URI": stub.address.replace("//", "//me:mine@"), "MLFLOW_TRACKING_USERNAME": "other", "MLFLOW_TRACKING_PASSWORD": "theirs"}
            with unittest.mock.patch.dict(os.environ, known):
                write("mlflow", folder, "stopped")
            self.assertEqual(stub.authorization, {"Basic " + base64.b64encode(b"me:mine").decode()})

    def test_how_a_run_ended(self):
        for scenario, status in (("whole", "FINISHED"), ("stopped", "FINISHED"), ("interrupted", "KILLED"), ("failed", "FAILED")):
            with self.subTest(scenario=scenario), tracker_tools.scratch() as folder, Stub(lambda _, path, __: usual_answer(path)) as stub:
                write("mlflow", folder, scenario, f"url={stub.address}")
                self.assertEqual([json.loads(body)["status"] for _, path, body in stub.requests if "runs/update" in path], [status])

    def test_what_a_deleted_run_refuses_is_kept_until_it_is_restored(self):
        stages, taken = ["deleted"], []

        def reply(_, path, body):
            metrics = json.loads(body).get("metrics", []) if "log-batch" in path else []
            if "runs/get" in path:
                return {"run": {"info": {"lifecycle_stage": stages[-1]}, "data": {}}}
            if "get-history" in path:
                wanted = urllib.parse.parse_qs(urllib.parse.urlparse(path).query)["metric_key"][0]
                return {"metrics": [{"key": key, "step": step} for key, step in taken if key == wanted]}
            if metrics and stages[-1] == "deleted":
                return 400, {"error_code": "INVALID_PARAMETER_VALUE", "message": "The run r must be in the 'active' state"}
            taken.extend((item["key"], item["step"]) for item in metrics)
            return usual_answer(path)

        with tracker_tools.scratch() as scratch, Stub(reply) as stub:
            folder = Path(scratch) / "run"
            (Path(scratch) / "r.toml").write_text(TEXT)
            runner = lambda *words: subprocess.run([RUNNER, *map(str, words)], capture_output=True, text=True, env=environment())
            done = runner(Path(scratch) / "r.toml", f'tracker=[{{name="mlflow",url="{stub.address}"}}]', f"run.dir={folder}", "train.max_steps=1")
            self.assertEqual(done.returncode, 0, done.stderr)
            said = " ".join((done.stdout + done.stderr).split())
            self.assertIn(f"The run was deleted on {stub.address}", said)
            self.assertNotIn("refused the metric", said)
            self.assertEqual(taken, [])
            logged = {(name, r["step"]) for r in records(folder) for name in r if name not in ("step", "epoch", "time")}
            self.assertLess(len(logged), 20)  # more of them are an error in any case
            self.assertGreater((folder / "tracking/mlflow.spool").stat().st_size, 0)
            self.assertEqual(runner("track", folder).returncode, 1)
            stages.append("active")
            done = runner("track", folder)
            self.assertEqual((done.returncode, done.stdout), (0, "mlflow: has everything now\n"), done.stderr)
            self.assertEqual(set(taken), logged)

    def test_a_server_that_does_not_know_the_run_gets_a_new_one(self):
        created, batches = [], []

        def reply(_, path, body):
            if "runs/get" in path:
                return 404, {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "Run 'r1' not found"}
            if "runs/create" in path:
                created.append(f"r{len(created) + 1}")
                return {"run": {"info": {"run_id": created[-1], "artifact_uri": f"mlflow-artifacts:/1/{created[-1]}/artifacts"}}}
            batches.extend([json.loads(body)] if "log-batch" in path else [])
            return usual_answer(path)

        with tracker_tools.scratch() as folder, Stub(reply) as stub:
            said = write("mlflow", folder, "resumed", f"url={stub.address}").stderr
            last_update = [json.loads(body) for _, path, body in stub.requests if "runs/update" in path][-1]
        self.assertIn("does not know the run r1", said)
        self.assertEqual(created, ["r1", "r2"])
        sent = {run: [item["step"] for batch in batches if batch["run_id"] == run for item in batch.get("metrics", []) if item["key"] == "train/loss"]
                for run in created}
        self.assertEqual((sent["r1"], sent["r2"]), (list(range(1, 61)), list(range(41, 81))))
        self.assertTrue(any("params" in batch for batch in batches if batch["run_id"] == "r2"))
        self.assertEqual((last_update["run_id"], last_update["status"]), ("r2", "FINISHED"))

    def test_a_deleted_experiment_is_named(self):
        _, _, said = self.sent(returncode=1, lifecycle_stage="deleted")
        self.assertIn('The experiment "runner" was deleted', said)


if __name__ == "__main__":
    unittest.main()
