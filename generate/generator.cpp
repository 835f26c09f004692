#include "generate/generator.h"

#include <algorithm>

#include "autograd/kernels/gemm/batch_invariant.h"
#include "core/random.h"
#include "generate/sample_rows.h"

namespace tapeformer {
namespace {

constexpr std::uint64_t kSamplingStream = mix64(0x73616d706c65);  // the bytes of "sample"

RowStart start_of(const CausalModel& model, std::span<const std::int32_t> prompt, std::int64_t tokens) {
  check(!prompt.empty(), "generate: the prompt has no tokens");
  const std::span<const std::int32_t> seen = seen_part(model, prompt);
  return {{seen.begin(), seen.end()}, tokens, "generate"};
}

}  // namespace

std::vector<std::int32_t> prompt_tokens(const Tokenizer& tokenizer, const CausalModel& model, std::string_view prompt) {
  std::vector<std::int32_t> ids = tokenizer.encode(prompt);
  if (model.document_token() >= 0) ids.insert(ids.begin(), model.document_token());
  return ids;
}

std::span<const std::int32_t> seen_part(const CausalModel& model, std::span<const std::int32_t> prompt) {
  const auto last_document = std::find(prompt.rbegin(), prompt.rend(), model.document_token());
  if (last_document != prompt.rend()) prompt = prompt.last(last_document - prompt.rbegin() + 1);
  return model.context() ? prompt.last(std::min<std::size_t>(prompt.size(), *model.context())) : prompt;
}

std::vector<std::int32_t> generate(const CausalModel& model, std::span<const std::int32_t> prompt,
                                   const GenerateOptions& options, const std::function<bool(std::int32_t)>& on_token) {
  const RowStart start = start_of(model, prompt, options.tokens);
  std::vector<std::int32_t> generated;
  SampledRows strategy({start}, {{.seed = options.seed, .stream = kSamplingStream}}, {.end = options.stop_token},
                       options.sampling, [&](std::size_t, std::int32_t token, std::span<const float>) {
                         if (token == options.stop_token) return false;
                         generated.push_back(token);
                         return !on_token || on_token(token);
                       });
  CausalDecoder decoder(model, options.use_cache);
  decode(decoder, strategy);
  return generated;
}

std::vector<Hypothesis> search_texts(const CausalModel& model, std::span<const std::int32_t> prompt,
                                     const TextSearchOptions& options) {
  check_options(options.search);
  const kernels::BatchInvariant batch_invariant;
  const std::int32_t end = options.stop_token >= 0 ? options.stop_token : model.document_token();
  BeamSearch strategy({start_of(model, prompt, options.tokens)}, {.end = end}, options.search);
  CausalDecoder decoder(model, options.use_cache);
  decode(decoder, strategy);
  return std::move(strategy.take_results().front());
}

}  // namespace tapeformer
