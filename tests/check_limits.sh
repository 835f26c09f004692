#!/usr/bin/env bash
# Checks the limits that keep the tree easy to read: 25 files of code a folder, 350 lines a file, 12 virtual functions in
# Objective, and no cast on the type of a model outside of nn/. Prints what is over a limit, and fails if anything is.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
# Where git does not know the files, nothing would be checked.
git ls-files --error-unmatch tests/check_limits.sh >/dev/null

broken=0
complain() { echo "$1"; broken=1; }
code() { git ls-files "*.h" "*.cpp"; }

while read -r count folder; do
  [ "$count" -le 25 ] || complain "$folder has $count files of code: expected at most 25"
done < <(code | sed -nE 's/\/[^/]+$//p' | sort | uniq -c)

# The table of all configuration keys may be as long as there are keys.
while read -r lines file; do
  [ "$lines" -le 350 ] || [ "$file" = train/config/config_table.cpp ] || [ "$file" = total ] ||
    complain "$file has $lines lines: expected at most 350"
done < <(code | xargs wc -l)

virtuals=$(awk '/^class Objective /,/^};/' train/loop/objective.h | grep -cE '^ +virtual [^~]')
[ "$virtuals" -gt 0 ] && [ "$virtuals" -le 12 ] || complain "Objective has $virtuals virtual functions: expected at most 12"

models=$(git grep -hoE '^class [A-Za-z0-9]+( final)? : public (Model|Module|ModelWithHeads|CausalModel|EncoderDecoder|Seq2SeqModel)\b' \
  -- nn/interfaces nn/models tasks | cut -d' ' -f2 | sort -u | xargs | tr ' ' '|')
while IFS= read -r cast; do
  complain "$cast: expected no cast on the type of a model"
done < <(git grep -nE "(dynamic|static|dynamic_pointer|static_pointer)_cast<(const )?(Model|$models)\b" -- '*.h' '*.cpp' ':!nn' ':!tests')
exit $broken
