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
ctest --preset release --parallel 2 "$@" || result=$?  # some tests wait for servers and browsers

# A case that skips (no data, no tool) passes; say which ones did.
grep -h -A1 'SKIPPED:' build/release/Testing/Temporary/LastTest.log | grep -v '^--$' | sort -u || true

if $thorough; then
  step() { echo; echo "thorough: $*"; "$@" || { echo "thorough: FAILED: $*"; result=1; }; }
  export RUNNER_THOROUGH=1
  step ctest --preset release
  step .deps/venv/bin/python3 tests/campaigns/kill.py --kills 200
  step .deps/venv/bin/python3 tests/campaigns/kill_ranks.py --kills 50
  for preset in gcc asan tsan; do
    [[ -f build/$preset/build.ninja ]] || cmake --preset $preset
    step cmake --build --preset $preset
  done
  step ctest --preset gcc
  step ctest --preset asan
  # LibTorch is not instrumented: only what starts threads of its own.
  step ctest --preset tsan -R 'registry_test|recipe_test'
  threaded=""
  for file in trackers item every_rank loader ordered_prefetch compute_threads store world save_hooks; do
    threaded+="${threaded:+,}[#${file}_test]"
  done
  step build/tsan/bin/core_test --filenames-as-tags --warn NoTests "$threaded"
  step run-clang-tidy-19 -quiet -p build/release -warnings-as-errors='*' "$PWD/(registry|components|runner)/"
  cmake --preset fuzz -DRUNNER_FUZZ_SECONDS=900 -DRUNNER_FUZZ_CORE=ON
  step cmake --build --preset fuzz
  step ctest --preset fuzz --timeout 1200
fi
exit $result
