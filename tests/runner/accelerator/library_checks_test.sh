#!/usr/bin/env bash
# The calls of Accelerate on one, two and three processes: see tests/tools/library_checks.cpp.
set -u
checks=$(dirname "$RUNNER_BINARY")/library_checks
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
for ranks in 1 2 3; do
  if ! output=$(OMP_NUM_THREADS=1 timeout 300 "$checks" "$ranks" "$folder" 2>&1); then
    echo "FAILED on $ranks ranks:"; echo "$output" | tail -30; failed=1
  fi
done
exit $failed
