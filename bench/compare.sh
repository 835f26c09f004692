#!/usr/bin/env bash
# Measures tapeformer, its lower bound and PyTorch side by side. Each work is measured in several rounds, which alternate
# between the three; the table shows the medians over the rounds.
#   build/bench/compare [--rounds N] [--steps N] [--matmul highest|high|medium|low] [--state f32|bf16|int8]
#                       ["LAYERS HEADS DIM VOCAB BATCH LENGTH [transformer|rnn]" ...]
# bench/limit measures the lower bound: the step's matrix products alone, plus one pass of AdamW, whose moments are f32
# there whatever --state says of tapeformer's.
# PyTorch is Debian's python3-torch, under bf16 autocast where --matmul is medium or low; PEER names another command, which is run
# in the folder of peers/torch_step.py, with options for the fastest way of that version
# (PEER="newest/python3 torch_step.py --sdpa --fused"). It gets the fastest settings found for this machine: its best vector
# kernels, the faster of two choices of OpenBLAS kernels (OpenBLAS's own choice, or those of the instruction set), and a
# glibc that keeps freed memory, which saves it the page faults that our allocator avoids as well.
set -euo pipefail
export LC_ALL=C  # awk, printf and sort would read 1.75 as 1 where numbers have a comma
here=$(dirname "$(readlink -f "$0")")
rounds=3 steps=7 matmul=highest state=f32 works=()
while [ $# -gt 0 ]; do
  case $1 in
    --rounds) rounds=$2; shift 2 ;;
    --steps) steps=$2; shift 2 ;;
    --matmul) matmul=$2; shift 2 ;;
    --state) state=$2; shift 2 ;;
    -*) echo "compare: unknown option $1 (--rounds, --steps, --matmul, --state)" >&2; exit 2 ;;
    *) works+=("$1"); shift ;;
  esac
done
[ ${#works[@]} -gt 0 ] || works=("4 4 128 65 12 64" "6 6 384 65 16 256" "12 12 768 50257 4 64" "12 12 768 50257 4 512"
  "6 8 512 37000 16 64 transformer" "2 1 200 10000 20 35 rnn" "2 1 650 10000 20 35 rnn")

unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
threads=$(lscpu -p=core,socket | grep -v '^#' | sort -u | wc -l)
read -ra peer_command <<<"${PEER:-/usr/bin/python3 torch_step.py}"
[ -n "${PEER:-}" ] || /usr/bin/python3 -c 'import torch' 2>/dev/null ||
  { echo "compare: /usr/bin/python3 has no torch: install Debian's python3-torch" >&2; exit 1; }
peer_environment=(OMP_NUM_THREADS="$threads" LD_LIBRARY_PATH="$(echo /usr/lib/*/openblas-openmp)"
  MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=100000000000 MALLOC_TOP_PAD_=500000000)
[[ $matmul != medium && $matmul != low ]] || peer_command+=(--bf16)
best_kernels=Haswell
if grep -q avx512bw /proc/cpuinfo; then best_kernels=SkylakeX peer_environment+=(ATEN_CPU_CAPABILITY=avx512); fi

value() { sed -E "s/.*\"$1\": ?([0-9.e+-]+).*/\1/" <<<"$2"; }
peer() { (cd "$here/peers" && env "${peer_environment[@]}" "${peer_command[@]}" "$@"); }

# measured[KEY] holds the values of all rounds.
declare -A measured
add() { measured[$1]+="$(value "$2" "$3") "; }
median() { tr ' ' '\n' <<<"${measured[$1]}" | sed '/^$/d' | sort -g |
  awk '{v[NR] = $1} END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }

flags_of() {
  read -r layers heads dim vocab batch length arch <<<"$1"
  echo "--arch ${arch:-gpt} --layers $layers --heads $heads --dim $dim --vocab $vocab --batch $batch --length $length --threads $threads"
}

# Chooses the faster OpenBLAS kernels for PyTorch, by measuring a small work.
read -ra flags <<<"$(flags_of "4 4 128 65 12 64") --steps 20"
own=$(value step_ms "$(peer "${flags[@]}")")
named=$(value step_ms "$(OPENBLAS_CORETYPE=$best_kernels peer "${flags[@]}")")
if awk "BEGIN {exit !($named < $own)}"; then peer_environment+=(OPENBLAS_CORETYPE=$best_kernels); fi

echo "$(date +%F), $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1), $threads threads; $rounds rounds of $steps steps"
echo "matmul $matmul; moments in $state; PyTorch: ${peer_environment[*]} ${peer_command[*]}"
printf '%-32s %10s %10s %8s %10s %8s %8s %8s %8s\n' "layers heads dim vocab" "step ms" "limit ms" "s/limit" \
  "PyTorch ms" "speed" "MiB" "PyTorch" "memory"
for work in "${works[@]}"; do
  read -ra flags <<<"$(flags_of "$work") --steps $steps"
  measured=()
  for ((round = 0; round < rounds; ++round)); do
    line=$("$here/train_step" "${flags[@]}" --matmul "$matmul" --state "$state")
    add step step_ms "$line"
    add rss peak_rss_mib "$line"
    add limit limit_ms "$("$here/limit" "${flags[@]}" --matmul "$matmul")"
    line=$(peer "${flags[@]}")
    add peer step_ms "$line"
    add peer_rss peak_rss_mib "$line"
  done
  awk -v work="$work" -v s="$(median step)" -v l="$(median limit)" -v p="$(median peer)" -v m="$(median rss)" \
    -v q="$(median peer_rss)" 'BEGIN {
      printf "%-32s %10.1f %10.1f %8.3f %10.1f %7.2fx %8.0f %8.0f %7.2fx\n",
        work, s, l, s / l, p, p / s, m, q, m / q}'
done
