// Beam search (Graves 2012; with the length penalty of Wu et al. 2016, GNMT, equation 14).
#pragma once

#include <functional>

#include "generate/decoder.h"

namespace tapeformer {

// A continuation that a search considered at one length.
struct BeamCandidate {
  double log_probability;  // of all tokens of the hypothesis so far, this one included
  std::int64_t parent;     // the index of the hypothesis that it continues
  std::int32_t id;         // the token
  bool kept, ended;        // whether it stays in the beam, or the hypothesis has ended with it
};
// Receives the candidates at one length, best first: those that are kept, then some that are dropped. `hypotheses` are
// the tokens of the hypotheses before this length, by their index, and `search` is the index of the row.
using BeamObserver = std::function<void(std::size_t search, const std::vector<std::vector<std::int32_t>>& hypotheses,
                                        const std::vector<BeamCandidate>& candidates)>;

struct BeamOptions {
  std::int64_t beam = 1;        // the number of hypotheses kept at each length; 1: greedy, always the likeliest token
  double length_penalty = 0.6;  // α: the score of a finished hypothesis is log P / ((5 + tokens)/6)^α
  std::int64_t n_best = 1;      // the number of hypotheses returned for each row, at most `beam`
  // Called at each length, for different rows by several threads at once; empty: none.
  BeamObserver observer = {};
  std::int64_t observe_dropped = 0;  // how many dropped candidates the observer receives
};

struct Hypothesis {
  std::vector<std::int32_t> ids;  // the tokens that follow the beginning of the row, without the end token
  double log_probability = 0;     // of the ids, and of the end token unless the hypothesis was cut
  double score = 0;
};

// Throws UsageError for options out of range.
void check_options(const BeamOptions& options);

// Searches for the likeliest continuations of several rows at once. At each length the search keeps the `beam`
// likeliest continuations of all hypotheses of a row; of equal ones it prefers the earlier hypothesis, then the lower
// id. The end token finishes a hypothesis. At max_length a hypothesis can only end, or it is cut there
// (DecodingRules::must_end). The search for a row stops when no live hypothesis can reach the score of the n-th best
// finished one. Throws Error if the model's predictions are not finite numbers.
class BeamSearch : public DecodingStrategy {
 public:
  // All rows begin with the same number of ids.
  BeamSearch(const std::vector<RowStart>& starts, DecodingRules rules, const BeamOptions& options);

  // There is one row for each search at first, and then `beam` rows: row s·beam + i is hypothesis i of search s.
  TokenRows rows() const override;
  std::vector<std::int64_t> extend(const Tensor& logits) override;
  // Returns the n best hypotheses of each row, best first, in the order of `starts`.
  std::vector<std::vector<Hypothesis>> take_results() { return std::move(results_); }

 private:
  struct Live {
    std::vector<std::int32_t> ids;  // the beginning of the row, and the tokens of the hypothesis so far
    double log_probability;         // −∞: an unused entry of the beam
  };
  // The search for the continuations of one row.
  struct Search {
    std::size_t index;                             // in the results
    std::string name;                              // in error messages
    std::int64_t begin;                            // the position of the first token of a hypothesis
    std::int64_t max_length;                       // of a hypothesis, in tokens with the end token
    std::shared_ptr<const OutputGrammar> grammar;  // null: any text
    std::vector<Live> live;                        // the hypotheses that have not ended; unused entries last
    std::vector<std::int64_t> parents;             // live[i] continues hypothesis parents[i] of the step before
    std::vector<Hypothesis> finished;              // best first
  };
  struct Candidate;

  // Returns the `count` best continuations of the hypotheses of one row, best first.
  template <class T>
  std::vector<Candidate> candidates(const Search& search, const T* log_p, std::int64_t vocab, std::int64_t count) const;
  // Passes the candidates to the observer, and returns the best ones, which stay in the beam.
  std::vector<Candidate> observed(const Search& search, std::vector<Candidate> candidates) const;
  // Extends the search for one row by one token: replaces its hypotheses by `best`, their best continuations.
  void advance(Search& search, const std::vector<Candidate>& best) const;
  double penalty(std::int64_t length) const;
  bool is_done(const Search& search) const;

  const DecodingRules rules_;
  const BeamOptions options_;
  std::int64_t length_ = 0;  // the number of tokens that each row has so far beyond its beginning
  std::vector<Search> searches_;
  std::vector<std::vector<Hypothesis>> results_;
};

}  // namespace tapeformer
