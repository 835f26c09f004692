// Small models, and beam search over them written out plainly.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "autograd/tape/tape.h"
#include "generate/translator.h"
#include "nn/interfaces/causal_model.h"
#include "nn/models/transformer.h"

namespace tapeformer {

using Ids = std::vector<std::int32_t>;
using Hypotheses = std::vector<Hypothesis>;

inline constexpr std::int64_t kSourceVocab = 9, kTargetVocab = 11, kContext = 12;
// All different, so that none can stand for another.
inline constexpr PairSymbols kSymbols{.source = {.begin = 0, .end = 1, .padding = 2},
                                      .target = {.begin = 5, .end = 3, .padding = 0}};

// Pre- or post-norm, learned or sinusoidal positions by the seed. Its random weights make predictions that are neither
// flat nor certain, that depend on the source and the place, and among which the end comes at most lengths.
struct TestTransformer : Transformer {
  explicit TestTransformer(std::uint64_t seed, DType dtype = DType::f64, std::int64_t target_vocab = kTargetVocab,
                           std::int64_t context = kContext)
      : Transformer(config_of(seed, dtype, target_vocab, context)) {
    std::uint64_t stream = 0;
    for (const NamedParameter& parameter : named_parameters()) {
      const Tensor values = parameter.variable.value();
      const auto is = [&](const char* part) { return parameter.name.find(part) != std::string::npos; };
      const double deviation = is("position") ? 2 : is("head") ? 0.8 : values.rank() == 2 ? 0.3 : 0.1;
      initialize(values, Init::normal(deviation), RandomKey{.seed = seed, .stream = stream++});
      if (is("norm.weight")) values.add_from(Tensor::full(values.sizes(), dtype, 1));
    }
  }

  static TransformerConfig config_of(std::uint64_t seed, DType dtype, std::int64_t target_vocab, std::int64_t context) {
    TransformerConfig config;
    config.source_vocab = kSourceVocab, config.target_vocab = target_vocab, config.context = context, config.layers = 2;
    config.block = {.dim = 16, .heads = 4, .ff_dim = 32, .dropout = 0.5, .dtype = dtype};
    config.block.norm = seed % 2 == 0 ? NormPlace::pre : NormPlace::post;
    if (seed / 2 % 2 == 0) config.position = LearnedPositions{};
    config.tied = TiedEmbeddings::none;
    if (seed % 4 == 2) {  // the blocks of today's models
      config.position = Rotary{};
      config.block.kv_heads = 2, config.block.qk_norm = true;
    }
    return config;
  }
};

// Sentences of 1 … kContext − 1 letters.
inline std::vector<Ids> random_sources(std::int64_t count, std::uint64_t seed = 1) {
  RandomStream random(RandomKey{.seed = seed});
  std::vector<Ids> sources(count);
  for (Ids& ids : sources) {
    ids.resize(1 + random.below(kContext - 1));
    for (std::int32_t& id : ids) id = static_cast<std::int32_t>(3 + random.below(kSourceVocab - 3));
  }
  return sources;
}

inline Tensor row_tensor(const Ids& ids) {
  return Tensor::from(std::span<const std::int32_t>(ids), {1, std::ssize(ids)});
}

// What a model says of the tokens that follow one source, or one prompt, by full passes for this row alone.
class Oracle {
 public:
  Oracle(const EncoderDecoder& model, const Ids& source, const PairSymbols& symbols = kSymbols)
      : begin_{symbols.target.begin}, symbols_(symbols.target), must_end_(true) {
    Ids ended = source;
    ended.push_back(symbols.source.end);
    logits_ = [&model, ended](const Ids& ids) {
      Tape tape(no_grad);
      const Tensor length = Tensor::from({static_cast<std::int32_t>(ended.size())}, {1});
      const EncoderOutput encoded = model.encode(tape, {row_tensor(ended), length});
      return model.logits(model.decode(Variable::constant(tape, row_tensor(ids)), encoded)).value();
    };
  }
  // Texts end at `end`, or are cut; −1: there is no end.
  Oracle(const CausalModel& model, const Ids& prompt, std::int32_t end)
      : begin_(prompt), symbols_{.begin = -1, .end = end, .padding = -1}, must_end_(false) {
    logits_ = [&model](const Ids& ids) {
      Tape tape(no_grad);
      return model.logits(model.forward(Variable::constant(tape, row_tensor(ids)))).value();
    };
  }

  // log P of every id behind the ids so far.
  const std::vector<double>& next(const Ids& ids) {
    const auto [known, is_new] = known_.try_emplace(ids);
    if (is_new) known->second = log_softmax_of(last_logits(ids));
    return known->second;
  }

  // log P of the ids and the end, or of the ids alone.
  double log_probability(const Ids& ids, bool with_end = true) {
    double sum = with_end ? next(ids)[symbols_.end] : 0;
    for (std::size_t i = 0; i < ids.size(); ++i) sum += next(Ids(ids.begin(), ids.begin() + i))[ids[i]];
    return sum;
  }

  const SentenceSymbols& symbols() const { return symbols_; }
  bool must_end() const { return must_end_; }

