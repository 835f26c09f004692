// The base of the objectives that train an encoder-decoder on pairs of a source and a target.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/hash.h"
#include "core/parallel.h"
#include "data/parallel/pair_batcher.h"
#include "data/scores/bleu.h"
#include "tasks/translation/translation_data.h"
#include "train/loop/objective.h"

namespace tapeformer {

// Each micro-step reads a batch of its own. The sizes of micro-steps count the tokens of targets, with their ends.
class PairObjective : public Objective {
 public:
  StepSize step_size(std::int64_t step, MicroSteps micro_steps) override {
    std::int64_t sum = 0;
    for (std::int64_t micro = micro_steps.begin; micro < micro_steps.end; ++micro) {
      sum += batcher_->scored(index(step, micro));
    }
    return {.targets = sum, .tokens = sum};
  }

  std::int64_t steps_per_epoch() const { return chunk_count(batcher_->batches_per_epoch(), config_.train.accumulate); }
  // The share of the positions of training batches that is padding.
  double padding_share() const { return batcher_->padding_share(); }

  // Returns the BLEU of the model's texts for the first eval.bleu_sentences validation sources, which the ranks share.
  std::optional<double> bleu() override {
    if (given_count() == 0) return std::nullopt;
    const std::int64_t all = given_count(), most = config_.eval.bleu_sentences;
    const std::int64_t count = most > 0 ? std::min(all, most) : all;
    const Communicator::Share mine = ranks().share(count);
    const std::vector<std::string> texts = ranks().gather_all(written(mine.begin, mine.size()));
    Bleu bleu(config_.eval.bleu_tokenize);
    for (std::int64_t i = 0; i < count; ++i) bleu.add(texts[i], given(i).reference);
    return bleu.score().score;
  }
  // Returns the model's texts for the first validation sources.
  std::vector<TextSample> samples(const std::function<bool()>&) override {
    constexpr std::int64_t kSamples = 4;
    std::vector<TextSample> samples;
    for (std::int64_t i = 0; i < std::min(kSamples, given_count()); ++i) samples.push_back(given(i));
    if (samples.empty()) return samples;
    std::vector<std::string> texts = written(0, std::ssize(samples));
    for (std::size_t i = 0; i < samples.size(); ++i) samples[i].output = std::move(texts[i]);
    return samples;
  }

 protected:
  using Objective::Objective;

  // Must be called once, in the constructor of a derived class. The pairs must outlive the object. Throws Error as
  // LengthBuckets does.
  void train_on(const TokenPairs& pairs, const PairSymbols& symbols) {
    batcher_.emplace(pairs, symbols, training_batch_options(config_));
  }
  // Returns the batch of a micro-step, which is valid until the next call; it may have no rows.
  const PairBatch& draw(std::int64_t step, std::int64_t micro_step) {
    batcher_->draw(index(step, micro_step), batch_);
    return batch_;
  }

  // Returns the facts about validation pairs whose targets this tokenizer has encoded.
  static ValidationFacts facts_of(const TokenPairs& pairs, const Tokenizer& target) {
    return {.tokens = pairs.target_tokens() + pairs.size(),
            .bytes = pairs.target_bytes(),
            .unknown_share = pairs.unknown_share(target)};
  }
  // Returns the hash of validation data by the hash of its texts. `by_batch`: train.batch_tokens, which a resumed run
  // may change, is the limit above which sentences are left out. Then the hash is that of those that are scored: their
  // number tells which they are.
  static std::uint64_t hash_of_scored(std::uint64_t texts, const SkippedPairs& skipped, bool by_batch) {
    if (!by_batch || skipped.too_long == 0) return texts;
    Hasher hasher;
    hasher.update(texts);
    hasher.update(static_cast<std::uint64_t>(skipped.too_long));
    return hasher.digest();
  }

 private:
  // The number of validation sources with a given text, also of those that are not scored.
  virtual std::int64_t given_count() const = 0;
  // Returns one of them and its given text, without an output.
  virtual TextSample given(std::int64_t index) const = 0;
  // Returns the model's greedy texts for `count` of them, beginning with number `first`.
  virtual std::vector<std::string> written(std::int64_t first, std::int64_t count) const = 0;

  // The index of a micro-step's batch since the start of the training.
  std::int64_t index(std::int64_t step, std::int64_t micro_step) const {
    return (step - 1) * config_.train.accumulate + micro_step;
  }

  std::optional<PairBatcher> batcher_;
  PairBatch batch_;
};

}  // namespace tapeformer
