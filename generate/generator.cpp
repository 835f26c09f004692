#include "generate/generator.h"

#include <algorithm>

#include "autograd/tape/tape.h"

namespace tapeformer {
namespace {

constexpr std::uint64_t kStream = mix64(0x73616d706c65);  // "sample"

// Returns the logits (vocab) of the token after `ids`. The state, if given, has read the tokens before `ids`.
Tensor next_logits(const CausalModel& model, std::span<const std::int32_t> ids, LanguageState* state) {
  Tape tape(no_grad);
  const std::int64_t length = static_cast<std::int64_t>(ids.size());
  const Variable features = model.forward(Variable::constant(tape, Tensor::from(ids, {1, length})), state);
  const Variable last = Variable::constant(tape, features.value().slice(1, length - 1, length).reshape({1, -1}));
  return model.logits(last).value().to(DType::f32).reshape({-1});
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
  check(!prompt.empty(), "generate: the prompt has no tokens");
  check_options(options.sampling);
  const std::optional<std::int64_t> context = model.context();
  const std::int32_t document_token = model.document_token();
  // The tokens that the model sees. The state has read all but the last `fresh` of them.
  const std::span<const std::int32_t> seen = seen_part(model, prompt);
  std::vector<std::int32_t> window(seen.begin(), seen.end());
  const std::unique_ptr<LanguageState> state = model.make_state();
  std::size_t fresh = window.size();

  std::vector<std::int32_t> generated;
  for (std::int64_t i = 0; i < options.tokens; ++i) {
    if (context && static_cast<std::int64_t>(window.size()) > *context) {
      window.erase(window.begin(), window.end() - std::max<std::int64_t>(*context / 2, 1));
      state->clear();
      fresh = window.size();
    }
    const Tensor logits = options.use_cache ? next_logits(model, std::span(window).last(fresh), state.get())
                                            : next_logits(model, window, nullptr);
    const RandomKey key{.seed = options.seed, .step = static_cast<std::uint32_t>(i), .stream = kStream};
    const std::int32_t token = sample_token(logits.span<float>(), options.sampling, key);
    if (token == options.stop_token) break;
    generated.push_back(token);
    if (on_token && !on_token(token)) break;
    if (token == document_token) {
      window.clear();
      state->clear();
    }
    window.push_back(token);
    fresh = 1;
  }
  return generated;
}

}  // namespace tapeformer
