#!/usr/bin/env bash
# Installs what building and running needs: Debian packages, and LibTorch into .deps/ of this checkout.
#   scripts/setup.sh            for building and running
#   scripts/setup.sh --tests    adds what the tests need
#   scripts/setup.sh --lint     clang-tidy alone, for scripts/test.sh --thorough
# LIBTORCH_DIR, or a CMAKE_PREFIX_PATH that holds LibTorch, is used instead of downloading one.
# Idempotent: done once, a further call costs a few milliseconds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

torch_version=2.13.0
packages=(
  ca-certificates ccache clang-19 cmake git mold ninja-build python3 python3-venv
  libcurl4-openssl-dev libfmt-dev libgloo-dev libicu-dev libjpeg62-turbo-dev libpng-dev libprotozero-dev
  libspdlog-dev libssl-dev libtomlplusplus-dev libxxhash-dev nlohmann-json3-dev zlib1g-dev
)
test_packages=(
  catch2 g++ clang-format-19 libclang-rt-19-dev
  bash fish zsh dataset-fashion-mnist openmpi-bin chromium chromium-driver
  patchelf pkg-config
)
# Slurm starts services when it is installed, which nobody wants on a desktop; without it, its test skips.
[[ -n "${CI-}" ]] && test_packages+=(munge slurm-client slurmctld slurmd)

clang_tidy_version=22.1.8

with_tests=false
case "${1-}" in
  "") ;;
  --tests) with_tests=true ;;
  --lint) ;;
  *) echo "usage: scripts/setup.sh [--tests|--lint]" >&2; exit 2 ;;
esac

# Where the user has a LibTorch of their own, it is used as it is.
users_libtorch() {
  local prefix
  if [[ -n "${LIBTORCH_DIR-}" ]]; then
    [[ -e "$LIBTORCH_DIR/lib/libtorch_cpu.so" ]] && return 0
    echo "setup: LIBTORCH_DIR=$LIBTORCH_DIR holds no lib/libtorch_cpu.so" >&2
    exit 1
  fi
  IFS=: read -ra prefixes <<<"${CMAKE_PREFIX_PATH-}"
  for prefix in "${prefixes[@]}"; do
    [[ -e "$prefix/lib/libtorch_cpu.so" || -e "$prefix/../../lib/libtorch_cpu.so" ]] && return 0
  done
  return 1
}

# Debian's own Python first: it is a version the wheels exist for, whatever else the user has in PATH.
make_venv() {
  local folder=$1 python=/usr/bin/python3
  "$python" -c 'import ensurepip' 2>/dev/null || python=python3
  [[ -x $folder/bin/pip ]] || "$python" -m venv "$folder"
}

if [[ "${1-}" == --lint ]]; then
  make_venv .deps/lint
  .deps/lint/bin/pip install --quiet --disable-pip-version-check --no-input "clang-tidy==$clang_tidy_version"
  exit
fi

have_wheel() { compgen -G ".deps/venv/lib/python3*/site-packages/torch/lib/libtorch_cpu.so" >/dev/null; }

# A stamp says that this very script, with these very requirements, has finished before.
key=$(cat scripts/setup.sh tests/requirements.txt tests/requirements-trackers.txt | sha256sum | cut -d' ' -f1)
own_libtorch=false
users_libtorch && own_libtorch=true
done_before() { [[ -f ".deps/$1.stamp" && "$(<".deps/$1.stamp")" == "$key" ]]; }
if { $own_libtorch || have_wheel; } && { done_before tests || { ! $with_tests && done_before build; }; }; then
  exit 0
fi

mkdir -p .deps
exec 9>.deps/lock
flock 9

$with_tests && packages+=("${test_packages[@]}")

install_packages() {
  if ! command -v dpkg-query >/dev/null; then
    echo "setup: not a Debian system; install the equivalents of: ${packages[*]}" >&2
    exit 1
  fi
  local missing=() package as_root=()
  for package in "${packages[@]}"; do
    [[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" == installed ]] || missing+=("$package")
  done
  [[ ${#missing[@]} -eq 0 ]] && return

  local by_hand="apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
  if [[ $EUID -ne 0 ]]; then
    # With a terminal sudo may ask for the password, without one it must not wait for it.
    if command -v sudo >/dev/null && { [[ -t 0 ]] || sudo -n true 2>/dev/null; }; then
      as_root=(sudo)
    else
      printf 'setup: Debian packages are missing, and installing them needs root. As root, run:\n  %s\n' "$by_hand" >&2
      exit 1
    fi
  fi
  echo "setup: installing ${missing[*]}"
  if ! { "${as_root[@]}" apt-get update -qq &&
         "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"; }; then
    printf 'setup: installing failed. As root, run:\n  %s\n' "$by_hand" >&2
    exit 1
  fi
}

pip_install() { .deps/venv/bin/pip install --quiet --disable-pip-version-check --no-input "$@"; }

install_libtorch() {
  make_venv .deps/venv
  have_wheel || echo "setup: installing LibTorch $torch_version into .deps/"
  pip_install --no-deps "torch==$torch_version"
  # A CUDA build finds its CUDA libraries in packages of their own.
  if compgen -G ".deps/venv/lib/python3*/site-packages/torch/lib/libtorch_cuda.so" >/dev/null; then
    pip_install "torch==$torch_version"
  fi
}

# Large, and only for the tests that read what trackers write: they skip where it cannot be installed.
install_tracker_tools() {
  local stamp=.deps/trackers-venv/stamp wanted
  wanted=$(sha256sum tests/requirements-trackers.txt | cut -d' ' -f1)
  [[ -f $stamp && "$(<$stamp)" == "$wanted" ]] && return
  echo "setup: installing the trackers' own tools into .deps/trackers-venv"
  make_venv .deps/trackers-venv
  if .deps/trackers-venv/bin/pip install --quiet --disable-pip-version-check --no-input -r tests/requirements-trackers.txt; then
    echo "$wanted" >$stamp
  else
    rm -rf .deps/trackers-venv
    echo "setup: that failed; the tests that need them will be skipped" >&2
  fi
}

install_packages
$own_libtorch || install_libtorch
if $with_tests; then
  make_venv .deps/venv
  pip_install -r tests/requirements.txt
  install_tracker_tools
  echo "$key" >.deps/tests.stamp
fi
echo "$key" >.deps/build.stamp
