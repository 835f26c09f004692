#!/usr/bin/env bash
# tapeformer and PyTorch side by side: for each work several rounds, the two alternating, medians of all steps' medians.
#   build/bench/compare [--rounds N] [--steps N] ["LAYERS HEADS DIM VOCAB BATCH LENGTH" ...]
# PyTorch is python3-torch of Debian, run by /usr/bin/python3 (override: PEER_PYTHON), at the fastest setting found for
# this machine: its own vector kernels at their best, and the OpenBLAS kernels (its own choice, or those of the
# instruction set) that make it faster.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
rounds=3 steps=7 works=()
while [ $# -gt 0 ]; do
  case $1 in
    --rounds) rounds=$2; shift 2 ;;
    --steps) steps=$2; shift 2 ;;
    -*) echo "compare: unknown option $1 (--rounds, --steps)" >&2; exit 2 ;;
    *) works+=("$1"); shift ;;
  esac
done
[ ${#works[@]} -gt 0 ] || works=("4 4 128 65 12 64" "6 6 384 65 16 256" "12 12 768 50257 4 64" "12 12 768 50257 4 512")

unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
threads=$(lscpu -p=core,socket | grep -v '^#' | sort -u | wc -l)
python=${PEER_PYTHON:-/usr/bin/python3}
"$python" -c 'import torch' 2>/dev/null ||
  { echo "compare: $python has no torch: install Debian's python3-torch" >&2; exit 1; }
peer_environment=(OMP_NUM_THREADS="$threads" LD_LIBRARY_PATH="$(echo /usr/lib/*/openblas-openmp)")
best_kernels=Haswell
if grep -q avx512bw /proc/cpuinfo; then best_kernels=SkylakeX peer_environment+=(ATEN_CPU_CAPABILITY=avx512); fi

value() { sed -E "s/.*\"$1\": ?([0-9.e+-]+).*/\1/" <<<"$2"; }
median() { sort -g | awk '{v[NR] = $1} END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }
ours() { "$here/train_step" "$@"; }
peer() { env "${peer_environment[@]}" "$python" "$here/peers/torch_gpt.py" "$@"; }

flags_of() {
  read -r layers heads dim vocab batch length <<<"$1"
  echo "--layers $layers --heads $heads --dim $dim --vocab $vocab --batch $batch --length $length --threads $threads"
}

# The faster OpenBLAS kernels for PyTorch, by the first work.
read -ra flags <<<"$(flags_of "${works[0]}")"
own=$(value step_ms "$(peer "${flags[@]}" --steps "$steps")")
named=$(value step_ms "$(OPENBLAS_CORETYPE=$best_kernels peer "${flags[@]}" --steps "$steps")")
if awk "BEGIN {exit !($named < $own)}"; then peer_environment+=(OPENBLAS_CORETYPE=$best_kernels); fi

echo "PyTorch with ${peer_environment[*]}"
printf '%-34s %14s %14s %8s %12s %12s %8s\n' "layers heads dim vocab batch length" "tapeformer ms" "PyTorch ms" "speed" \
  "MiB" "PyTorch MiB" "memory"
for work in "${works[@]}"; do
  read -ra flags <<<"$(flags_of "$work")"
  our_ms=() peer_ms=() our_rss=() peer_rss=()
  for ((round = 0; round < rounds; ++round)); do
    line=$(ours "${flags[@]}" --steps "$steps")
    our_ms+=("$(value step_ms "$line")") our_rss+=("$(value peak_rss_mib "$line")")
    line=$(peer "${flags[@]}" --steps "$steps")
    peer_ms+=("$(value step_ms "$line")") peer_rss+=("$(value peak_rss_mib "$line")")
  done
  a=$(printf '%s\n' "${our_ms[@]}" | median) b=$(printf '%s\n' "${peer_ms[@]}" | median)
  c=$(printf '%s\n' "${our_rss[@]}" | median) d=$(printf '%s\n' "${peer_rss[@]}" | median)
  awk -v work="$work" -v a="$a" -v b="$b" -v c="$c" -v d="$d" \
    'BEGIN {printf "%-34s %14.1f %14.1f %7.2fx %12.0f %12.0f %7.2fx\n", work, a, b, b / a, c, d, c / d}'
done
