// Word alignments in Pharaoh's format, and their error rate against a reference (Och & Ney 2003).
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapeformer {

// Source token `source` goes with target token `target`, both counted from 0.
struct AlignmentLink {
  std::int64_t source = 0, target = 0;
  auto operator<=>(const AlignmentLink&) const = default;
};

struct Alignment {
  std::vector<AlignmentLink> sure;      // in ascending order, each once
  std::vector<AlignmentLink> possible;  // the sure ones and those that a reference leaves open, in ascending order
};

// "0-0 2p1 1-1": links apart by spaces, i-j for a sure one and ipj for one that is only possible. Throws Error for
// anything else.
Alignment parse_alignment(std::string_view line);
// The links of a line "0-0 1-1", in their order.
std::string format_alignment(const std::vector<AlignmentLink>& links);

// Over all sentences, of links A against sure ones S and possible ones P:
//   precision = |A ∩ P| / |A|,  recall = |A ∩ S| / |S|,  AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)
class AlignmentErrorRate {
 public:
  // Every link of `links` counts, a possible one too.
  void add(const Alignment& links, const Alignment& reference);
  // Each is 0 to 1; a share of nothing is 1, so that no links against none are no error.
  double precision() const;
  double recall() const;
  double error_rate() const;
  std::int64_t links() const { return links_; }
  std::int64_t sure() const { return sure_; }

 private:
  std::int64_t links_ = 0, sure_ = 0, in_sure_ = 0, in_possible_ = 0;
};

}  // namespace tapeformer
