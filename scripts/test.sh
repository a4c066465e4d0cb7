#!/usr/bin/env bash
# Builds and runs every test from a fresh clone: set-up, build, tests, and a short run of each fuzz target.
#   scripts/test.sh [ctest options]
#   scripts/test.sh --thorough      adds what takes hours: campaigns, g++, sanitizers, clang-tidy, longer fuzzing
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

thorough=false
[[ "${1-}" == --thorough ]] && { thorough=true; shift; }

scripts/setup.sh --tests

echo "formatting"
git ls-files '*.cpp' '*.hpp' | xargs -r clang-format-19 --dry-run --Werror

# Fuzz targets first, so that the last lines are those of the whole suite.
if compgen -G "tests/fuzz/*.cpp" >/dev/null; then
  [[ -f build/fuzz/build.ninja ]] || cmake --preset fuzz
  cmake --build --preset fuzz
  ctest --preset fuzz
fi

[[ -f build/release/build.ninja ]] || cmake --preset release
cmake --build --preset release
cmake --build --preset release --target benchmarks  # that they still compile
result=0
ctest --preset release --parallel 3 "$@" || result=$?  # on two cores: some tests wait for servers and browsers

# A case that skips (no data, no tool) passes; say which ones did.
grep -h -A1 'SKIPPED:' build/release/Testing/Temporary/LastTest.log | grep -v '^--$' | sort -u || true

if $thorough; then
  failed=()
  step() {
    echo; echo "thorough: $*"
    local began=$SECONDS
    "$@" || { failed+=("$*"); result=1; }
    echo "thorough: $((SECONDS - began)) s for: $*"
  }
  build_and_test() {
    { [[ -f build/$1/build.ninja ]] || cmake --preset "$1"; } && cmake --build --preset "$1" && ctest --preset "$1" --parallel 2
  }

  export RUNNER_THOROUGH=1
  step ctest --preset release --parallel 2
  step .deps/venv/bin/python3 tests/campaigns/kill.py --kills 200
  step .deps/venv/bin/python3 tests/campaigns/kill_ranks.py --kills 50
  unset RUNNER_THOROUGH  # what follows is about the compiler and the sanitizers: the usual tests are enough

  for preset in gcc asan tsan; do step build_and_test $preset; done

  # Without precompiled headers, which are another compiler's, and which hide includes that are missing.
  step scripts/setup.sh --lint
  step cmake --preset release -B build/tidy -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON
  step .deps/lint/bin/run-clang-tidy.py -clang-tidy-binary .deps/lint/bin/clang-tidy -quiet -p build/tidy -extra-arg=-Wno-c2y-extensions \
    -warnings-as-errors='*' "$PWD/(registry|components|runner)/"

  # In a folder of its own: the short runs above keep their settings.
  step cmake --preset fuzz -B build/fuzz-long -DRUNNER_FUZZ_SECONDS=900 -DRUNNER_FUZZ_CORE=ON
  step cmake --build build/fuzz-long --target fuzzers
  step ctest --test-dir build/fuzz-long --output-on-failure --parallel 2

  echo
  for each in "${failed[@]}"; do echo "thorough: FAILED: $each"; done
fi
exit $result
