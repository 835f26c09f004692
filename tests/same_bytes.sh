#!/usr/bin/env bash
# Checks that two builds of the program train alike, bit for bit: weights, optimizer and metrics but for times, after
# some steps of every configuration in configs/ and of every task, with f32 and bf16 products, on 1 and 2 ranks.
#   tests/same_bytes.sh OLD NEW [STEPS]    OLD and NEW are programs (build/tapeformer); 30 steps
# The data are generated. Large models take few rows. What one build refuses and the other takes is a difference too.
set -euo pipefail
old=$(realpath "$1") new=$(realpath "$2") steps=${3:-30}
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TAPEFORMER_CACHE=$work/cache

"$old" corpus stories --lines 400 --labels >"$work/words.tsv" 2>/dev/null
"$old" corpus tales --lines 300 --labels >"$work/spans.tsv" 2>/dev/null
awk -F'\t' 'NF > 1 {print $2 "\t" $1 " is here"}' "$work/words.tsv" | head -300 >"$work/classes.tsv"

# The options of a configuration: data that need no files, few rows for large models.
options_of() {
  case $1 in
    dates | rnn-dates) echo "--data.corpus dates --data.lines 400" ;;
    reverse | rnn-reverse | multi30k-tiny | rnn-multi30k) echo "--data.corpus reverse --data.lines 400 --eval.bleu_every 0" ;;
    transformer-base) echo "--data.corpus reverse --data.lines 400 --eval.bleu_every 0 --train.batch_tokens 256 --train.accumulate 2" ;;
    tag-stories) echo "--data.labels $work/words.tsv" ;;
    gpt2-small | bert-base) echo "--data.corpus stories --data.lines 20000 --train.batch 1 --train.accumulate 2 --tokenizer.kind char" ;;
    *) echo "--data.corpus stories --data.lines 4000" ;;
  esac
}

# The metrics without what a clock or the system has measured.
metrics() { sed -E 's/"(tokens_per_s|elapsed_s|peak_memory_bytes)":[^,}]*,?//g' "$1/metrics.jsonl"; }

different=0
compare() { # NAME RANKS ARGUMENTS…
  local name=$1 ranks=$2 run=() side
  shift 2
  [ "$ranks" = 1 ] || run=(mpirun --allow-run-as-root --oversubscribe -n "$ranks")
  for side in old new; do
    local program=$old
    [ $side = old ] || program=$new
    rm -rf "$work/$side"
    "${run[@]}" "$program" train "$@" --train.steps "$steps" --train.log_every 1 --checkpoint.every 0 \
      --out "$work/$side" >"$work/$side.log" 2>&1 || true
  done
  local result=same
  if [ ! -e "$work/old/checkpoints/latest" ] && [ ! -e "$work/new/checkpoints/latest" ]; then
    result="neither trains: $(grep -m 1 '^tapeformer:' "$work/new.log" || true)"
  elif ! cmp -s <(metrics "$work/old") <(metrics "$work/new"); then
    result="DIFFERENT metrics"
  else
    local step
    step=$(cat "$work/old/checkpoints/latest")
    for file in model optimizer; do
      cmp -s "$work/old/checkpoints/$step/$file.safetensors" "$work/new/checkpoints/$step/$file.safetensors" ||
        result="DIFFERENT $file.safetensors"
    done
  fi
  [[ $result != DIFFERENT* ]] || different=1
  echo "$name, $ranks rank(s): $result"
}

for ranks in 1 2; do
  for matmul in highest medium; do
    for config in configs/*.toml; do
      name=$(basename "$config" .toml)
      # shellcheck disable=SC2046
      compare "$name $matmul" $ranks "$config" $(options_of "$name") --train.matmul $matmul
    done
    for family in gpt rnn bert nplm; do
      common=(--model.type $family --tokenizer.kind char --train.matmul $matmul --train.accumulate 2 --train.batch 4)
      compare "tag $family $matmul" $ranks "${common[@]}" --task.kind tag --data.labels "$work/spans.tsv"
      compare "classify $family $matmul" $ranks "${common[@]}" --task.kind classify --data.labels "$work/classes.tsv"
    done
  done
done
exit $different
