#!/usr/bin/env bash
# Makes docs/surprisal.png and docs/vectors.png again: trains the two models (about three minutes of processor time),
# writes their pages, and takes pictures of these by headless chromium. Usage: scripts/pictures.sh [FOLDER FOR THE RUNS]
set -euo pipefail
top=$(dirname "$(dirname "$(readlink -f "$0")")")
runs=${1:-$(mktemp -d)}
tapeformer=$top/build/tapeformer

picture() {  # PAGE WIDTHxHEIGHT: docs/PAGE.png from $runs/PAGE.html
  chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$runs/browser" \
    --window-size="${2/x/,}" --screenshot="$top/docs/$1.png" "file://$runs/$1.html"
}

mkdir -p "$runs"
runs=$(realpath -- "$runs")
[ -d "$runs/stories" ] || "$tapeformer" train "$top/configs/stories.toml" --out "$runs/stories"
[ -d "$runs/words" ] || "$tapeformer" train "$top/configs/word2vec-stories.toml" --out "$runs/words"

# Stories of the grammar, in which a word of each is not what the model expects.
text=$("$tapeformer" corpus stories --lines 3 --seed 7 2>/dev/null | sed 's/ found / ate /')
"$tapeformer" surprisal "$runs/stories" --prompt "$text" --out "$runs/surprisal.html"
printf '%s\n' red blue green yellow bear swan rabbit fox Max Lily Tom was had saw big small found merry |
  "$tapeformer" embed "$runs/words" --out "$runs/vectors.html"
picture surprisal 1280x800
picture vectors 1280x800
