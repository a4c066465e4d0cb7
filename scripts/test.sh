#!/usr/bin/env bash
# Builds and runs every test from a fresh clone: set-up, build, tests, and a short run of each fuzz target.
#   scripts/test.sh [ctest options]
#   scripts/test.sh --fast [ctest options]  unit tests alone: no servers, no browsers, no fuzzing
#   scripts/test.sh --thorough [STEP ..]    what takes hours; all steps, or only these:
#     long        every test in its long variant
#     campaigns   runs that are killed 200 times, and runs on two ranks that lose one 50 times
#     gcc         built by g++, usual tests
#     asan, tsan  sanitizers for addresses and undefined behaviour, and for threads; usual tests
#     tidy        clang-tidy over the whole tree
#     fuzz        every fuzz target for 15 minutes
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build_release() {
  [[ -f build/release/build.ninja ]] || cmake --preset release
  cmake --build --preset release
}

usual_tests() {
  echo "formatting"
  git ls-files '*.cpp' '*.hpp' | xargs -r clang-format-19 --dry-run --Werror

  # Fuzz targets first, so that the last lines are those of the whole suite.
  [[ -f build/fuzz/build.ninja ]] || cmake --preset fuzz
  cmake --build --preset fuzz
  ctest --preset fuzz

  build_release
  cmake --build --preset release --target benchmarks  # that they still compile
  local result=0
  ctest --preset release --parallel 3 "$@" || result=$?  # on two cores: some tests wait for servers and browsers

  say_what_was_skipped
  return $result
}

# A case that skips (no data, no tool) does not fail; say which ones did, and why.
say_what_was_skipped() {
  local skips
  skips=$(grep -hE '^ *(SKIPPED|skipped:)' build/release/Testing/Temporary/LastTest.log | sort | uniq -c || true)
  [[ -z "$skips" ]] || printf 'skipped cases:\n%s\n' "$skips"
}

fast_tests() {
  build_release
  local result=0
  ctest --preset release --label-regex unit --parallel 2 "$@" || result=$?
  say_what_was_skipped
  return $result
}

steps=(long campaigns gcc asan tsan tidy fuzz)

long() { build_release && RUNNER_THOROUGH=1 ctest --preset release --parallel 2 --timeout 3600; }

campaigns() {
  build_release && .deps/venv/bin/python3 tests/campaigns/kill.py --kills 200 &&
    .deps/venv/bin/python3 tests/campaigns/kill_ranks.py --kills 50
}

build_and_test() {
  { [[ -f build/$1/build.ninja ]] || cmake --preset "$1"; } && cmake --build --preset "$1" && ctest --preset "$1" --parallel 2
}
gcc() { build_and_test gcc; }
asan() { build_and_test asan; }
tsan() { build_and_test tsan; }

# Without precompiled headers, which are another compiler's, and which hide includes that are missing.
tidy() {
  scripts/setup.sh --lint && cmake --preset release -B build/tidy -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON &&
    .deps/lint/bin/run-clang-tidy.py -clang-tidy-binary .deps/lint/bin/clang-tidy -quiet -p build/tidy -extra-arg=-Wno-c2y-extensions \
      -warnings-as-errors='*' "$PWD/(registry|components|runner)/"
}

# In a folder of its own: the short runs keep their settings.
fuzz() {
  cmake --preset fuzz -B build/fuzz-long -DRUNNER_FUZZ_SECONDS=900 -DRUNNER_FUZZ_CORE=ON &&
    cmake --build build/fuzz-long --target fuzzers && ctest --test-dir build/fuzz-long --output-on-failure --parallel 2
}

# Runs every step even if one fails, and says at the end which did.
thorough() {
  local step began summary=() result=0
  for step in "$@"; do
    [[ " ${steps[*]} " == *" $step "* ]] || { echo "test: there is no step \"$step\"; the steps are: ${steps[*]}" >&2; exit 2; }
  done
  for step in "$@"; do
    echo; echo "thorough: $step"
    began=$SECONDS
    if "$step"; then summary+=("passed  $step, $((SECONDS - began)) s"); else summary+=("FAILED  $step, $((SECONDS - began)) s"); result=1; fi
  done
  echo
  printf 'thorough: %s\n' "${summary[@]}"
  return $result
}

scripts/setup.sh --tests
if [[ "${1-}" == --thorough ]]; then
  shift
  [[ $# -gt 0 ]] || set -- "${steps[@]}"
  thorough "$@"
elif [[ "${1-}" == --fast ]]; then
  shift
  fast_tests "$@"
else
  usual_tests "$@"
fi
