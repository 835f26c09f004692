#!/usr/bin/env bash
# Installs what is missing and builds a preset (release unless named): build/tapeformer, build/bench/*.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
scripts/setup.sh
cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset"
