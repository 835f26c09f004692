#!/usr/bin/env bash
# From nothing to a trained language model in a few minutes: installs what is missing, builds the program, trains on
# generated stories for a minute, evaluates, and lets the model write stories of its own.
#   scripts/demo.sh [FOLDER]    the run's folder; runs/demo unless given
set -euo pipefail
[ $# = 0 ] || set -- "$(realpath -ms -- "$1")"
cd "$(dirname "$(readlink -f "$0")")/.."
run=${1:-runs/demo}
if [ -e "$run" ]; then
  echo "demo: $run exists already: remove it, or name another folder: scripts/demo.sh FOLDER" >&2
  exit 1
fi
scripts/build.sh program

echo "== Training a small language model on generated stories, for a minute"
build/tapeformer train --data.corpus stories --minutes 1 --out "$run"

echo
echo "== How well it predicts stories that it has never seen"
unseen=$(mktemp)
trap 'rm -f "$unseen"' EXIT
build/tapeformer corpus stories --lines 300 --seed 2 >"$unseen"
build/tapeformer eval "$run" --text "$unseen" --stride 32

echo
echo "== What it writes"
build/tapeformer generate "$run" --samples 3 --temperature 0.8
