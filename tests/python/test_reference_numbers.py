"""The numbers in tests/parity/*.txt are what PyTorch and scikit-learn give today: the scripts that wrote them are run again."""

import math
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Doubles agree to the last digits; floats depend on the order of summation; 16-bit kernels on the machine.
TOLERANCE = {"schedulers": 1e-12, "optimizers": 1e-6, "precisions": 2e-2, "metrics": 1e-12, "powersgd": 1e-5}


def read(path):
    return {line.split()[0]: [float(word) for word in line.split()[1:]] for line in path.read_text().splitlines()}


def apart(a, b):
    return 0.0 if math.isnan(a) and math.isnan(b) else abs(a - b)


def main():
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    environment.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16")  # advertised AMX may not execute
    failed = 0
    for name, tolerance in TOLERANCE.items():
        with tempfile.TemporaryDirectory() as folder:
            fresh_file = pathlib.Path(folder) / "fresh.txt"
            script = ROOT / "tests" / "parity" / f"{name}_reference.py"
            subprocess.run([sys.executable, script, fresh_file], check=True, env=environment)
            fresh, stored = read(fresh_file), read(ROOT / "tests" / "parity" / f"{name}.txt")
        if fresh.keys() != stored.keys():
            print(f"{name}: other cases than stored: {sorted(fresh.keys() ^ stored.keys())}")
            failed += 1
        for key in fresh.keys() & stored.keys():
            worst = max((apart(a, b) for a, b in zip(fresh[key], stored[key], strict=True)), default=0.0)
            if not worst <= tolerance:
                print(f"{name}: {key} differs by {worst}")
                failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
