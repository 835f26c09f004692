// Small encoder-decoders, and beam search over them written out plainly.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "autograd/tape/tape.h"
#include "generate/translator.h"
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
    config.position = seed / 2 % 2 == 0 ? PositionKind::learned : PositionKind::sinusoidal;
    config.tied = TiedEmbeddings::none;
    if (seed % 4 == 2) {  // the blocks of today's models
      config.position = PositionKind::rotary;
      config.block.rotary = Rotary{}, config.block.kv_heads = 2, config.block.qk_norm = true;
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

// What a model says of one source, by full passes for this source alone.
class Oracle {
 public:
  Oracle(const EncoderDecoder& model, const Ids& source, const PairSymbols& symbols = kSymbols)
      : model_(model), source_(source), symbols_(symbols) {
    source_.push_back(symbols.source.end);
  }

  // log P of every id behind the target ids so far.
  const std::vector<double>& next(const Ids& ids) {
    const auto [known, is_new] = known_.try_emplace(ids);
    if (is_new) known->second = log_softmax_of(last_logits(ids));
    return known->second;
  }

  // log P of the ids and the end.
  double log_probability(const Ids& ids) {
    double sum = next(ids)[symbols_.target.end];
    for (std::size_t i = 0; i < ids.size(); ++i) sum += next(Ids(ids.begin(), ids.begin() + i))[ids[i]];
    return sum;
  }

  const SentenceSymbols& symbols() const { return symbols_.target; }

 private:
  std::vector<double> last_logits(const Ids& ids) const {
    Ids inputs{symbols_.target.begin};
    inputs.insert(inputs.end(), ids.begin(), ids.end());
    const auto tensor = [](const Ids& values) {
      return Tensor::from(std::span<const std::int32_t>(values), {1, static_cast<std::int64_t>(values.size())});
    };
    Tape tape(no_grad);
    const Tensor length = Tensor::from({static_cast<std::int32_t>(source_.size())}, {1});
    const EncoderOutput encoded = model_.encode(tape, {tensor(source_), length});
    const Tensor logits = model_.logits(model_.decode(Variable::constant(tape, tensor(inputs)), encoded)).value();
    return logits.slice(1, logits.size(1) - 1, logits.size(1)).to(DType::f64).to_vector<double>();
  }

  static std::vector<double> log_softmax_of(std::vector<double> logits) {
    const double largest = *std::ranges::max_element(logits);
    double sum = 0;
    for (double logit : logits) sum += std::exp(logit - largest);
    for (double& logit : logits) logit -= largest + std::log(sum);
    return logits;
  }

  const EncoderDecoder& model_;
  Ids source_;
  const PairSymbols symbols_;
  std::map<Ids, std::vector<double>> known_;
};

inline double score_of(double log_probability, std::size_t ids, double length_penalty) {
  return log_probability / std::pow((5 + static_cast<double>(ids) + 1) / 6, length_penalty);
}

inline void sort_by_score(Hypotheses& hypotheses) {
  std::ranges::stable_sort(hypotheses, std::greater<>(), &Hypothesis::score);
}

// Beam search as translator.h says, except that it goes on to the greatest length whatever has finished; `done_at`
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
        const bool allowed = length < max_length && id != symbols.begin && id != symbols.padding;
        if (!allowed && id != symbols.end) continue;
        all.push_back({hypothesis.ids, hypothesis.log_probability + log_p[id]});
        all.back().ids.push_back(id);
      }
    }
    std::ranges::stable_sort(all, std::greater<>(), &Open::log_probability);
    if (std::ssize(all) > options.beam) all.resize(options.beam);
    open.clear();
    for (Open& hypothesis : all) {
      if (hypothesis.ids.back() != symbols.end) {
        open.push_back(std::move(hypothesis));
        continue;
      }
      hypothesis.ids.pop_back();
      const double score = score_of(hypothesis.log_probability, hypothesis.ids.size(), options.length_penalty);
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
