// Batches for training word vectors with negative sampling (Mikolov et al. 2013), from a text of token ids: by
// skip-gram or by continuous bag of words (CBOW).
#pragma once

#include <vector>

#include "core/random.h"
#include "data/text/token_file.h"

namespace tapeformer {

// Draws tokens with probabilities proportional to count^power, where `count` is the token's frequency in a text. A
// token that does not occur is never drawn.
class NegativeSampler {
 public:
  // Throws Error for a text without tokens, and for an id outside of the vocabulary.
  NegativeSampler(TokenView tokens, std::int64_t vocab, double power);
  std::int32_t draw(RandomStream& random) const;
  // The probability of a token.
  double probability(std::int32_t id) const;

 private:
  std::vector<double> cumulative_;  // the sum of count^power over all ids up to and including each id
};

struct SkipGramOptions {
  // Whether all contexts together predict the centre, instead of the centre each of its contexts.
  bool cbow = false;
  std::int64_t batch = 16;       // rows
  std::int64_t row = 32;         // centres in a row: consecutive tokens of the text
  std::int64_t window = 5;       // the contexts of a centre are the tokens at most this far away, on both sides
  std::int64_t negatives = 5;    // drawn for each prediction
  double negative_power = 0.75;  // exponent of the counts
  std::uint64_t seed = 1;        // seed of draw()

  std::int64_t contexts() const { return 2 * window; }  // contexts of a centre
  // The tokens that predict, and the tokens that are predicted, for each centre.
  std::int64_t inputs() const { return cbow ? contexts() : 1; }
  std::int64_t predictions() const { return cbow ? 1 : contexts(); }
};

// All centres have equally many contexts: tokens that are too near to an end of the text for this are not centres.
struct SkipGramBatch {
  std::int64_t centers = 0;  // N
  // (N, inputs), row-major: the centre or, for CBOW, its contexts.
  std::vector<std::int32_t> inputs;
  // (N, predictions, 1 + negatives), row-major: each predicted token, followed by its negatives.
  std::vector<std::int32_t> outputs;
};

class SkipGramBatcher {
 public:
  // The tokens must outlive the batcher. Throws Error for a text without a centre, and as NegativeSampler does.
  SkipGramBatcher(TokenView tokens, std::int64_t vocab, const SkipGramOptions& options);

  const SkipGramOptions& options() const { return options_; }

  // For training: row r of a batch is row micro_step·batch + r of the step. Its position in the text and its negatives
  // are a pure function of the seed, the step and that number. Throws Error for a text shorter than a row. Reuses the
  // memory of `out`.
  void draw(std::uint32_t step, std::uint32_t micro_step, SkipGramBatch& out) const;

  // For evaluation: every centre of the text once, in order, `batch` rows at a time; the last batch may be smaller. The
  // negatives depend only on the number of the row.
  std::int64_t centers() const { return tokens_.size() - 2 * options_.window; }
  std::int64_t batches() const;
  void fill(std::int64_t i, SkipGramBatch& out) const;

 private:
  // Appends a row of `centers` centres; the first context of the first one is the token at `begin`.
  void append(std::int64_t begin, std::int64_t centers, const RandomKey& key, SkipGramBatch& out) const;

  TokenView tokens_;
  SkipGramOptions options_;
  NegativeSampler sampler_;
};

}  // namespace tapeformer
