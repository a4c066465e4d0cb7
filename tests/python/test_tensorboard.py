"""Event files of our writer, read by TensorBoard itself: its EventAccumulator, its protos, and a real server on loopback."""

import json
import math
import os
import re
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request
import zlib
from pathlib import Path

try:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams import api_pb2, metadata
except ImportError:
    print("skipped: TensorBoard is not installed; scripts/setup.sh --tests does it")
    sys.exit(77)

from run_helpers import RUNNER, SHAPES, environment, wait_until

PROGRAM = Path(os.environ["RUNNER_BINARY_DIR"]) / "bin" / "components_test"
POINTS = 20000


def png(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes([40 * x + y for x in range(width) for _ in range(3)]) for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def read(folder):
    reader = EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0, "histograms": 0, "images": 0})
    reader.Reload()
    return reader


def hparams(reader, tag):
    return reader.summary_metadata["_hparams_/" + tag].plugin_data.content


class TensorBoardReads(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.runs = Path(cls.scratch.name) / "runs"
        cls.runs.mkdir()
        cls.png = Path(cls.scratch.name) / "picture.png"
        cls.png.write_bytes(png(3, 2))
        cls.environment = {**os.environ, "RUNNER_EXPORT_DIR": str(cls.runs), "RUNNER_EXPORT_PNG": str(cls.png),
                           "HOME": cls.scratch.name}
        subprocess.run([PROGRAM, "[.export-tensorboard]"], env=cls.environment, check=True, stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_every_scalar_is_there(self):
        reader = read(self.runs / "finished")
        loss = reader.Scalars("train/loss")
        self.assertEqual([point.step for point in loss], list(range(POINTS)))
        for point in loss:
            self.assertAlmostEqual(point.value, 1 / (point.step + 1), delta=1e-7)
        self.assertEqual(len(reader.Scalars("train/lr")), POINTS)
        self.assertTrue(math.isnan(reader.Scalars("eval/accuracy")[0].value))
        self.assertEqual(reader.Scalars("eval/loss")[0].value, math.inf)
        self.assertEqual(loss[0].wall_time, 1700000000)  # when it was logged, not when it was written

    def test_text(self):
        reader = read(self.runs / "finished")
        self.assertEqual(reader.summary_metadata["note/text_summary"].plugin_data.plugin_name, "text")
        (note,) = reader.Tensors("note/text_summary")
        self.assertEqual((note.step, note.tensor_proto.string_val[0].decode()), (7, "**bold** ä"))
        self.assertEqual([d.size for d in note.tensor_proto.tensor_shape.dim], [1])
        (recipe,) = reader.Tensors("recipe/text_summary")
        self.assertIn("    lr = 0.1\n", recipe.tensor_proto.string_val[0].decode())

    def test_hparams(self):
        reader = read(self.runs / "finished")
        start = metadata.parse_session_start_info_plugin_data(hparams(reader, "session_start_info"))
        self.assertEqual(start.hparams["optimizer.name"].string_value, "sgd")
        self.assertEqual(start.hparams["optimizer.lr"].number_value, 0.1)
        self.assertIs(start.hparams["optimizer.nesterov"].bool_value, True)
        self.assertEqual(start.hparams["model.note"].string_value, "\ufffdä")
        end = metadata.parse_session_end_info_plugin_data(hparams(reader, "session_end_info"))
        self.assertEqual(end.status, api_pb2.STATUS_SUCCESS)
        self.assertGreaterEqual(end.end_time_secs, start.start_time_secs)
        failed = metadata.parse_session_end_info_plugin_data(hparams(read(self.runs / "failed"), "session_end_info"))
        self.assertEqual(failed.status, api_pb2.STATUS_FAILURE)

    def test_experiment_with_metrics(self):
        reader = read(self.runs.parent / "vocabulary")
        experiment = metadata.parse_experiment_plugin_data(hparams(reader, "experiment"))
        self.assertEqual([(info.name, info.type) for info in experiment.hparam_infos],
                         [("lr", api_pb2.DATA_TYPE_FLOAT64), ("name", api_pb2.DATA_TYPE_STRING)])
        self.assertEqual([info.name.tag for info in experiment.metric_infos], ["eval/accuracy"])

    def test_histogram_and_image(self):
        reader = read(self.runs.parent / "vocabulary")
        (point,) = reader.Histograms("weights")
        histogram = point.histogram_value
        values = [-3.5, -1, 0, 0, 1e-13, 0.5, 0.5, 2, 1e21]
        self.assertEqual((histogram.min, histogram.max, histogram.num), (-3.5, 1e21, len(values)))
        self.assertEqual(histogram.sum, sum(values))
        edges = [-math.inf, *histogram.bucket_limit]
        for low, high, count in zip(edges, edges[1:], histogram.bucket):
            self.assertEqual(count, sum(low <= value < high for value in values), (low, high))
        self.assertEqual(reader.Histograms("nothing")[0].histogram_value.num, 0)
        (image,) = reader.Images("picture")
        self.assertEqual((image.width, image.height, image.encoded_image_string), (3, 2, self.png.read_bytes()))

    def test_killed_process_and_torn_tail(self):
        scratch = Path(self.scratch.name)
        environment = {**self.environment, "RUNNER_EXPORT_DIR": str(scratch)}
        killed = subprocess.run([PROGRAM, "[.export-killed]"], env=environment, stdout=subprocess.DEVNULL)
        self.assertEqual(killed.returncode, -9)
        (file,) = (scratch / "killed").iterdir()
        self.assertEqual(len(read(file.parent).Scalars("train/loss")), 100)
        whole = file.read_bytes()
        for cut in (1, 4, 5, 20):  # within the last record
            file.write_bytes(whole[:-cut])
            self.assertEqual([point.value for point in read(file.parent).Scalars("train/loss")], list(range(99)), cut)

    def test_resumed_run_shows_nothing_that_was_taken_back(self):
        scratch = Path(self.scratch.name) / "resumed"
        subprocess.run([PROGRAM.parent / "tracker_tool", "tensorboard", scratch / "a", "resumed"], check=True)
        self.assertEqual(len(list((scratch / "a/tensorboard").iterdir())), 2)
        reader = read(scratch / "a/tensorboard")
        self.assertEqual([point.step for point in reader.Scalars("train/loss")], list(range(1, 81)))
        self.assertEqual([point.step for point in reader.Scalars("eval/accuracy")], [20, 40, 60, 80])
        for loader in ("true", "false"):
            with self.subTest(load_fast=loader), Server(scratch, loader, self.environment) as server:
                tag = urllib.parse.urlencode({"run": "a/tensorboard", "tag": "train/loss"})
                points = server.wait_for("scalars/scalars?" + tag, until=lambda points: points[-1][1] == 80)
                self.assertEqual([step for _, step, _ in points], list(range(1, 81)))

    def test_a_resumed_run_shows_the_step_of_its_checkpoint_once(self):
        scratch = Path(self.scratch.name) / "placed"
        subprocess.run([PROGRAM.parent / "tracker_tool", "tensorboard", scratch, "placed"], check=True)
        reader = read(scratch / "tensorboard")
        self.assertEqual([point.step for point in reader.Scalars("train/loss")], list(range(1, 81)))
        self.assertEqual([point.step for point in reader.Scalars("eval/accuracy")], [20, 40, 60, 80])

    def test_a_killed_and_resumed_run(self):
        scratch = Path(self.scratch.name) / "killed-run"
        run_folder = scratch / "run"
        command = [RUNNER, SHAPES, "dataset.train=256", "dataset.eval=64", "loader.batch_size=32", "train.log_every=1step",
                   "train.epochs=20", "checkpoint.every=10step", "tracker+=tensorboard", "hook+={name='histograms',every=20}", f"run.dir={run_folder}"]
        process = subprocess.Popen(list(map(str, command)), env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: len(list((run_folder / "checkpoints").glob("step-*"))) >= 2, process)
        process.kill()
        process.wait()
        subprocess.run(list(map(str, command)), env=environment(), check=True, capture_output=True)
        logged = [json.loads(line) for line in (run_folder / "metrics.jsonl").read_text().splitlines()]
        reader = read(run_folder / "tensorboard")
        for name in ("train/loss", "eval/accuracy"):
            expected = [record["step"] for record in logged if name in record]
            self.assertEqual([point.step for point in reader.Scalars(name)], expected, name)
        self.assertEqual([point.step for point in reader.Scalars("train/loss")], list(range(1, 161)))
        (image,) = reader.Images("samples/first_batch")  # four by four pictures of 32 pixels, two pixels apart
        self.assertEqual((image.step, image.width, image.height), (0, 4 * 34 - 2, 4 * 34 - 2))
        (image,) = reader.Images("samples/evaluation")
        self.assertEqual((image.width, image.height), (4 * 34 - 2, 4 * 34 - 2))
        self.assertEqual(len(reader.Tensors("recipe/text_summary")), 1)  # it has not changed
        weights = [tag for tag in reader.Tags()["histograms"] if "weight" in tag]
        self.assertTrue(weights)
        steps = [point.step for point in reader.Histograms(weights[0])]
        self.assertEqual(steps, sorted(set(steps)))
        for loader in ("true", "false"):
            with self.subTest(load_fast=loader), Server(scratch, loader, self.environment) as server:
                self.check_media(server, weights[0])
                server.wait_for("hparams/session_groups", EVERY_STATUS, lambda answer: sessions(answer) == {"run/tensorboard": "STATUS_SUCCESS"})

    def check_media(self, server, histogram):
        tag = lambda name: urllib.parse.urlencode({"run": "run/tensorboard", "tag": name})
        images = server.wait_for("images/images?" + tag("samples/first_batch") + "&sample=0")
        self.assertEqual([image["step"] for image in images], [0])
        with urllib.request.urlopen(server.address + "images/individualImage?" + images[0]["query"], timeout=30) as response:
            picture = response.read()
        self.assertEqual((picture[:4], struct.unpack(">II", picture[16:24])), (b"\x89PNG", (134, 134)))
        server.wait_for("histograms/histograms?" + tag(histogram), until=lambda points: points[-1][1] == 141)

    def test_a_run_that_failed_and_was_resumed_is_as_good_as_any(self):
        scratch = Path(self.scratch.name) / "failed-once"
        for scenario in ("failed", "resumed"):
            subprocess.run([PROGRAM.parent / "tracker_tool", "tensorboard", scratch, scenario], check=True)
        reader = read(scratch / "tensorboard")
        end = metadata.parse_session_end_info_plugin_data(hparams(reader, "session_end_info"))
        self.assertEqual(end.status, api_pb2.STATUS_SUCCESS)
        self.assertNotIn("end of the run/text_summary", reader.Tags()["tensors"])

    def test_many_points(self):
        scratch = Path(self.scratch.name) / "many"
        subprocess.run([PROGRAM.parent / "tracker_tool", "tensorboard", scratch, "many"], check=True)
        points = read(scratch / "tensorboard").Scalars("train/loss")
        self.assertEqual([point.step for point in points], list(range(1, 100001)))

    def test_images_of_a_run(self):
        scratch = Path(self.scratch.name) / "images"
        subprocess.run([PROGRAM.parent / "tracker_tool", "tensorboard", scratch, "whole"], check=True)
        reader = read(scratch / "tensorboard")
        (image,) = reader.Images("samples/first_batch")
        self.assertEqual((image.step, image.width, image.height), (0, 3, 2))
        self.assertEqual(image.encoded_image_string[:4], b"\x89PNG")
        start = metadata.parse_session_start_info_plugin_data(hparams(reader, "session_start_info"))
        self.assertEqual(start.hparams["train.epochs"].number_value, 3)

    def test_a_real_server_answers(self):
        for loader in ("true", "false"):
            with self.subTest(load_fast=loader), Server(self.runs, loader, self.environment) as server:
                self.check_server(server)

    def check_server(self, server):
        def tag(run, name):
            return urllib.parse.urlencode({"run": run, "tag": name})

        # The page gets a sample of the points; the last is always in it.
        server.wait_for("scalars/scalars?" + tag("finished", "train/lr"), until=lambda p: p[-1][1] == POINTS - 1)
        notes = server.wait_for("text/text?" + tag("finished", "note/text_summary"))
        self.assertIn("<strong>bold</strong> ä", notes[0]["text"])

        # The columns are gathered over both runs, although only one of them knows a width.
        def knows_both(experiment):
            return "model.width" in [info["name"] for info in experiment["hparamInfos"]]

        experiment = server.wait_for("hparams/experiment", {"hparamsLimit": 0}, knows_both)
        self.assertIn("optimizer.lr", [info["name"] for info in experiment["hparamInfos"]])
        self.assertIn({"group": "", "tag": "train/loss"}, [info["name"] for info in experiment["metricInfos"]])
        expected = {"finished": "STATUS_SUCCESS", "failed": "STATUS_FAILURE"}
        server.wait_for("hparams/session_groups", EVERY_STATUS, lambda answer: sessions(answer) == expected)


EVERY_STATUS = {"startIndex": 0, "sliceSize": 10, "colParams": [],
                "allowedStatuses": ["STATUS_SUCCESS", "STATUS_FAILURE", "STATUS_RUNNING", "STATUS_UNKNOWN"]}


def sessions(answer):
    return {session["name"]: session["status"] for group in answer.get("sessionGroups", []) for session in group["sessions"]}


class Server:
    """A tensorboard process on a free port of loopback."""

    def __init__(self, logdir, load_fast, environment):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tensorboard.main", "--logdir", logdir, "--host", "127.0.0.1", "--port", "0",
             "--reload_interval", "1", f"--load_fast={load_fast}"],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = []
        for line in self.process.stdout:
            said.append(line)
            found = re.search(r"http://127\.0\.0\.1:\d+", line)
            if found:
                self.address = found[0] + "/data/plugin/"
                return
        raise RuntimeError("tensorboard did not start: " + "".join(said))

    def wait_for(self, path, body=None, until=bool):
        """The answer, once it is as expected: the server loads in the background."""
        deadline = time.monotonic() + 240
        data = None if body is None else json.dumps(body).encode()
        while True:
            request = urllib.request.Request(self.address + path, data, {"Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(request, timeout=30) as response:
                    answer = json.load(response)
            except urllib.error.HTTPError as error:
                if error.code not in (400, 404):  # what is not loaded yet is not known
                    raise
                answer = f"HTTP {error.code}"
            if not isinstance(answer, str) and answer and until(answer):
                return answer
            if time.monotonic() > deadline:
                raise AssertionError(f"{path}: {answer}")
            time.sleep(0.2)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.communicate()


if __name__ == "__main__":
    unittest.main()
