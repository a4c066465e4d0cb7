#!/usr/bin/env bash
# Compares the runner with Accelerate on this machine, side by side.
#   benchmarks/run.sh [--rounds N] [--out DIR] [names]     names: see benchmarks/run.py --help
# CIFAR10_DIR, TEXT_FILE and IMAGES_DIR point to real data; what is not given is generated.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh
[[ -f build/release/build.ninja ]] || cmake --preset release
cmake --build --preset release --target runner benchmark_bare benchmark_bare_ranks benchmark_loader benchmark_checkpoint >&2

# The peer lives in an environment of its own.
peer=.deps/benchmark
key=$(sha256sum benchmarks/requirements.txt | cut -d' ' -f1)
if [[ ! -f $peer/stamp || "$(<$peer/stamp)" != "$key" ]]; then
  python3 -m venv $peer
  $peer/bin/pip install --quiet --disable-pip-version-check -r benchmarks/requirements.txt
  echo "$key" >$peer/stamp
fi
exec $peer/bin/python benchmarks/run.py "$@"
