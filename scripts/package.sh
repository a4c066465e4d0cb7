#!/usr/bin/env bash
# Packages the release build, which must be there: cmake --build --preset release.
#   scripts/package.sh [tgz|deb]..   relocatable archive and Debian package, with LibTorch and all libraries, in build/packages/
#   scripts/package.sh wheel         Python wheel: program, libraries, headers and recipes; LibTorch comes from torch==2.13.*
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=$PWD/build/release
packages=$PWD/build/packages
mkdir -p "$packages"

# The same objects, linked to find their libraries beside them; afterwards the build folder is as it was.
bundle() {
  trap 'cmake -S . -B "$build" -DRUNNER_BUNDLE_LIBTORCH=OFF >/dev/null && cmake --build "$build" --target runner >/dev/null' EXIT
  cmake -S . -B "$build" -DRUNNER_BUNDLE_LIBTORCH=ON >/dev/null
  cmake --build "$build" --target runner
  local generator
  for generator in "$@"; do
    (cd "$build" && cpack -G "${generator^^}" -B "$packages" --config CPackConfig.cmake)
  done
  rm -rf "$packages/_CPack_Packages"
}

wheel() {
  stage=$(mktemp -d) # not local: the trap runs when the function is over
  trap 'rm -rf "$stage"' EXIT
  cmake --install "$build" --prefix "$stage/runner" >/dev/null
  python3 scripts/make_wheel.py "$stage/runner" "$packages"
}

case "${1-tgz}" in
  wheel) wheel ;;
  tgz|deb) bundle "${@:-tgz}" ;;
  *) echo "usage: scripts/package.sh [tgz|deb].. | wheel" >&2; exit 2 ;;
esac
ls -l "$packages"
