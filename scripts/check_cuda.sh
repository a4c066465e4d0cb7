#!/usr/bin/env bash
# Compiles and links what only GPUs need (runner/cuda/) against a CUDA build of LibTorch, and loads it. Needs no GPU, and
# runs nothing on one. Not part of the ordinary tests: the first time it installs several GB into .deps/cuda.
#   scripts/check_cuda.sh
# CUDA_HOME: a CUDA 13 toolkit (default: /usr/local/cuda). LIBTORCH_DIR: a CUDA build of LibTorch, instead of installing one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export CUDA_HOME=${CUDA_HOME:-/usr/local/cuda}
[[ -e $CUDA_HOME/include/cuda_runtime_api.h ]] || { echo "check_cuda: no CUDA toolkit at $CUDA_HOME; set CUDA_HOME" >&2; exit 1; }

if [[ -z "${LIBTORCH_DIR-}" ]]; then
  # The version that the program is built with.
  torch_version=$(sed -n 's/^torch_version=//p' scripts/setup.sh)
  packages=("torch==$torch_version" nvidia-nccl-cu13==2.30.7 nvidia-cublas==13.1.1.3 nvidia-cusparse==12.6.3.3 nvidia-cusolver==12.0.4.66
            nvidia-cudnn-cu13==9.24.0.43 nvidia-cufft==12.0.0.61 nvidia-cufile==1.15.1.6 nvidia-curand==10.4.0.35
            nvidia-cusparselt-cu13==0.8.1 nvidia-nvshmem-cu13==3.4.5 nvidia-nvjitlink "nvidia-cuda-runtime==13.0.*" "nvidia-cuda-cupti==13.0.*"
            "nvidia-cuda-nvrtc==13.0.*" "nvidia-nvtx==13.0.*")
  wanted=$(sha256sum <<<"${packages[*]}" | cut -d' ' -f1)
  if [[ ! -f .deps/cuda/stamp || "$(<.deps/cuda/stamp)" != "$wanted" ]]; then
    echo "check_cuda: installing a CUDA build of LibTorch into .deps/cuda"
    [[ -x .deps/cuda/bin/pip ]] || python3 -m venv .deps/cuda
    .deps/cuda/bin/pip install --quiet --disable-pip-version-check --no-input --no-deps "${packages[@]}"
    echo "$wanted" >.deps/cuda/stamp
  fi
  LIBTORCH_DIR=$(echo "$PWD"/.deps/cuda/lib/python3*/site-packages/torch)
fi

cmake -S . -B build/cuda -G Ninja -DCMAKE_CXX_COMPILER=clang++-19 -DCMAKE_BUILD_TYPE=Release -DRUNNER_TESTS=OFF \
      -DLIBTORCH_DIR="$LIBTORCH_DIR" | grep -E 'LibTorch|CUDA|rror' || true
cmake --build build/cuda --target runner_cuda

# Everything it refers to is there: the dynamic linker resolves all of it at once.
library=build/cuda/lib/librunner_cuda.so
paths=$(echo "$LIBTORCH_DIR"/lib "$LIBTORCH_DIR"/../nvidia/*/lib | tr ' ' ':')
LD_LIBRARY_PATH=$paths python3 - "$library" <<'PYTHON'
import ctypes
import os
import sys
library = ctypes.CDLL(sys.argv[1], mode=os.RTLD_NOW)
library.runner_make_nccl_group
print(f"check_cuda: {sys.argv[1]} compiles, links and loads; whether it works only GPUs can tell")
PYTHON
