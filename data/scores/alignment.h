// Word alignments in Pharaoh's format, and the alignment error rate against a reference (Och & Ney 2003).
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapeformer {

// Links source token `source` with target token `target`, both counted from 0.
struct AlignmentLink {
  std::int64_t source = 0, target = 0;
  auto operator<=>(const AlignmentLink&) const = default;
};

struct Alignment {
  std::vector<AlignmentLink> sure;      // in ascending order, each once
  std::vector<AlignmentLink> possible;  // all links: the sure ones, and those that are only possible; ascending
};

// Parses "0-0 2p1 1-1": links separated by spaces, i-j for a sure one and ipj for one that is only possible. Throws
// Error for anything else.
Alignment parse_alignment(std::string_view line);
// Formats links as a line "0-0 1-1", in their order.
std::string format_alignment(const std::vector<AlignmentLink>& links);

// The scores over all sentences, for links A, the reference's sure links S and its possible links P:
//   precision = |A ∩ P| / |A|,  recall = |A ∩ S| / |S|,  AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)
class AlignmentErrorRate {
 public:
  // Adds a sentence. Every link of `links` counts in A, including those marked as possible.
  void add(const Alignment& links, const Alignment& reference);
  // Each score is from 0 to 1; a ratio 0/0 is 1, so that no links against an empty reference are no error.
  double precision() const;
  double recall() const;
  double error_rate() const;
  std::int64_t links() const { return links_; }
  std::int64_t sure() const { return sure_; }

 private:
  std::int64_t links_ = 0, sure_ = 0, in_sure_ = 0, in_possible_ = 0;
};

}  // namespace tapeformer
