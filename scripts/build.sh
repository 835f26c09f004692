#!/usr/bin/env bash
# Installs what is missing and builds a preset of CMakePresets.json:
#   scripts/build.sh            everything: build/tapeformer, the tests and benchmarks
#   scripts/build.sh program    build/tapeformer alone, in about half the time
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
preset=${1:-release}
if [ "$preset" = program ]; then scripts/setup.sh --program; else scripts/setup.sh; fi
cmake --preset "$preset" >/dev/null
# More compilers at a time than cores are slower: they take the caches from each other.
cmake --build --preset "$preset" --parallel "$(nproc)"
