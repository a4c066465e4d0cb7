"""`runner watch` in a terminal: draws while the run goes on, and ends with it."""

import subprocess
import sys
import tempfile
from pathlib import Path

from program import BINARY, ROOT, Terminal, environment


def main():
    if not BINARY.exists():
        print(f"skipped: {BINARY} is not built")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        training = subprocess.Popen([BINARY, "recipes/shapes.toml", "dataset.train=64", "dataset.eval=32", "loader.batch_size=16",
                                     "train.epochs=10000", "train.log_every=1step", f"run.dir={run}"], cwd=ROOT, env=environment(),
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        while not (run / "metrics.jsonl").exists():
            assert training.poll() is None, training.stderr.read()
        screen = Terminal([BINARY, "watch", run, "--every", "0.1"], NO_COLOR="1")  # no colours, but it moves
        screen.read_until("running")
        screen.read_until("train/loss")
        screen.read_until("\x1b[J")  # drawn again, over what was there
        training.terminate()
        code, text = screen.read_to_end()
        training.communicate()
        assert code == 0 and "interrupted" in text, (code, text[-500:])
        with open(run / "metrics.jsonl", "a") as metrics:  # of a folder that comes from elsewhere
            metrics.write('{"step": 99999, "epoch": 1, "time": 1, "eval/\\u001b[31mred": 1}\n')
        once = subprocess.run([BINARY, "watch", run, "--once", "--metric", "eval/"], env=environment(), capture_output=True, text=True)
        assert "[31mred" in once.stdout and "\x1b" not in once.stdout, once
    return 0


if __name__ == "__main__":
    sys.exit(main())
