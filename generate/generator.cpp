#include "generate/generator.h"

#include <algorithm>

#include "autograd/kernels/gemm/batch_invariant.h"
#include "core/random.h"
#include "generate/sample_rows.h"

namespace tapeformer {
namespace {

constexpr std::uint64_t kSamplingStream = mix64(0x73616d706c65);  // the bytes of "sample"

// `Options` is GenerateOptions or TextSearchOptions.
template <class Options>
RowStart start_of(const CausalModel& model, std::span<const std::int32_t> prompt, const Options& options) {
  check(!prompt.empty(), "generate: the prompt has no tokens");
  const std::span<const std::int32_t> seen = seen_part(model, prompt, options.context);
  return {{seen.begin(), seen.end()}, options.tokens, "generate"};
}

}  // namespace

std::vector<std::int32_t> prompt_tokens(const Tokenizer& tokenizer, const CausalModel& model, std::string_view prompt,
                                        std::span<const std::int32_t> prefix) {
  std::vector<std::int32_t> ids = tokenizer.encode(prompt);
  ids.insert(ids.begin(), prefix.begin(), prefix.end());
  if (model.document_token() >= 0) ids.insert(ids.begin(), model.document_token());
  return ids;
}

std::optional<std::int64_t> seen_context(const CausalModel& model, std::int64_t wanted) {
  const std::optional<std::int64_t> most = model.context();
  if (wanted == 0) return most;
  if (!most) fail_usage("--context: expected none for a model without a limit, got ", wanted);
  if (wanted < 1 || (wanted > *most && !model.can_exceed_context())) {
    fail_usage("--context: expected 1 to ", *most, " (the model's), got ", wanted);
  }
  return wanted;
}

std::span<const std::int32_t> seen_part(const CausalModel& model, std::span<const std::int32_t> prompt,
                                        std::int64_t context) {
  const auto last_document = std::find(prompt.rbegin(), prompt.rend(), model.document_token());
  if (last_document != prompt.rend()) prompt = prompt.last(last_document - prompt.rbegin() + 1);
  const std::optional<std::int64_t> most = seen_context(model, context);
  return most ? prompt.last(std::min<std::size_t>(prompt.size(), *most)) : prompt;
}

std::vector<std::int32_t> generate(const CausalModel& model, std::span<const std::int32_t> prompt,
                                   const GenerateOptions& options, const std::function<bool(std::int32_t)>& on_token) {
  const RowStart start = start_of(model, prompt, options);
  CausalDecoder decoder(model, options.use_cache, seen_context(model, options.context));
  return generate(decoder, start.ids, options, on_token);
}

std::vector<std::int32_t> generate(CausalDecoder& decoder, std::span<const std::int32_t> row,
                                   const GenerateOptions& options, const std::function<bool(std::int32_t)>& on_token) {
  const RowStart start{{row.begin(), row.end()}, options.tokens, "generate"};
  std::vector<std::int32_t> generated;
  SampledRows strategy({start}, {{.seed = options.seed, .stream = kSamplingStream}}, {.end = options.stop_token},
                       options.sampling, [&](std::size_t, std::int32_t token, std::span<const float>) {
                         if (token == options.stop_token) return false;
                         generated.push_back(token);
                         return !on_token || on_token(token);
                       });
  decode(decoder, strategy);
  return generated;
}

std::vector<Hypothesis> search_texts(const CausalModel& model, std::span<const std::int32_t> prompt,
                                     const TextSearchOptions& options) {
  check_options(options.search);
  const kernels::BatchInvariant batch_invariant;
  const std::int32_t end = options.stop_token >= 0 ? options.stop_token : model.document_token();
  BeamSearch strategy({start_of(model, prompt, options)}, {.end = end}, options.search);
  CausalDecoder decoder(model, options.use_cache, seen_context(model, options.context));
  decode(decoder, strategy);
  return std::move(strategy.take_results().front());
}

}  // namespace tapeformer
