#!/usr/bin/env bash
# What plans reach: trains what `tapeformer train … --minutes` plans for each text and number of minutes, with several
# seeds, one after another, and prints a Markdown table with a row for each: the mean of the last validation losses in
# bits per byte and the spread of the seeds (largest minus smallest), those of a 5-gram and of xz on the same split, the
# loss of each seed, the seconds that each command took, and the size that was planned.
#   bench/leaderboard.sh [-m MINUTES] [-s SEEDS] [-t TEXTS] [-p PROGRAM]
#   -m MINUTES   one number or several in quotes ("1 3")
#   -s SEEDS     how many seeds (3)
#   -t TEXTS     a file with a text a line: a name, a tab, and the options of `tapeformer train` that name it
#                (bench/leaderboard.txt)
#   -p PROGRAM   build/tapeformer
# A text whose files are missing is left out, with a line that says so. {data} in the options is $TAPEFORMER_DATA.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
minutes=1 seeds=3 texts=$here/leaderboard.txt program=$here/../build/tapeformer
while getopts m:s:t:p: option; do
  case $option in
    m) minutes=$OPTARG ;; s) seeds=$OPTARG ;; t) texts=$OPTARG ;; p) program=$OPTARG ;;
    *) sed -n 's/^# \{0,1\}//; 2,12p' "$0" >&2; exit 2 ;;
  esac
done
shift $((OPTIND - 1))
[ $# = 0 ] || { echo "leaderboard: expected options alone, got $1" >&2; exit 2; }
. "$here/timed_training.sh"
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The first number after a text in the log; "-" if it is not there.
number_after() { grep -oE "$1 [0-9]+(\.[0-9]+)?" "$work/log" | tail -1 | grep -oE '[0-9.]+$' || echo -; }

echo "$(date +%F), $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1), $(nproc) processors, $seeds seeds"
echo
echo "| text | minutes | bits per byte | spread | 5-gram | xz | loss of each seed | seconds | layers × width |"
echo "|---|---|---|---|---|---|---|---|---|"
while IFS=$'\t' read -r name options; do
  [ -n "$name" ] && [ "${name:0:1}" != "#" ] || continue
  read -ra data <<<"${options//\{data\}/${TAPEFORMER_DATA:-$here/../../shared/data}}"
  for word in "${data[@]}"; do
    [ "${word:0:1}" != / ] || [ -e "$word" ] || { echo "leaderboard: $name is left out: $word is missing" >&2; continue 2; }
  done
  for length in $minutes; do
    all_bits=() losses=() all_seconds=() sizes=()
    for ((seed = 1; seed <= seeds; ++seed)); do
      timed_training "$name" "$length" "$seed" "${data[@]}" --eval.batches 0
      all_bits+=("$bits") losses+=("$(printf %.4f "$loss")") all_seconds+=("$seconds")
      sizes+=("$(sed -nE 's/^(layers|dim) = ([0-9]+).*/\2/p' "$work/run/config.toml" | paste -sd ' ' | sed 's/ / × /')")
    done
    read -r mean spread <<<"$(mean_and_spread "${all_bits[@]}")"
    printf '| %s | %s | %.4f | %.4f | %s | %s | %s | %s | %s |\n' "$name" "$length" "$mean" "$spread" \
      "$(number_after 'same tokens')" "$(number_after ', xz')" "${losses[*]}" "${all_seconds[*]}" \
      "$(printf '%s\n' "${sizes[@]}" | uniq | paste -sd ',' | sed 's|,|, |g')"
  done
done <"$texts"
