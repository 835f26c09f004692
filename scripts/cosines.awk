# The mean cosine similarity of vectors with the same label, and of vectors with different ones, as a table. With
# -v centre=1 the mean of all vectors is subtracted first: what they have in common says nothing of the labels.
#
#   tapeformer embed RUN --word W < lines | paste labels - | LC_ALL=C awk -F'\t' -f scripts/cosines.awk
#
# A line of `labels` is the label of the line of text that it stands beside.
# LC_ALL=C: where numbers have a comma, awk would read 0.5 as 0.
{
  sub(/.*"vector":\[/, "", $2); sub(/\].*/, "", $2)
  width = split($2, x, ",")
  label[NR] = $1
  for (i = 1; i <= width; ++i) { vector[NR, i] = x[i]; total[i] += x[i] }
}
# The sum of all cosines between two labels is the product of the sums of their unit vectors; of a label with itself it
# also counts each vector with itself, which is 1.
END {
  for (n = 1; n <= NR; ++n) {
    norm = 0
    for (i = 1; i <= width; ++i) {
      if (centre) vector[n, i] -= total[i] / NR
      norm += vector[n, i] ^ 2
    }
    if (!(label[n] in count)) names[++labels] = label[n]
    ++count[label[n]]
    for (i = 1; i <= width; ++i) sum[label[n], i] += vector[n, i] / sqrt(norm)
  }
  for (a = 1; a <= labels; ++a) printf "\t%s", names[a]
  print ""
  for (a = 1; a <= labels; ++a) {
    printf "%s", names[a]
    for (b = 1; b <= labels; ++b) {
      p = names[a]; q = names[b]; dot = 0
      for (i = 1; i <= width; ++i) dot += sum[p, i] * sum[q, i]
      printf "\t%.3f", a == b ? (dot - count[p]) / (count[p] * (count[p] - 1)) : dot / (count[p] * count[q])
    }
    print ""
  }
}
