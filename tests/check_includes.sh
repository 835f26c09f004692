#!/usr/bin/env bash
# Checks that a folder includes only its own files and those of the folders listed for it here. Prints every include that
# breaks a rule, and fails if there is one.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
# Where git does not know the files, nothing would be checked.
git ls-files --error-unmatch tests/check_includes.sh >/dev/null

declare -A may_use=(
  [core]=""
  [autograd/kernels]="core"
  [autograd/tensor]="core autograd/kernels"
  [autograd/tape]="core autograd/tensor"
  [autograd/ops]="core autograd/kernels autograd/tensor autograd/tape"
  [autograd/gradcheck]="core autograd/tensor autograd/tape autograd/ops"
  [tokenizer]="core"
  [data]="core tokenizer"
  [nn]="core autograd/kernels autograd/tensor autograd/tape autograd/ops"
  [generate]="core autograd/kernels autograd/tensor autograd/tape autograd/ops nn tokenizer"
  [train]="core autograd/kernels autograd/tensor autograd/tape autograd/ops nn tokenizer data generate"
  [tasks]="core autograd/kernels autograd/tensor autograd/tape autograd/ops nn tokenizer data generate train"
  [report]="core autograd/kernels autograd/tensor autograd/tape autograd/ops nn tokenizer data generate train tasks"
  [cli]="core autograd/kernels autograd/tensor autograd/gradcheck nn tokenizer data generate train tasks report"
  [examples]="core autograd/tensor autograd/tape autograd/ops nn"
  [bench]="core autograd/kernels autograd/tensor autograd/tape autograd/ops nn tokenizer data generate train tasks"
)
# The folders whose headers only the folder around them, its tests and the benchmarks may include.
private="tokenizer/bpe tokenizer/formats"
# The pattern of a library's include, and the only files that may have it.
declare -A only_in=(["cblas\.h"]="autograd/kernels/gemm/gemm.cpp" ["CLI/"]="(cli/options/(parser|usage)\.cpp|bench/)" ["hwy/"]="autograd/kernels/")

broken=0
complain() { echo "$1"; broken=1; }

while IFS=: read -r file _ include; do
  included=${include#*\"}
  included=${included%%\"*}
  for folder in "${!may_use[@]}"; do
    [[ $file == "$folder"/* ]] || continue
    allowed=0
    for other in "$folder" ${may_use[$folder]}; do [[ $included == "$other"/* ]] && allowed=1; done
    # Highway includes "hwy/foreach_target.h" and similar files in this way.
    [[ $included == hwy/* ]] && allowed=1
    [ $allowed = 1 ] || complain "$file includes $included: $folder may use only itself and: ${may_use[$folder]:-nothing}"
  done
  for folder in $private; do
    [[ $included != "$folder"/* || $file == "${folder%/*}"/* || $file == bench/* ]] ||
      complain "$file includes $included: $folder is private to ${folder%/*}"
  done
done < <(git grep -nE '^#include "' -- '*.h' '*.cpp' ':!tests')

# Inside of a floor the folders have an order as well: none includes, through others, itself.
while IFS= read -r folder; do
  complain "the includes of $folder and of what it includes go in a circle"
done < <(git grep -nE '^#include "' -- '*.h' '*.cpp' ':!tests' |
  sed -nE 's/^([^:]+)\/[^/:]+:[0-9]+:#include "([^"]+)\/[^/"]+".*/\1 \2/p' |
  awk '$1 != $2 && $1 ~ /^(nn|train|tasks|cli)(\/|$)/' | sort -u | { tsort 2>&1 >/dev/null || true; } |
  sed -nE 's/^tsort: ([a-z].*)$/\1/p')

for library in "${!only_in[@]}"; do
  while IFS=: read -r file _; do
    [[ $file =~ ^${only_in[$library]} ]] || complain "$file includes $library: only ${only_in[$library]} may"
  done < <(git grep -nE "^#include [<\"]$library" -- '*.h' '*.cpp' ':!tests')
done

while IFS= read -r folder; do
  [[ " tests docs configs scripts " == *" $folder "* || -n ${may_use[$folder]+x} || $folder == autograd ]] ||
    complain "the folder $folder has no floor in tests/check_includes.sh"
done < <(git ls-files '*/*' | cut -d/ -f1 | grep -v '^\.' | sort -u)
exit $broken
