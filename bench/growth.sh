#!/usr/bin/env bash
# Measures how the cost of a step grows with the length (attention with its square, everything else and the memory
# linearly), with the width (with its square), and how much a second thread helps.
#   build/bench/growth [--steps N]
set -euo pipefail
export LC_ALL=C  # awk, printf and sort would read 1.75 as 1 where numbers have a comma
here=$(dirname "$(readlink -f "$0")")
steps=7
[ "${1:-}" != --steps ] || steps=$2
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE

value() { sed -nE "s/^\{.*\"$1\": ?([0-9.e+-]+).*/\1/p" <<<"$2"; }
# The ms per step of attention's forward and backward together, from the profile's table of kernels.
attention_ms() { awk '/^attention_(forward|backward)/ {ms += $3} END {print ms}' <<<"$1"; }

echo "length: 4 layers, 4 heads, 256 wide, 65 words, batch 4"
printf '%8s %12s %14s %14s %14s %14s\n' length "step ms" "us a token" "attention ms" "rest us/token" "tensors MiB"
for length in 64 128 256 512 1024 2048; do
  out=$("$here/train_step" --layers 4 --heads 4 --dim 256 --vocab 65 --batch 4 --length "$length" --steps "$steps" --profile)
  awk -v t="$length" -v ms="$(value step_ms "$out")" -v a="$(attention_ms "$out")" -v m="$(value peak_tensor_mib "$out")" \
    'BEGIN {n = 4 * t / 1000; printf "%8d %12.2f %14.1f %14.2f %14.1f %14.1f\n", t, ms, ms / n, a, (ms - a) / n, m}'
done

echo "width: 4 layers, heads of 64, 65 words, 8x128 tokens"
printf '%8s %12s %18s\n' width "step ms" "ns per parameter"
for width in 128 256 512 1024; do
  out=$("$here/train_step" --layers 4 --heads $((width / 64)) --dim "$width" --vocab 65 --batch 8 --length 128 --steps "$steps")
  awk -v w="$width" -v ms="$(value step_ms "$out")" -v p="$(value params "$out")" \
    'BEGIN {printf "%8d %12.2f %18.2f\n", w, ms, ms * 1e6 / p}'
done

echo "threads"
printf '%-40s %12s %12s %10s\n' "layers heads dim vocab batch length" "1 thread ms" "2 threads ms" speed-up
for work in "4 4 128 65 12 64" "6 6 384 65 16 256" "12 12 768 50257 4 64"; do
  read -r layers heads dim vocab batch length <<<"$work"
  run() {
    value step_ms "$("$here/train_step" --layers "$layers" --heads "$heads" --dim "$dim" --vocab "$vocab" --batch "$batch" \
      --length "$length" --steps "$steps" --threads "$1")"
  }
  one=$(run 1) two=$(run 2)
  awk -v work="$work" -v a="$one" -v b="$two" 'BEGIN {printf "%-40s %12.1f %12.1f %9.2fx\n", work, a, b, a / b}'
done
