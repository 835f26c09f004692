#include "data/skip_gram/skip_gram_batcher.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/parallel.h"
#include "data/text/row_keys.h"

namespace tapeformer {
namespace {

constexpr std::uint64_t kSkipRowStream = mix64(0x736b6970726f77);   // "skiprow"
constexpr std::uint64_t kNegativeStream = mix64(0x736b69706e6567);  // "skipneg"

}  // namespace

NegativeSampler::NegativeSampler(TokenView tokens, std::int64_t vocab, double power) : cumulative_(vocab, 0.0) {
  for_each_piece(tokens, [&](std::span<const std::int32_t> piece) {
    for (const std::int32_t id : piece) {
      check(id >= 0 && id < vocab, "skip-gram: id ", id, " is outside of the vocabulary of ", vocab);
      ++cumulative_[id];
    }
  });
  check(tokens.size() > 0, "skip-gram: the text has no tokens");
  double sum = 0;
  for (double& value : cumulative_) {
    if (value > 0) sum += std::pow(value, power);
    value = sum;
  }
}

std::int32_t NegativeSampler::draw(RandomStream& random) const {
  // The product may be rounded up to the total sum, and then no id is found.
  const auto found = std::ranges::upper_bound(cumulative_, random.uniform() * cumulative_.back());
  if (found != cumulative_.end()) return static_cast<std::int32_t>(found - cumulative_.begin());
  return static_cast<std::int32_t>(std::ranges::lower_bound(cumulative_, cumulative_.back()) - cumulative_.begin());
}

double NegativeSampler::probability(std::int32_t id) const {
  return (cumulative_[id] - (id > 0 ? cumulative_[id - 1] : 0)) / cumulative_.back();
}

SkipGramBatcher::SkipGramBatcher(TokenView tokens, std::int64_t vocab, const SkipGramOptions& options)
    : tokens_(tokens), options_(options), sampler_(tokens, vocab, options.negative_power) {
  check(centers() > 0, "skip-gram: the text has ", tokens.size(), " tokens: a window of ", options.window,
        " takes at least ", 2 * options.window + 1);
}

void SkipGramBatcher::append(std::int64_t begin, std::int64_t centers, const RandomKey& key, SkipGramBatch& out) const {
  const std::int64_t window = options_.window;
  std::vector<std::int32_t> ids(centers + 2 * window);
  tokens_.copy(begin, ids);
  RandomStream random(key.with_stream(kNegativeStream));
  for (std::int64_t center = window; center < window + centers; ++center) {
    ++out.centers;
    const auto predict = [&](std::int32_t id) {
      out.outputs.push_back(id);
      for (std::int64_t k = 0; k < options_.negatives; ++k) out.outputs.push_back(sampler_.draw(random));
    };
    options_.cbow ? predict(ids[center]) : out.inputs.push_back(ids[center]);
    for (std::int64_t place = center - window; place <= center + window; ++place) {
      if (place == center) continue;
      options_.cbow ? out.inputs.push_back(ids[place]) : predict(ids[place]);
    }
  }
}

void SkipGramBatcher::draw(std::uint32_t step, std::uint32_t micro_step, SkipGramBatch& out) const {
  const std::int64_t places = centers() - options_.row + 1;
  check(places > 0, "skip-gram: the text has ", tokens_.size(), " tokens: a row takes ",
        options_.row + 2 * options_.window);
  out.centers = 0, out.inputs.clear(), out.outputs.clear();
  for (std::int64_t row = 0; row < options_.batch; ++row) {
    const RandomKey key = training_row_key(options_.seed, step, micro_step, options_.batch, row, kSkipRowStream);
    append(static_cast<std::int64_t>(RandomStream(key).below(places)), options_.row, key, out);
  }
}

std::int64_t SkipGramBatcher::batches() const { return chunk_count(centers(), options_.batch * options_.row); }

void SkipGramBatcher::fill(std::int64_t i, SkipGramBatch& out) const {
  check(i >= 0 && i < batches(), "evaluation batch ", i, " is out of range for ", batches());
  out.centers = 0, out.inputs.clear(), out.outputs.clear();
  for (std::int64_t row = i * options_.batch; row < (i + 1) * options_.batch; ++row) {
    const std::int64_t begin = row * options_.row, left = centers() - begin;
    if (left <= 0) break;
    const RandomKey key = evaluation_row_key(row, kSkipRowStream);
    append(begin, std::min(options_.row, left), key, out);
  }
}

}  // namespace tapeformer
