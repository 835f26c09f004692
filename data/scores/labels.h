// Metrics of predicted labels against the right ones.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapeformer {

// The counts of one label, or of one kind of span.
struct LabelCount {
  std::string label;
  std::int64_t gold = 0, predicted = 0, right = 0;

  // right/predicted, right/gold and their harmonic mean 2·right/(predicted + gold); 0 if the divisor is 0.
  double precision() const;
  double recall() const;
  double f1() const;
};

// The count of a label in counts that are sorted by their labels; it is added if it is not there.
LabelCount& count_of(std::vector<LabelCount>& counts, std::string_view label);
// The sum of all counts, with the label "all".
LabelCount total_of(std::span<const LabelCount> counts);

// Counts single labels. The labels of the constructor come first; others are added in the order of their occurrence.
class LabelScore {
 public:
  explicit LabelScore(std::span<const std::string> labels);
  void add(std::string_view gold, std::string_view predicted);

  std::int64_t total() const { return total_; }
  // The share of right labels.
  double accuracy() const;
  // The mean of the F1 of each label that is in the gold data or was predicted.
  double macro_f1() const;
  const std::vector<std::string>& labels() const { return labels_; }
  std::vector<LabelCount> counts() const;  // in the order of labels()
  // How often the label of a row was predicted as the label of a column, both in the order of labels().
  const std::vector<std::vector<std::int64_t>>& confusion() const { return confusion_; }

 private:
  std::size_t index_of(std::string_view label);

  std::vector<std::string> labels_;
  std::vector<std::vector<std::int64_t>> confusion_;
  std::int64_t total_ = 0;
};

// The words [begin, end) of a sentence that name one entity.
struct LabelSpan {
  std::int64_t begin, end;
  std::string_view kind;
  bool operator==(const LabelSpan&) const = default;
};

// Whether every label is O, or begins with B- or I- (Ramshaw & Marcus 1995; M- in BMES) or, of the last and of the only
// word of a span, with E- or S- (IOBES, BMES), or L- or U- (BILOU); or B-X and one that goes on, such as I-X, are among
// the labels, whatever the others are. Labels that name no kind are these letters alone, B and I among them, or B, M
// and E.
bool are_bio_labels(std::span<const std::string> labels);

// The spans of a sentence's labels. With such labels, a span begins at B-X, S-X and U-X, and at I-X, M-X, E-X and L-X
// that do not continue a span of kind X. It continues over the following I-X and M-X, and ends with E-X, L-X, S-X and
// U-X. (So conlleval reads BIO, and seqeval IOBES.) Where no kind is named it is "_". Of plain labels, also among such
// ones, a span is a run of the same label. O and the empty label belong to no span.
std::vector<LabelSpan> label_spans(std::span<const std::string_view> labels, bool bio);

// Counts spans: a predicted span is right if its begin, end and kind are right (Tjong Kim Sang & De Meulder 2003).
class SpanScore {
 public:
  explicit SpanScore(bool bio) : bio_(bio) {}
  // Adds the labels of a sentence.
  void add(std::span<const std::string_view> gold, std::span<const std::string_view> predicted);

  // The counts of all spans together; total().f1() is the micro-averaged F1.
  LabelCount total() const { return total_of(counts_); }
  // The counts of each kind, sorted by the names of the kinds.
  const std::vector<LabelCount>& counts() const { return counts_; }

 private:
  bool bio_;
  std::vector<LabelCount> counts_;
};

}  // namespace tapeformer
