#!/usr/bin/env bash
# Runs a command on simulated GPUs: tests/simulated_gpu says what they show, and what only a real one can.
#   scripts/simulated_gpu.sh build/release/bin/runner recipes/shapes.toml run.device=cuda
# SIMULATED_GPU_DEVICES=2      how many there are (default: 4)
# SIMULATED_GPU_MEMORY=BYTES   of each (default: 8 GiB)
# SIMULATED_GPU_REPORT=FILE    gets a line of JSON when a process ends: operators, bytes copied, waits of the host
# SIMULATED_GPU_SHOW_WAITS=1   where the host waits for the device, on stderr
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
library=${RUNNER_BINARY_DIR:-$here/../build/release}/lib/simulated_gpu/librunner_cuda.so
[[ $# -gt 0 ]] || { sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
[[ -e $library ]] || { echo "simulated_gpu: $library is not built: cmake --build --preset release --target simulated_gpu" >&2; exit 1; }
LD_PRELOAD=$(realpath "$library")${LD_PRELOAD:+:$LD_PRELOAD} exec "$@"
