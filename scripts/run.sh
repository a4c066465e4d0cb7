#!/usr/bin/env bash
# Runs a recipe from a fresh clone: set-up, build, run. What is done already is not done again.
#   scripts/run.sh RECIPE [overrides]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

"$root/scripts/setup.sh"
(
  cd "$root"
  [[ -f build/release/build.ninja ]] || cmake --preset release
  cmake --build --preset release --target runner | grep -v -e 'no work to do' -e 'Re-checking globbed' || [[ ${PIPESTATUS[0]} -eq 0 ]]
) >&2
exec "$root/build/release/bin/runner" "$@"
