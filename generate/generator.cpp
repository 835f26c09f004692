#include "generate/generator.h"

#include <algorithm>

#include "autograd/kernels/batch_invariant.h"
#include "autograd/tape/tape.h"

namespace tapeformer {
namespace {

constexpr std::uint64_t kStream = mix64(0x73616d706c65);  // "sample"

// Logits after the last of `ids`, (vocab). The cache, if any, holds the tokens before them.
Tensor next_logits(const Gpt& model, std::span<const std::int32_t> ids, StackCache* cache) {
  Tape tape(no_grad);
  const std::int64_t length = static_cast<std::int64_t>(ids.size());
  const Variable hidden = model.forward(Variable::constant(tape, Tensor::from(ids, {1, length})), cache);
  const Variable last = Variable::constant(tape, hidden.value().slice(1, length - 1, length).reshape({1, -1}));
  return model.logits(last).value().to(DType::f32).reshape({-1});
}

}  // namespace

std::vector<std::int32_t> generate(const Gpt& model, std::span<const std::int32_t> prompt,
                                   const GenerateOptions& options, const std::function<void(std::int32_t)>& on_token) {
  check(!prompt.empty(), "generate: the prompt has no tokens");
  check_options(options.sampling);
  const kernels::BatchInvariant batch_invariant;
  const std::int64_t context = model.config().context;
  const std::int64_t kept = std::max<std::int64_t>(context / 2, 1);
  // All before a document's beginning is dropped, since nothing looks at it.
  const std::int32_t document_token = model.config().document_token;
  const auto last_document = std::find(prompt.rbegin(), prompt.rend(), document_token);
  if (last_document != prompt.rend()) prompt = prompt.last(last_document - prompt.rbegin() + 1);
  // The tokens that the model sees, of which the cache holds all but the last `fresh`.
  const std::size_t visible = std::min<std::size_t>(prompt.size(), context);
  std::vector<std::int32_t> window(prompt.end() - visible, prompt.end());
  StackCache cache = model.make_cache();
  std::size_t fresh = window.size();
  const auto clear_cache = [&] {
    for (BlockCache& block : cache) block.self.clear();
  };

  std::vector<std::int32_t> generated;
  for (std::int64_t i = 0; i < options.tokens; ++i) {
    if (static_cast<std::int64_t>(window.size()) > context) {
      window.erase(window.begin(), window.end() - kept);
      clear_cache();
      fresh = window.size();
    }
    const Tensor logits = options.use_cache ? next_logits(model, std::span(window).last(fresh), &cache)
                                            : next_logits(model, window, nullptr);
    const RandomKey key{.seed = options.seed, .step = static_cast<std::uint32_t>(i), .stream = kStream};
    const std::int32_t token = sample_token(logits.span<float>(), options.sampling, key);
    if (token == options.stop_token) break;
    generated.push_back(token);
    if (on_token) on_token(token);
    if (token == document_token) {
      window.clear();
      clear_cache();
    }
    window.push_back(token);
    fresh = 1;
  }
  return generated;
}

}  // namespace tapeformer
