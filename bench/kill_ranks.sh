#!/usr/bin/env bash
# Kills random ranks of a run under mpirun at random times, resumes it each time, and compares its last checkpoint with
# that of a run which nobody disturbed. Fails when a resume fails, or when a byte differs.
#   bench/kill_ranks.sh [KILLS [RANKS]]        50 kills of 2 ranks without arguments
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
kills=${1:-50} ranks=${2:-2} program=$PWD/build/tapeformer
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export TAPEFORMER_CACHE=$folder/cache
cd "$folder"
options=(--data.corpus stories --data.lines 200 --tokenizer.kind char --model.layers 4 --model.heads 2 --model.dim 64
  --model.context 64 --model.dropout 0.1 --train.batch 2 --train.accumulate "$((2 * ranks))" --train.threads 1
  --train.log_every 1 --checkpoint.every 20 --eval.every 50 --eval.batches 2)
job() { mpirun --oversubscribe --bind-to none -q -n "$ranks" "$program" train "$@"; }

"$program" train "${options[@]}" --train.steps 1 --out probe >/dev/null 2>&1  # fills the cache
steps=$((100 + 120 * kills))
options+=(--train.steps "$steps")
last=$(printf 'checkpoints/step-%06d' "$steps")
job "${options[@]}" --out whole >log 2>&1 || { cat log; exit 1; }
job "${options[@]}" --out cut --train.max_minutes 0.0001 >log 2>&1 || { cat log; exit 1; }
died=0
for ((kill = 1; kill <= kills; ++kill)); do
  setsid mpirun --oversubscribe --bind-to none -q -n "$ranks" "$program" train --resume cut --train.max_minutes 0 \
    >"log" 2>&1 &
  mpirun=$!
  # Anything from the start of the processes to about a second of training.
  sleep "$(awk -v r="$RANDOM" 'BEGIN { print 0.2 + 1.6 * r / 32768 }')"
  mapfile -t processes < <(pgrep -P "$mpirun" || true)
  if [ ${#processes[@]} -gt 0 ]; then
    victim=${processes[RANDOM % ${#processes[@]}]}
    kill -KILL "$victim" 2>/dev/null && died=$((died + 1))
  fi
  wait "$mpirun" || true
  printf '\r%s of %s kills, %s' "$kill" "$kills" "$(cat cut/checkpoints/latest)" >&2
  if [ "$(cat cut/checkpoints/latest)" = "$(basename "$last")" ]; then break; fi
  if grep "tapeformer:" log | grep -vq "silent"; then echo; cat log; exit 1; fi
done
job --resume cut --train.max_minutes 0 >log 2>&1 || { cat log; exit 1; }
for file in whole/"$last"/*.safetensors; do
  cmp "$file" "cut/$last/$(basename "$file")"
done
echo
echo "$died ranks were killed in as many jobs; the last checkpoint has the bytes of an undisturbed run"
