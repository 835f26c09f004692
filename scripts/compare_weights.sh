#!/usr/bin/env bash
# Trains every configuration by an old revision and by the working tree, and compares the weights and the optimizer's
# state byte by byte. Fails when any of them differ.
#   scripts/compare_weights.sh OLD_REV [CONFIG.toml ...]
# Data sets are looked for in $TAPEFORMER_DATA (../shared/data): a configuration whose data is absent is skipped. The old
# revision is built in $TAPEFORMER_COMPARE (a folder of the system's temporary folder), and kept there for the next time.
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: scripts/compare_weights.sh OLD_REV [CONFIG.toml ...]" >&2; exit 2; }
cd "$(dirname "$0")/.."
revision=$(git rev-parse --verify --short "$1^{commit}")
shift
configs=("$@")
[ ${#configs[@]} -gt 0 ] || configs=(configs/*.toml)
data=$(realpath -m "${TAPEFORMER_DATA:-../shared/data}")
work=${TAPEFORMER_COMPARE:-${TMPDIR:-/tmp}/tapeformer-compare}
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE

echo "== Building the revision $revision and the working tree"
old=$work/$revision
if [ ! -d "$old" ]; then
  mkdir -p "$old.partial"
  git archive "$revision" | tar x -C "$old.partial"
  mv "$old.partial" "$old"
fi
for tree in "$old" "$PWD"; do
  build=$tree/build
  [ -e "$build/build.ninja" ] ||
    cmake -G Ninja -S "$tree" -B "$build" -DCMAKE_BUILD_TYPE=Release -DTAPEFORMER_BENCH=OFF >/dev/null
  cmake --build "$build" --target tapeformer >/dev/null
done

# Sets `options` for a configuration, or `missing` to what it would take. The two large models get small batches and a
# small vocabulary, so that 50 steps take about a minute: their widths and layers stay.
options_of() {
  options=(--train.steps 50) missing=
  case $1 in
    gpt2-small)
      options+=(--train.batch 1 --train.accumulate 2 --model.context 32 --tokenizer.vocab 500
        --data.corpus stories --data.lines 2000) ;;
    transformer-base)
      options+=(--train.batch_tokens 256 --train.accumulate 2 --model.context 64 --tokenizer.vocab 1000
        --data.corpus reverse --data.lines 2000) ;;
    tag-*)
      build/tapeformer corpus stories --labels --lines 100 >"$runs/labels.tsv" 2>/dev/null
      options+=(--data.labels "$runs/labels.tsv") ;;
    shakespeare-* | lstm-char)
      missing=$data/tinyshakespeare/input.txt
      options+=(--data.text "$missing") ;;
    multi30k-*)
      missing=$data/multi30k/tok/train.de
      for side in "source de" "target en"; do
        read -r key language <<<"$side"
        options+=("--data.$key" "$data/multi30k/tok/train.$language"
          "--data.valid_$key" "$data/multi30k/tok/val.$language")
      done ;;
  esac
  [ ! -e "$missing" ] || missing=
  options+=(--eval.every 0 --eval.batches 1 --eval.bleu_every 0)
}

runs=$(mktemp -d)
trap 'rm -rf "$runs"' EXIT
export TAPEFORMER_CACHE=$runs/cache
failed=0
for config in "${configs[@]}"; do
  name=$(basename "$config" .toml)
  options_of "$name"
  result=same
  if [ -n "$missing" ]; then
    result="skipped: no $missing"
  elif [ ! -e "$old/$config" ]; then
    result="skipped: $revision has no $config"
  else
    for side in old new; do
      tree=$PWD
      [ $side = new ] || tree=$old
      # Revisions without the key have products in f32 only.
      precision=()
      ! "$tree/build/tapeformer" train --help | grep -q train.matmul || precision=(--train.matmul highest)
      "$tree/build/tapeformer" train "$tree/$config" "${options[@]}" "${precision[@]}" --out "$runs/$name-$side" >"$runs/log" 2>&1 ||
        { result="FAILED by the $side one: $(tail -n 1 "$runs/log")"; break; }
      rm -rf "$TAPEFORMER_CACHE"
    done
    for file in model optimizer; do
      [ "$result" = same ] || break
      cmp -s "$runs/$name-"{old,new}/checkpoints/step-*/"$file.safetensors" || result="DIFFERENT: $file.safetensors"
    done
  fi
  printf '%-20s %s\n' "$name" "$result"
  [[ $result == same || $result == skipped* ]] || failed=1
done
exit $failed
