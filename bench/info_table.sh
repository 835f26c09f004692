#!/usr/bin/env bash
# Compares what `tapeformer info` predicts with what training then takes: ten configurations of all families on generated
# text, each with the three precisions of matrix products. Prints a table in Markdown; takes a quarter of an hour.
#   build/bench/info_table [NAME...]
# A NAME limits it to the configurations whose names begin with it. Memory is the process's peak; a step is the median of
# all steps; the run is all steps with their evaluations. Where the speed of a machine comes and goes, a prediction and
# its training may meet different ones: so both are repeated in turn, and the table has the medians of ROUNDS (3) pairs.
set -euo pipefail
export LC_ALL=C  # awk, printf and sort would read 1.75 as 1 where numbers have a comma
build=$(dirname "$(dirname "$(readlink -f "$0")")")
configs=@PROJECT_SOURCE_DIR@/configs
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TAPEFORMER_CACHE=$work/cache
"$build/tapeformer" corpus stories --labels --lines 1000 >"$work/labels.tsv"

# Name; steps; file; options.
works=(
  "gpt, 6 layers, 384 wide; 12; stories; --model.layers 6 --model.heads 6 --model.dim 384 --eval.batches 4"
  "llama, 4 layers, 128 wide; 120; llama-tiny; --data.corpus tales"
  "LSTM, 2 layers, 200 wide; 60; lstm-char; --data.corpus stories"
  "nplm, 200 wide; 1500; nplm-markov;"
  "bilm, 2 layers, 192 wide; 40; bilm-stories;"
  "bert, 2 layers, 128 wide; 100; bert-stories;"
  "word2vec, 64 wide; 800; word2vec-stories;"
  "transformer, 2+2 layers, 128 wide; 40; dates;"
  "rnn_seq2seq, GRU 128 wide; 80; rnn-dates;"
  "bert that tags, 2 layers, 128 wide; 500; tag-stories; --data.labels $work/labels.tsv"
)

number() { sed -nE "s/.*\"$1\":\{[^}]*\"$2\":([0-9.e+-]+).*/\1/p" <<<"$3"; }
top() { sed -nE "s/.*\"$1\":([0-9.e+-]+).*/\1/p" <<<"${2%%\"measured\":*}"; }

echo "| configuration | products | peak MiB, predicted | measured | off | step ms, predicted | measured | off | run s, predicted | measured | off |"
echo "|---|---|---|---|---|---|---|---|---|---|---|"
for entry in "${works[@]}"; do
  IFS=';' read -r name steps file options <<<"$entry"
  [ $# = 0 ] || printf '%s\n' "$@" | grep -q "^${name%%,*}$" || continue
  steps=${steps// /} file=$configs/${file// /}.toml
  for matmul in highest high medium; do
    # shellcheck disable=SC2206
    arguments=("$file" $options --train.matmul "$matmul" --train.steps "$steps" --train.log_every 1
      --eval.every "$steps" --schedule.warmup 10)
    for ((round = 0; round < ${ROUNDS:-3}; ++round)); do
      predicted=$("$build/tapeformer" info "${arguments[@]}" --json 2>/dev/null)
      "$build/tapeformer" train "${arguments[@]}" --out "$work/run" >/dev/null 2>&1
      measured=$("$build/tapeformer" info "$work/run" --seconds 0 --json 2>/dev/null)
      rm -r "$work/run"
      echo "$(number memory peak "$predicted") $(number measured peak "$measured")" \
        "$(top step_seconds "$predicted") $(number measured step_seconds "$measured")" \
        "$(top training_seconds "$predicted") $(number measured training_seconds "$measured")"
    done | awk -v name="$name" -v matmul="$matmul" '
      function median(column,  i, j, v, n) {  # by insertion
        n = 0
        for (i = 1; i <= NR; ++i) {
          for (j = n++; j > 0 && v[j] > row[i, column]; --j) v[j + 1] = v[j]
          v[j + 1] = row[i, column]
        }
        return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
      }
      function cells(column, unit, format,  a, b) {
        a = median(column); b = median(column + 1)
        printf " " format " | " format " | %+.0f %% |", a / unit, b / unit, 100 * (a / b - 1)
      }
      {for (i = 1; i <= 6; ++i) row[NR, i] = $i}
      END {
        printf "| %s | %s |", name, matmul
        cells(1, 1048576, "%.0f"); cells(3, 0.001, "%.1f"); cells(5, 1, "%.1f")
        print ""
      }'
  done
done
