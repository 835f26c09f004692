#include "generate/translator.h"

#include <algorithm>
#include <numeric>

#include "autograd/kernels/gemm/batch_invariant.h"
#include "core/hash.h"
#include "generate/target_writer.h"

namespace tapeformer {
namespace {

using Ids = std::vector<std::int32_t>;

// Returns the sources as rows of the same length, with end tokens and padding.
SourceBatch batch_of(const std::vector<Ids>& sources, const SentenceSymbols& symbols) {
  std::int64_t longest = 0;
  std::vector<std::int32_t> ids, lengths;
  for (const Ids& source : sources) lengths.push_back(static_cast<std::int32_t>(source.size()) + 1);
  for (const std::int32_t length : lengths) longest = std::max<std::int64_t>(longest, length);
  for (const Ids& source : sources) {
    ids.insert(ids.end(), source.begin(), source.end());
    ids.push_back(symbols.end);
    ids.resize((ids.size() + longest - 1) / longest * longest, symbols.padding);
  }
  return {Tensor::from(std::span<const std::int32_t>(ids), {std::ssize(sources), longest}),
          Tensor::from(std::span<const std::int32_t>(lengths), {std::ssize(sources)})};
}

// Translates the sources `indices` in one batch.
std::vector<std::vector<Hypothesis>> translate_batch(const EncoderDecoder& model,
                                                     std::span<const std::vector<std::int32_t>> sources,
                                                     std::span<const std::size_t> indices, const PairSymbols& symbols,
                                                     const TranslateOptions& options) {
  std::vector<Ids> chosen;
  std::vector<RowStart> starts;
  std::vector<std::uint64_t> hashes;
  for (const std::size_t index : indices) {
    const Ids& source = chosen.emplace_back(sources[index]);
    // Where neither the model nor the caller sets a limit, it is far above the length of any good translation.
    const std::int64_t most = longest_target(model, options.max_length, 3 * (std::ssize(source) + 1) + 50);
    starts.push_back({{symbols.target.begin}, most, str_cat("translate: source ", index + 1)});
    hashes.push_back(
        hash_bytes(std::string_view(reinterpret_cast<const char*>(source.data()), source.size() * sizeof(source[0]))));
    if (options.grammar) starts.back().grammar = options.grammar(index, most);
  }
  return write_targets(model, batch_of(chosen, symbols.source), starts, hashes, symbols.target, options);
}

}  // namespace

void check_options(const TranslateOptions& options) {
  options.sampling ? check_options(*options.sampling) : check_options(options.search);
  if (options.batch < 1) fail_usage("--batch: expected at least 1, got ", options.batch);
  if (options.max_length < 0) fail_usage("--max-length: expected at least 1 token, got ", options.max_length);
}

std::vector<std::vector<Hypothesis>> translate(const EncoderDecoder& model,
                                               std::span<const std::vector<std::int32_t>> sources,
                                               const PairSymbols& symbols, const TranslateOptions& options,
                                               const ProgressCallback& progress) {
  check_options(options);
  const kernels::BatchInvariant batch_invariant;
  const std::int64_t vocab = model.target_vocab();
  check(symbols.target.end >= 0 && symbols.target.end < vocab, "translate: the end's id is ", symbols.target.end,
        ", expected 0 to ", vocab - 1);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto tokens = static_cast<std::int64_t>(sources[i].size()) + 1;
    const std::int64_t most = model.context().value_or(std::max<std::int64_t>(tokens, 2));
    check(tokens >= 2 && tokens <= most, "translate: source ", i + 1, " has ", tokens,
          " tokens with its end, expected 2 to ", most);
  }
  std::vector<std::size_t> order(sources.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return sources[i].size(); });
  std::vector<std::vector<Hypothesis>> results(sources.size());
  for (std::size_t begin = 0; begin < order.size(); begin += options.batch) {
    const std::size_t count = std::min<std::size_t>(options.batch, order.size() - begin);
    const std::span<const std::size_t> indices = std::span(order).subspan(begin, count);
    auto translations = translate_batch(model, sources, indices, symbols, options);
    for (std::size_t i = 0; i < count; ++i) results[indices[i]] = std::move(translations[i]);
    if (progress) progress(static_cast<double>(begin + count) / static_cast<double>(order.size()));
  }
  return results;
}

}  // namespace tapeformer
