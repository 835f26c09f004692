#include "generate/target_writer.h"

#include <algorithm>
#include <cmath>

#include "autograd/kernels/gemm/batch_invariant.h"
#include "core/hash.h"
#include "generate/sample_rows.h"

namespace tapeformer {
namespace {

constexpr std::uint64_t kTranslationStream = mix64(0x7472616e736c6174);  // the bytes of "translat"

// Returns log P of the token `id`.
double log_probability_of(std::span<const float> logits, std::int32_t id) {
  const double highest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - highest);
  return logits[id] - highest - std::log(sum);
}

// Draws a target of each source.
std::vector<std::vector<Hypothesis>> sample(Decoder& decoder, const std::vector<RowStart>& starts,
                                            std::span<const std::uint64_t> hashes, const DecodingRules& rules,
                                            const TranslateOptions& options) {
  std::vector<RandomKey> keys;
  for (const std::uint64_t hash : hashes) keys.push_back({.seed = options.seed, .stream = kTranslationStream ^ hash});
  std::vector<std::vector<Hypothesis>> results(hashes.size(), {Hypothesis{}});
  const auto add = [&](std::size_t row, std::int32_t token, std::span<const float> logits) {
    Hypothesis& drawn = results[row].front();
    drawn.log_probability += log_probability_of(logits, token);
    drawn.score = drawn.log_probability;
    if (token != rules.end) drawn.ids.push_back(token);
    return true;
  };
  SampledRows strategy(starts, keys, rules, *options.sampling, add);
  decode(decoder, strategy);
  return results;
}

}  // namespace

std::int64_t longest_target(const EncoderDecoder& model, std::int64_t wanted, std::int64_t otherwise) {
  const std::optional<std::int64_t> context = model.context();
  return wanted == 0 ? context.value_or(otherwise) : std::min(wanted, context.value_or(wanted));
}

std::vector<std::vector<Hypothesis>> write_targets(const EncoderDecoder& model, const SourceBatch& sources,
                                                   const std::vector<RowStart>& starts,
                                                   std::span<const std::uint64_t> hashes,
                                                   const SentenceSymbols& symbols, const TranslateOptions& options) {
  const std::int64_t longest = std::ranges::max(starts, {}, &RowStart::max_length).max_length;
  const DecodingRules rules{.end = symbols.end, .excluded = {symbols.begin, symbols.padding}, .must_end = true};
  TargetDecoder decoder(model, sources, longest, options.use_cache);
  if (options.sampling) return sample(decoder, starts, hashes, rules, options);
  BeamSearch strategy(starts, rules, options.search);
  decode(decoder, strategy);
  return strategy.take_results();
}

std::vector<std::vector<Hypothesis>> write_captions(
    const EncoderDecoder& model, const std::function<Tensor(std::int64_t first, std::int64_t count)>& images,
    std::int64_t count, const SentenceSymbols& symbols, const TranslateOptions& options,
    const ProgressCallback& progress) {
  check_options(options);
  const kernels::BatchInvariant batch_invariant;
  const std::int64_t length = longest_target(model, options.max_length, kLongestCaption);
  std::vector<std::vector<Hypothesis>> results;
  for (std::int64_t first = 0; first < count; first += options.batch) {
    const std::int64_t rows = std::min(options.batch, count - first);
    const Tensor batch = images(first, rows).contiguous();
    const std::int64_t bytes = batch.bytes() / rows;
    std::vector<RowStart> starts;
    std::vector<std::uint64_t> hashes;
    for (std::int64_t i = 0; i < rows; ++i) {
      starts.push_back({{symbols.begin}, length, str_cat("caption: image ", first + i + 1)});
      hashes.push_back(
          hash_bytes(std::string_view(reinterpret_cast<const char*>(batch.data<float>()) + i * bytes, bytes)));
    }
    for (std::vector<Hypothesis>& best : write_targets(model, {{}, {}, batch}, starts, hashes, symbols, options)) {
      results.push_back(std::move(best));
    }
    if (progress) progress(static_cast<double>(first + rows) / static_cast<double>(count));
  }
  return results;
}

}  // namespace tapeformer
