// Corpus BLEU (Papineni et al. 2002) as sacreBLEU computes it (Post 2018), one reference.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapeformer {

// How lines are split into words: as mteval-v13a does (it separates punctuation and replaces some entities), or only at
// white space.
enum class BleuTokenization { v13a, none };

std::vector<std::string> bleu_words(std::string_view line, BleuTokenization tokenization);

struct BleuScore {
  double score = 0;                       // 0 to 100
  std::array<double, 4> precisions = {};  // of n-grams of 1 to 4 words, 0 to 100, smoothed
  double brevity_penalty = 1;
  std::int64_t hypothesis_words = 0, reference_words = 0;
};

// Let t_n be the number of n-grams in all hypotheses, and c_n the number of those that occur in their reference too,
// each counted at most as often as it occurs there:
//   p_n = 100·c_n/t_n;  for the k-th n with c_n = 0, p_n = 100/(2^k·t_n) ("exp" smoothing of mteval-v13a)
//   BLEU = min(1, e^(1 − reference_words/hypothesis_words))·(p_1 p_2 p_3 p_4)^(1/4);  0 if c_1 or some t_n is 0
class Bleu {
 public:
  explicit Bleu(BleuTokenization tokenization) : tokenization_(tokenization) {}

  void add(std::string_view hypothesis, std::string_view reference);
  BleuScore score() const;
  // sacreBLEU's description of the variant of BLEU, e.g. "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp".
  std::string signature() const;

 private:
  BleuTokenization tokenization_;
  std::array<std::int64_t, 4> matches_ = {}, totals_ = {};
  std::int64_t hypothesis_words_ = 0, reference_words_ = 0;
};

}  // namespace tapeformer
