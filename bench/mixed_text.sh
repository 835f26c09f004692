#!/usr/bin/env bash
# Writes SIZE_MB (10^6 bytes each) of mixed text to OUT for benchmarks of tokenizers: a third C and C++ headers, a third
# Python, and a third prose (documentation, change logs, licences), all from files that a Debian machine has. The same
# files give the same text: they are taken in the order of their MD5 sums, and equal files only once. When a machine has
# too little text of one kind, the script says so, and OUT is smaller.
#   bench/mixed_text.sh SIZE_MB OUT
set -euo pipefail
[ $# = 2 ] && [[ $1 =~ ^[1-9][0-9]*$ ]] || { echo "usage: mixed_text.sh SIZE_MB OUT" >&2; exit 2; }
third=$(($1 * 1000000 / 3)) out=$2
export LC_ALL=C

utf8() { iconv -c -f UTF-8 -t UTF-8; }  # drops invalid bytes

# part NAME FOLDERS... -- TESTS OF find...: appends a third of the text. (head closes the pipe early, which is no error.)
part() {
  local name=$1 folders=() before got
  shift
  while [ "$1" != -- ]; do [ ! -d "$1" ] || folders+=("$1"); shift; done
  shift
  before=$(stat -c %s "$out")
  if [ ${#folders[@]} -gt 0 ]; then
    (set +o pipefail
      find "${folders[@]}" -type f -readable \( "$@" \) -print0 | xargs -0 -r md5sum | grep -v '^\\' | sort -u -k1,1 |
        cut -c35- | tr '\n' '\0' | xargs -0 -r zcat -f 2>/dev/null | utf8 | head -c "$third" | utf8 >>"$out")
  fi
  got=$(($(stat -c %s "$out") - before))
  [ $((got + 4)) -gt "$third" ] || echo "mixed_text: only $got bytes of $name on this machine, expected $third" >&2
}

: >"$out"
part "C and C++ headers" /usr/include /usr/lib/gcc -- -name '*.h' -o -name '*.hpp'
part Python /usr/lib/python3* -- -name '*.py'
part prose /usr/share/doc /usr/share/common-licenses /usr/share/perl /usr/share/perl5 -- -name '*.txt' -o -name '*.md' \
  -o -name '*.rst' -o -name '*.txt.gz' -o -name '*.md.gz' -o -name 'README*' -o -name 'NEWS*' -o -name 'copyright' \
  -o -name 'changelog*' -o -name '*.pod' -o -path '*/common-licenses/*'
