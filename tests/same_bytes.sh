#!/usr/bin/env bash
# Checks that two builds of the program train alike, bit for bit: weights, optimizer and metrics but for times, after
# some steps of every configuration in configs/ and of every task, with f32 and bf16 products, on 1 and 2 ranks of one
# thread each.
#   tests/same_bytes.sh [-n STEPS] [-o NAMES] [-k KEYS] OLD NEW
# OLD and NEW are programs (build/tapeformer), or revisions: those are built in $TAPEFORMER_COMPARE (a folder of the
# system's temporary folder) and kept there. The data are generated. Large models get short rows of characters.
#   -n STEPS   how long each training is (30)
#   -o NAMES   only the trainings whose name has this regular expression in it
#   -k KEYS    metrics that differ on purpose between these two builds, a regular expression of whole keys: left out
# A line for each training says "same" or what differs. A training that both builds refuse is an error as well.
set -euo pipefail
steps=30 only=. ignored=
while getopts n:o:k: option; do
  case $option in n) steps=$OPTARG ;; o) only=$OPTARG ;; k) ignored="|$OPTARG" ;; *) exit 2 ;; esac
done
shift $((OPTIND - 1))
[ $# = 2 ] || { sed -n 's/^# \{0,1\}//; 2,10p' "$0" >&2; exit 2; }

program_of() { # PROGRAM|REVISION
  [ ! -f "$1" ] || { realpath "$1"; return; }
  local revision tree
  revision=$(git -C "$root" rev-parse --verify --short "$1^{commit}")
  tree=${TAPEFORMER_COMPARE:-${TMPDIR:-/tmp}/tapeformer-compare}/$revision
  if [ ! -d "$tree" ]; then
    mkdir -p "$tree.partial"
    git -C "$root" archive "$revision" | tar x -C "$tree.partial"
    mv "$tree.partial" "$tree"
  fi
  cmake -G Ninja -S "$tree" -B "$tree/build" -DCMAKE_BUILD_TYPE=Release -DTAPEFORMER_{TESTS,BENCH}=OFF >/dev/null
  cmake --build "$tree/build" --target tapeformer >/dev/null
  echo "$tree/build/tapeformer"
}
root=$(realpath "$(dirname "$0")/..")
declare -A program
program[old]=$(program_of "$1")
program[new]=$(program_of "$2")
cd "$root"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TAPEFORMER_CACHE=$work/cache OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE

# Labels of the words of sentences, of texts, and of questions. How a share of them would be held out is no matter here.
for seed in 1 2; do
  words=$work/words-$seed.tsv
  "${program[new]}" corpus stories --labels --lines 300 --seed $seed >"$words" 2>/dev/null
  awk -F'\t' 'NF > 1 && n++ < 300 {print $2 "\t" $1 " is here"}' "$words" >"$work/classes-$seed.tsv"
  awk -F'\t' 'NF > 1 && n++ < 300 {print "which\twe see " $1 " and " $2 "\t" $1}' "$words" >"$work/answers-$seed.tsv"
done
labels() { labels=(--data.labels "$work/$1-1.tsv" --data.valid_labels "$work/$1-2.tsv"); }

# The options of a configuration: data that need no files, and little work for the large models.
options_of() {
  local reverse=(--data.corpus reverse --data.lines 400) stories=(--data.corpus stories --data.lines 500)
  local small=(--train.accumulate 2 --model.context 32 --tokenizer.kind char --eval.every 0 --eval.batches 1)
  case $1 in
    dates | rnn-dates) options=(--data.corpus dates --data.lines 400) ;;
    reverse | rnn-reverse | multi30k-tiny | rnn-multi30k) options=("${reverse[@]}") ;;
    transformer-base) options=("${reverse[@]}" --train.batch_tokens 256 "${small[@]}") ;;
    gpt2-small | bert-base) options=("${stories[@]}" --train.batch 1 "${small[@]}") ;;
    tag-stories) labels words && options=("${labels[@]}") ;;
    # The corpus is the configuration's own.
    captions-* | instructions | parse* | sentences-*) options=(--data.lines 200) ;;
    multi-tales)
      options=(--data.lines 200 --tasks.tags.labels "$work/words-1.tsv" --tasks.tags.valid_labels "$work/words-2.tsv")
      ;;
    *) options=("${stories[@]}") ;;
  esac
}

