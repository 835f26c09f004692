#!/usr/bin/env bash
# Makes docs/surprisal.png and docs/vectors.png again: trains the two models (about three minutes of processor time),
# writes their pages, and takes pictures of these by headless chromium. Usage: scripts/pictures.sh [FOLDER FOR THE RUNS]
set -euo pipefail
trap 'exit 130' INT  # a training that Ctrl-C stops returns 0
top=$(dirname "$(dirname "$(readlink -f "$0")")")
runs=${1:-$(mktemp -d)}
tapeformer=$top/build/tapeformer

picture() {  # PAGE WIDTHxHEIGHT: docs/PAGE.png from $runs/PAGE.html
  chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$runs/browser" \
    --window-size="${2/x/,}" --screenshot="$top/docs/$1.png" "file://$runs/$1.html"
}

mkdir -p "$runs"
runs=$(realpath -- "$runs")
train() {  # NAME CONFIG: trains $runs/NAME, or the rest of it where an earlier call was interrupted
  if [ -d "$runs/$1" ]; then "$tapeformer" train --resume "$runs/$1"; else "$tapeformer" train "$top/configs/$2" --out "$runs/$1"; fi
}
train stories stories.toml
train words word2vec-stories.toml

# Stories of the grammar, in which a word of each is not what the model expects.
text=$("$tapeformer" corpus stories --lines 3 --seed 7 2>/dev/null | sed 's/ found / ate /')
"$tapeformer" surprisal "$runs/stories" --prompt "$text" --out "$runs/surprisal.html"
printf '%s\n' red blue green yellow bear swan rabbit fox Max Lily Tom was had saw big small found merry |
  "$tapeformer" embed "$runs/words" --out "$runs/vectors.html"
picture surprisal 1280x800
picture vectors 1280x800
