# For ablation.sh and leaderboard.sh, which source it.
export LC_ALL=C  # awk, printf and sort would read 1.75 as 1 where numbers have a comma

# Trains for some minutes into $work/run, with its messages in $work/log, and sets `bits`, `loss` and `step` to the bits
# per byte, loss and step of the last evaluation, and `seconds` to what the whole command took. Ends the script if the
# training fails or evaluates only a part of the validation data.
timed_training() { # WHAT MINUTES SEED OPTION...
  local what=$1 minutes=$2 seed=$3 start line
  shift 3
  rm -rf "$work/run"
  start=$(date +%s%N)
  "$program" train --minutes "$minutes" --train.seed "$seed" "$@" --out "$work/run" >"$work/log" 2>&1 </dev/null ||
    { echo "$(basename "$0" .sh): $what: $(grep -m 1 '^tapeformer:' "$work/log")" >&2; exit 1; }
  seconds=$(awk -v ns=$(($(date +%s%N) - start)) 'BEGIN {printf "%.1f", ns / 1e9}')
  line=$(grep eval_bits_per_byte "$work/run/metrics.jsonl" | tail -1) ||
    { echo "$(basename "$0" .sh): $what: no evaluation in bits per byte: expected one of all validation data" >&2; exit 1; }
  bits=$(sed -E 's/.*"eval_bits_per_byte": ?([0-9.e+-]+).*/\1/' <<<"$line")
  loss=$(sed -E 's/.*"eval_loss": ?([0-9.e+-]+).*/\1/' <<<"$line")
  step=$(sed -E 's/.*"step": ?([0-9]+).*/\1/' <<<"$line")
}

# Prints the mean of the arguments, and the largest minus the smallest.
mean_and_spread() {
  printf '%s\n' "$@" | sort -g | awk '{sum += $1} NR == 1 {least = $1} {most = $1} END {print sum / NR, most - least}'
}