# Metrics without what a clock or the system has measured, and without lines that have nothing else.
metrics() {
  local left_out="tokens_per_s|elapsed_s|waiting|peak_memory_bytes$ignored"
  sed -E "s/\"($left_out)\":(\[[^]]*\]|[^,}]*),?//g; s/,\}\$/}/" "$1/metrics.jsonl" |
    grep -vE '^\{"step":[0-9]+(,"tokens":[0-9]+)?\}$'
}

# The fields of lines of metrics, each on a line of its own.
fields() { tr -d '{}' | tr , '\n' | sort; }

# What differs between the two runs; nothing where all is the same.
differences() {
  local step file lines
  lines=$(diff <(metrics "$work/old") <(metrics "$work/new") || true)
  if [ -n "$lines" ]; then
    step=$(grep -oE -m 1 '"step":[0-9]+' <<<"$lines")
    echo "metrics from step ${step#*:} on:" "$(comm -3 <(sed -n 's/^< //p' <<<"$lines" | fields) \
      <(sed -n 's/^> //p' <<<"$lines" | fields) | grep -oE '"\w+":' | sort -u | tr -d '":' | paste -sd ' ')"
  fi
  step=$(cat "$work/old/checkpoints/latest")
  for file in "$work/old/checkpoints/$step"/*.safetensors "$work/new/checkpoints/$step"/*.safetensors; do
    file=${file##*/}
    cmp -s "$work"/{old,new}/checkpoints/"$step/$file" || echo "$file"
  done | sort -u
}

# What is trained without a configuration, whatever the defaults of a build are.
gpt=(--model.position learned --model.norm_kind layer --model.activation gelu --model.bias true)
training=(--schedule.kind inverse_sqrt --optimizer.lr 1e-3 --optimizer.beta2 0.98)

different=0 compared=0
compare() { # NAME RANKS ARGUMENTS…
  local name="$1, $2 rank(s)" run=() side result
  grep -qE "$only" <<<"$name" || return 0
  compared=$((compared + 1))
  [ "$2" = 1 ] || run=(mpirun --oversubscribe -n "$2")
  shift 2
  for side in old new; do
    rm -rf "$work/${side:?}"
    "${run[@]}" "${program[$side]}" train "$@" --train.steps "$steps" --train.threads 1 --train.log_every 1 \
      --checkpoint.every 0 --eval.bleu_every 0 --out "$work/$side" >"$work/$side.log" 2>&1 </dev/null || true
  done
  if [ -e "$work/old/checkpoints/latest" ] && [ -e "$work/new/checkpoints/latest" ]; then
    result=$(differences | paste -sd ';')
  else
    result="does not train: $(grep -hm 1 '^tapeformer:' "$work"/{old,new}.log || true)"
  fi
  [ -z "$result" ] || different=1
  echo "$name: ${result:-same}"
}

for ranks in 1 2; do
  for matmul in highest medium; do
    common=(--train.matmul "$matmul")
    # Each rank needs a micro-step of its own.
    [ $ranks = 1 ] || common+=(--train.accumulate 2)
    for config in configs/*.toml; do
      name=$(basename "$config" .toml)
      options_of "$name"
      compare "$name $matmul" $ranks "$config" "${options[@]}" "${common[@]}"
    done
    common=(--tokenizer.kind word --train.matmul "$matmul" --train.accumulate 2 --train.batch 4)
    while read -r kind data families; do
      labels "$data"
      for family in $families; do
        given=(--model.type "$family" "${common[@]}")
        [ "$family" != gpt ] || given+=("${gpt[@]}")
        compare "$kind $family $matmul" $ranks "${given[@]}" --task.kind "$kind" "${labels[@]}"
      done
    done <<<"tag words gpt rnn bert nplm bilm
classify classes gpt rnn bert nplm bilm
span answers bert"
    common+=(--data.corpus stories --data.lines 400 --eval.batches 1 "${training[@]}")
    compare "next sentence $matmul" $ranks --model.type bert --model.next_sentence true --model.segments 2 \
      "${common[@]}"
    compare "rare communication $matmul" $ranks --model.type gpt "${gpt[@]}" --train.sync_every 3 \
      --eval.every 0 "${common[@]}"
  done
done
[ $compared -gt 0 ] || { echo "same_bytes: no training has $only in its name" >&2; exit 2; }
exit $different
