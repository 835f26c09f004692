#!/usr/bin/env bash
# Generation beside llama.cpp: the same shape and formats of weights, in turn, on the same threads; one line of JSON for
# each side and format.
#
#   bench/generate.sh [options of bench/generate]        ours alone
#   LLAMA_BENCH=llama-bench PYTHON=python3 bench/generate.sh …
#
# PYTHON needs the packages gguf and numpy: it writes files of random weights (bench/peers/random_gguf.py). LLAMA_BENCH
# may be a command of several words; MODELS is the folder of the files as it sees them, if that is not their own.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
generate=${GENERATE:-$here/../build/bench/generate}
threads=${THREADS:-2} rounds=${ROUNDS:-3} prompt=512 tokens=64
shape=("$@")
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
for ((round = 0; round < rounds; ++round)); do
  for format in f32 bf16 q8_0; do
    matmul=medium
    [ "$format" = f32 ] && matmul=highest
    "$generate" "${shape[@]}" --prompt $prompt --tokens $tokens --threads "$threads" --weights $format --matmul $matmul \
      --temperature 0 --steps 2
    [ -n "${LLAMA_BENCH:-}" ] || continue
    file=$folder/model.gguf
    (cd "$here/peers" && ${PYTHON:-python3} random_gguf.py "${shape[@]}" --type $format "${MODELS:-$folder}/model.gguf")
    # The prompt and the tokens after it are measured apart.
    ${LLAMA_BENCH} -m "${MODELS:-$folder}/model.gguf" -t "$threads" -p $prompt -n 0 -r 2 -o jsonl
    ${LLAMA_BENCH} -m "${MODELS:-$folder}/model.gguf" -t "$threads" -p 0 -n $tokens -d $prompt -r 2 -o jsonl
    rm -f "$file"
  done
done
