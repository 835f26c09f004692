#!/usr/bin/env bash
# How good a plan is: trains what `--minutes` plans, then configurations drawn at random, for the same minutes each, and
# prints a Markdown table of their validation losses (bench/ablation.sh, one seed). The first row is the plan.
#   bench/random_search.sh [-m MINUTES] [-n CONFIGURATIONS] [-r SEED] [-p PROGRAM] OPTION...
#   -m MINUTES          of each training (1)
#   -n CONFIGURATIONS   how many are drawn (40)
#   -r SEED             of the draws (1)
#   -p PROGRAM          build/tapeformer
# OPTION... names the data of a language model, with validation data of its own (--data.valid): a part that is held out
# would differ with the speed. All of it is evaluated, however slow the model.
set -euo pipefail
export LC_ALL=C  # awk, printf and sort would read 1.75 as 1 where numbers have a comma
here=$(dirname "$(readlink -f "$0")")
minutes=1 count=40 seed=1 program=$here/../build/tapeformer
while [ $# -gt 1 ]; do
  case $1 in
    -m) minutes=$2 ;; -n) count=$2 ;; -r) seed=$2 ;; -p) program=$2 ;; *) break ;;
  esac
  shift 2
done
[ $# -gt 0 ] || { sed -n 's/^# \{0,1\}//; 2,10p' "$0" >&2; exit 2; }
variants=$(mktemp)
trap 'rm -f "$variants"' EXIT

# Sizes, vocabularies and shapes are drawn from lists, rates by their logarithm.
awk -v count="$count" -v seed="$seed" '
  function one_of(list,    values) { return values[1 + int(rand() * split(list, values, " "))] }
  function between(low, high) { return sprintf("%.2g", low * exp(rand() * log(high / low))) }
  BEGIN {
    srand(seed)
    printf "the plan\t\n"
    for (i = 1; i <= count; ++i) {
      layers = one_of("2 3 4 5 6"); dim = one_of("64 96 128 192 256"); context = one_of("64 128 256")
      tokens = one_of("1024 2048 4096 8192"); vocab = one_of("512 1024 2048 4096"); optimizer = one_of("muon muon adamw")
      activation = one_of("swiglu swiglu relu2 gelu"); dropout = one_of("0 0 0.05 0.1"); decay = one_of("0 0.01 0.1")
      cooldown = one_of("0.2 0.4 0.6 0.8")
      rates = optimizer == "muon" ? "--optimizer.lr " between(0.005, 0.05) " --optimizer.adamw_lr " between(3e-4, 1e-2) : "--optimizer.lr " between(1e-3, 1e-2)
      options = sprintf("--model.layers %s --model.dim %s --model.context %s --train.batch %d --tokenizer.vocab %s --optimizer.name %s %s --model.activation %s --model.dropout %s --optimizer.weight_decay %s --schedule.cooldown %s",
                        layers, dim, context, tokens / context, vocab, optimizer, rates, activation, dropout, decay, cooldown)
      name = options
      gsub(/--[a-z0-9]*\./, "", name)
      printf "%s\t%s\n", name, options
    }
  }' >"$variants"
"$here/ablation.sh" -m "$minutes" -s 1 -v "$variants" -p "$program" --eval.batches 0 "$@"
