#!/usr/bin/env bash
# Compares what `tapeformer info` predicts with what training then takes: ten configurations of all families on generated
# text, each with the three precisions of matrix products. Prints a table in Markdown; takes some minutes.
#   build/bench/info_table [NAME...]
# A NAME limits it to the configurations whose names begin with it. Memory is the process's peak; a step is the median of
# all steps; the run is all steps with their evaluations.
set -euo pipefail
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
  "nplm, 200 wide; 300; nplm-markov;"
  "bilm, 2 layers, 192 wide; 40; bilm-stories;"
  "bert, 2 layers, 128 wide; 100; bert-stories;"
  "word2vec, 64 wide; 300; word2vec-stories;"
  "transformer, 2+2 layers, 128 wide; 40; dates;"
  "rnn_seq2seq, GRU 128 wide; 80; rnn-dates;"
  "bert that tags, 2 layers, 128 wide; 150; tag-stories; --data.labels $work/labels.tsv"
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
    predicted=$("$build/tapeformer" info "${arguments[@]}" --json 2>/dev/null)
    "$build/tapeformer" train "${arguments[@]}" --out "$work/run" >/dev/null 2>&1
    measured=$("$build/tapeformer" info "$work/run" --seconds 0 --json 2>/dev/null)
    rm -r "$work/run"
    awk -v name="$name" -v matmul="$matmul" \
      -v p="$(number memory peak "$predicted")" -v q="$(number measured peak "$measured")" \
      -v s="$(top step_seconds "$predicted")" -v t="$(number measured step_seconds "$measured")" \
      -v r="$(top training_seconds "$predicted")" -v u="$(number measured training_seconds "$measured")" \
      'function off(a, b) {return sprintf("%+.0f %%", 100 * (a / b - 1))}
       BEGIN {m = 1048576; printf "| %s | %s | %.0f | %.0f | %s | %.1f | %.1f | %s | %.1f | %.1f | %s |\n", name, matmul,
              p / m, q / m, off(p, q), 1000 * s, 1000 * t, off(s, t), r, u, off(r, u)}'
  done
done
