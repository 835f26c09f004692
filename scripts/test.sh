#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
scripts/setup.sh
cmake --preset release >/dev/null
cmake --build --preset tests --parallel "$(nproc)"
# Three at a time on two cores: many tests wait for processes, clocks and browsers.
ctest --test-dir build --output-on-failure --parallel 3