 private:
  std::vector<double> last_logits(const Ids& ids) const {
    Ids inputs = begin_;
    inputs.insert(inputs.end(), ids.begin(), ids.end());
    const Tensor logits = logits_(inputs);
    return logits.slice(1, logits.size(1) - 1, logits.size(1)).to(DType::f64).to_vector<double>();
  }

  static std::vector<double> log_softmax_of(std::vector<double> logits) {
    const double largest = *std::ranges::max_element(logits);
    double sum = 0;
    for (double logit : logits) sum += std::exp(logit - largest);
    for (double& logit : logits) logit -= largest + std::log(sum);
    return logits;
  }

  Ids begin_;
  SentenceSymbols symbols_;
  bool must_end_;  // whether only the end may be the last token
  std::function<Tensor(const Ids&)> logits_;
  std::map<Ids, std::vector<double>> known_;
};

inline double score_of(double log_probability, std::size_t ids, double length_penalty) {
  return log_probability / std::pow((5 + static_cast<double>(ids) + 1) / 6, length_penalty);
}

inline void sort_by_score(Hypotheses& hypotheses) {
  std::ranges::stable_sort(hypotheses, std::greater<>(), &Hypothesis::score);
}

// Every sequence that may follow, with its score; best first.
inline Hypotheses all_continuations(Oracle& oracle, std::int64_t vocab, std::int64_t max_length,
                                    double length_penalty) {
  const SentenceSymbols& symbols = oracle.symbols();
  Hypotheses all;
  std::vector<Ids> sequences{{}};
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const Ids ids = sequences[i];
    const bool cut = std::ssize(ids) == max_length;
    if (cut || symbols.end >= 0) {
      const double log_p = oracle.log_probability(ids, !cut);
      all.push_back({ids, log_p, score_of(log_p, ids.size() - (cut ? 1 : 0), length_penalty)});
    }
    if (std::ssize(ids) == max_length - (oracle.must_end() ? 1 : 0)) continue;
    for (std::int32_t id = 0; id < vocab; ++id) {
      if (id == symbols.begin || id == symbols.end || id == symbols.padding) continue;
      sequences.push_back(ids);
      sequences.back().push_back(id);
    }
  }
  sort_by_score(all);
  return all;
}

// Beam search as beam_search.h says, except that it goes on to the greatest length whatever has finished; `done_at`
// becomes the length at which it could have stopped.
inline Hypotheses reference_search(Oracle& oracle, const BeamOptions& options, std::int64_t max_length,
                                   std::int64_t* done_at = nullptr) {
  struct Open {
    Ids ids;
    double log_probability;
  };
  const SentenceSymbols& symbols = oracle.symbols();
  std::vector<Open> open{{{}, 0}};
  Hypotheses finished;
  bool done = false;
  for (std::int64_t length = 1; length <= max_length; ++length) {
    std::vector<Open> all;
    for (const Open& hypothesis : open) {
      const std::vector<double>& log_p = oracle.next(hypothesis.ids);
      for (std::int32_t id = 0; id < static_cast<std::int32_t>(log_p.size()); ++id) {
        const bool allowed =
            (length < max_length || !oracle.must_end()) && id != symbols.begin && id != symbols.padding;
        if (!allowed && id != symbols.end) continue;
        all.push_back({hypothesis.ids, hypothesis.log_probability + log_p[id]});
        all.back().ids.push_back(id);
      }
    }
    std::ranges::stable_sort(all, std::greater<>(), &Open::log_probability);
    if (std::ssize(all) > options.beam) all.resize(options.beam);
    open.clear();
    for (Open& hypothesis : all) {
      const bool ended = hypothesis.ids.back() == symbols.end;
      if (!ended && length < max_length) {
        open.push_back(std::move(hypothesis));
        continue;
      }
      if (ended) hypothesis.ids.pop_back();
      const double score = score_of(hypothesis.log_probability, length - 1, options.length_penalty);
      finished.push_back({hypothesis.ids, hypothesis.log_probability, score});
    }
    sort_by_score(finished);
    const auto wins = [&](const Open& hypothesis) {
      return score_of(hypothesis.log_probability, max_length - 1, options.length_penalty) >
             finished[options.n_best - 1].score;
    };
    const bool goes_on = !open.empty() && (std::ssize(finished) < options.n_best || std::ranges::any_of(open, wins));
    if (done_at && !goes_on && !done) *done_at = length;
    done = done || !goes_on;
  }
  if (std::ssize(finished) > options.n_best) finished.resize(options.n_best);
  return finished;
}

inline std::vector<Ids> ids_of(const Hypotheses& hypotheses) {
  std::vector<Ids> ids;
  for (const Hypothesis& hypothesis : hypotheses) ids.push_back(hypothesis.ids);
  return ids;
}

// The same ids in the same order, and log P and scores as near as `tolerance`.
inline bool same(const Hypotheses& a, const Hypotheses& b, double tolerance) {
  return std::ranges::equal(a, b, [&](const Hypothesis& x, const Hypothesis& y) {
    return x.ids == y.ids && std::abs(x.log_probability - y.log_probability) <= tolerance &&
           std::abs(x.score - y.score) <= tolerance;
  });
}

}  // namespace tapeformer
