"""The examples of the library, run as they are: alone and on two ranks. CIFAR-10 is not needed: shapes stand in. The C++ blocks of the
documentation are quoted from files that are compiled."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from markdown import blocks, pages
from program import BINARY, ROOT, environment

SOURCES = ROOT / "examples/library"
THREADS = {"OMP_NUM_THREADS": "1"}
# Of the larger ones, one process is for the thorough run: two do all that one does.
RANKS_OF_LARGE = (1, 2) if os.environ.get("RUNNER_THOROUGH") else (2,)


def run(name, *arguments, before=(), cwd=None):
    command = [*before, BINARY.parent / f"example_{name}", *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, env=environment(**THREADS), capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, f"{name} {arguments}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


class Examples(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def test_the_documentation_quotes_code_that_is_compiled(self):
        def lines(text):
            return "\n".join(line.strip() for line in text.splitlines() if line.strip())

        sources = [file for folder in ("examples", "components", "tests/runner") for file in (ROOT / folder).rglob("*.?pp")]
        compiled = [lines(file.read_text()) for file in sources]
        quoted = [block for page in pages() for block in blocks(page) if block.language == "cpp"]
        self.assertGreater(len(quoted), 12)
        for block in quoted:
            with self.subTest(block.place):
                self.assertTrue(any(lines(block.text) in text for text in compiled), f"no compiled file holds:\n{block.text}")

    def test_each_is_short(self):
        for source in SOURCES.glob("*.cpp"):
            self.assertLess(len(source.read_text().splitlines()), 100, source)

    def test_simple_cnn_in_fp16(self):
        for ranks in RANKS_OF_LARGE:
            with self.subTest(ranks=ranks):
                said = run("simple_cnn_fp16", ranks, "none", 302, cwd=self.folder)
                self.assertEqual(re.findall(r"accuracy [-+.e\d]+ of (\d+) examples", said), ["151", "151"])  # an odd number, on two ranks

    def test_resnet18_with_exact_metrics_and_trackers(self):
        for ranks in RANKS_OF_LARGE:
            with self.subTest(ranks=ranks):
                said = run("resnet18_tracked", ranks, self.folder / f"run{ranks}", "none", 64, cwd=self.folder)
                self.assertIn("evaluated 33 examples", said)  # an odd number, on two ranks
                records = [json.loads(line) for line in (self.folder / f"run{ranks}/metrics.jsonl").read_text().splitlines()]
                self.assertEqual(sum("train/loss" in record for record in records), 2 // ranks)
                self.assertEqual(sum("eval/accuracy" in record for record in records), 1)
                self.assertTrue((self.folder / f"run{ranks}/model.safetensors").exists())
                self.assertTrue(list((self.folder / f"run{ranks}").rglob("events.out.tfevents*")))

    def test_accumulation(self):
        # 17 batches of 6: 5 updates an epoch; on two ranks 9 batches each, 3 updates.
        for ranks, updates in ((1, 50), (2, 30)):
            with self.subTest(ranks=ranks):
                count, loss = re.search(r"(\d+) updates, loss (\S+)", run("accumulation", ranks)).groups()
                self.assertEqual(int(count), updates)
                self.assertLess(float(loss), 0.05)

    def test_two_models_in_formats_of_their_own(self):
        for ranks in (1, 2):
            with self.subTest(ranks=ranks):
                checkpoint = self.folder / f"checkpoint{ranks}"
                first, second = (float(run("two_models", ranks, checkpoint).split()[1]) for _ in range(2))
                self.assertLess(second, first)  # continued
                files = json.loads((checkpoint / "manifest.json").read_text())["files"]
                self.assertIn("encoder/weight.f32", files)
                self.assertIn("head/weights.txt", files)
                self.assertFalse((checkpoint / "model.encoder.safetensors").exists())
                self.assertEqual((checkpoint / "encoder/weight.f32").stat().st_size, 4 * 16 * 4)

    def test_an_empty_model_that_is_dispatched(self):
        said = run("empty_model", self.folder / "big_net")
        self.assertRegex(said, r"equal to the whole model: true, with at most [12] of the layers read at once")

    def test_ten_lines_make_the_difference(self):
        plain, accelerated = ((SOURCES / f"{name}_torch.cpp").read_text() for name in ("plain", "accelerated"))
        changed = [line for line in accelerated.splitlines() if line not in plain.splitlines() and line.strip() and not line.startswith("//")]
        self.assertEqual(len(changed), 10, changed)
        self.assertTrue(all(line.endswith("// *") for line in changed), changed)

        def last_count(said):
            return tuple(map(float, re.findall(r"epoch 39: (\S+) of (\S+)", said)[0]))

        self.assertEqual(last_count(run("plain_torch"))[1], 150)
        correct, count = last_count(run("accelerated_torch"))
        self.assertEqual(count, 150)
        self.assertGreater(correct, 120)
        if not shutil.which("mpirun"):
            self.skipTest("mpirun is not installed")
        mpirun = ["mpirun", "-n", "2", "--allow-run-as-root", "--oversubscribe"]
        correct, count = last_count(run("accelerated_torch", before=mpirun))
        self.assertEqual(count, 150)  # every example once
        self.assertGreater(correct, 110)


if __name__ == "__main__":
    if not (BINARY.parent / "example_accumulation").exists():
        print("skipped: the examples are not built")
        sys.exit(77)
    unittest.main()
