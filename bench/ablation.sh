#!/usr/bin/env bash
# What learns most in the same minutes: trains each variant of a training with several seeds, one after another, and
# prints a Markdown table with a row for each variant: the mean of the last validation losses in bits per byte, the spread
# of the seeds (largest minus smallest), the difference from the first variant, the steps that the minutes sufficed for,
# and the seconds that the whole command took.
#   bench/ablation.sh [-m MINUTES] [-s SEEDS] [-v VARIANTS] [-p PROGRAM] OPTION...
#   -m MINUTES   of each training (1)
#   -s SEEDS     how many seeds (3)
#   -v VARIANTS  a file with a variant a line: a name, a tab, and options of `tapeformer train` (bench/ablation.txt)
#   -p PROGRAM   build/tapeformer
# OPTION... names the data, and what else all variants have: --data.text input.txt --tokenizer.kind char
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
minutes=1 seeds=3 variants=$here/ablation.txt program=$here/../build/tapeformer
while [ $# -gt 1 ]; do
  case $1 in
    -m) minutes=$2 ;; -s) seeds=$2 ;; -v) variants=$2 ;; -p) program=$2 ;; *) break ;;
  esac
  shift 2
done
[ $# -gt 0 ] || { sed -n 's/^# \{0,1\}//; 2,12p' "$0" >&2; exit 2; }
. "$here/timed_training.sh"
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "$(date +%F), $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1), $(nproc) processors: $minutes minutes, $seeds seeds, $*"
echo
echo "| variant | bits per byte | spread | against the first | steps | seconds |"
echo "|---|---|---|---|---|---|"
first=
while IFS=$'\t' read -r name options; do
  [ -n "$name" ] && [ "${name:0:1}" != "#" ] || continue
  read -ra chosen <<<"$options"
  all_bits=() all_steps=() all_seconds=()
  for ((seed = 1; seed <= seeds; ++seed)); do
    timed_training "$name" "$minutes" "$seed" "$@" "${chosen[@]}"
    all_bits+=("$bits") all_steps+=("$step") all_seconds+=("$seconds")
  done
  read -r mean spread <<<"$(mean_and_spread "${all_bits[@]}")"
  first=${first:-$mean}
  awk -v n="$name" -v m="$mean" -v s="$spread" -v f="$first" -v t="${all_steps[*]}" -v w="${all_seconds[*]}" \
    'BEGIN {printf "| %s | %.4f | %.4f | %+.2f %% | %s | %s |\n", n, m, s, 100 * (m / f - 1), t, w}'
done <"$variants"
