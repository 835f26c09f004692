// What models are made of, and what they keep while they write.
#include "autograd/kernels/gemm/precision.h"
#include "autograd/ops/ops.h"
#include "autograd/tape/tape.h"
#include "core/steady_clock.h"
#include "nn/models/gpt.h"
#include "nn/models/transformer.h"
#include "report/explain/topics.h"
#include "tasks/common/load_run.h"

#include <algorithm>

namespace tapeformer::explain {
namespace {

// Returns the number of elements of the queries' part of a layer's packed query, key and value matrix.
std::int64_t query_weights(const Module& model, std::string_view packed) {
  for (const NamedParameter& parameter : model.named_parameters()) {
    if (parameter.name != packed) continue;
    return parameter.role.heights.front() * parameter.variable.size(1);
  }
  fail("explain parameters: the model has no ", packed);
}

// Counts the modules whose names end with `ending`.
std::int64_t count_modules(const Module& model, std::string_view ending) {
  return std::ranges::count_if(model.named_modules(),
                               [&](const NamedModule& module) { return module.name.ends_with(ending); });
}

void show_sublayers(WorkedExample& out, const Module& model) {
  const std::int64_t self = count_modules(model, ".attention"), cross = count_modules(model, ".cross_attention");
  const std::int64_t feed_forward = count_modules(model, ".feed_forward");
  out.heading("Sublayers");
  out.show(CellTable{"sublayers",
                     {"sublayer", "count"},
                     {{"self-attention", self},
                      {"cross-attention", cross},
                      {"feed-forward", feed_forward},
                      {"together", self + cross + feed_forward},
                      {"together, if each feed-forward layer counts as two", self + cross + 2 * feed_forward}}});
  out.say(
      "6 encoder layers of 2 sublayers and 6 decoder layers of 3 are 30 sublayers, each with a residual connection and "
      "a norm. The lectures say 42: that counts the two matrices of each feed-forward layer as two sublayers.");
}

}  // namespace

WorkedExample explain_parameters(const TopicOptions&) {
  WorkedExample out{"parameters", "The parameters of the base Transformer (Vaswani et al. 2017)"};
  const BlockConfig block{
      .dim = 512, .heads = 8, .ff_dim = 2048, .norm = NormPlace::post, .activation = ActivationKind::relu};
  const TransformerConfig config{.source_vocab = 37000, .target_vocab = 37000, .block = block};
  const ShapesOnly shapes;
  const Transformer model(config);
  const auto count = [&](const std::string& prefix) { return model.parameter_count(prefix); };
  const std::string encoder = "encoder.blocks.0.", decoder = "decoder.blocks.0.";
  out.say("6 + 6 layers, d = 512, 8 heads, a feed-forward layer of 2048, a joint vocabulary of 37,000 tokens, biases.");
  CellTable table{"parameters", {"part", "formula", "parameters"}, {}};
  const std::int64_t up = count(encoder + "feed_forward.up.weight"), down = count(encoder + "feed_forward.down.weight");
  table.rows = {{"W_Q", "d·d", query_weights(model, encoder + "attention.qkv.weight")},
                {"W_Q, W_K, W_V of all heads", "3 d·d", count(encoder + "attention.qkv.weight")},
                {"attention, with W_O and biases", "4 d·d + 4 d", count(encoder + "attention.")},
                {"weights of the feed-forward layer", "2 d·f", up + down},
                {"feed-forward layer, with biases", "2 d·f + f + d", count(encoder + "feed_forward.")},
                {"a norm", "2 d", count(encoder + "attention_norm.")},
                {"encoder layer", "attention + FFN + 2 norms", count(encoder)},
                {"cross-attention", "4 d·d + 4 d", count(decoder + "cross_attention.")},
                {"decoder layer", "2 attentions + FFN + 3 norms", count(decoder)},
                {"encoder", "6 layers", count("encoder.")},
                {"decoder", "6 layers", count("decoder.")},
                {"embeddings, which are also the head", "V·d", count("source_embedding.")},
                {"together", "", count("")}};
  out.show(std::move(table));
  out.say("The paper rounds the sum to 65 million.");
  show_sublayers(out, model);
  return out;
}

namespace {

// Returns the ids of one document: a cache does not hold the beginning of another one.
Variable ids_on(Tape& tape, const CausalModel& model, std::int64_t first, std::int64_t count) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t id = (first + i) * 31 % model.vocab();
    ids.push_back(static_cast<std::int32_t>(id == model.document_token() ? (id + 1) % model.vocab() : id));
  }
  return Variable::constant(tape, Tensor::from(std::span<const std::int32_t>(ids), {1, count}));
}

template <class F>
double milliseconds(const F& f) {
  const double begin = steady_seconds();
  f();
  return 1000 * (steady_seconds() - begin);
}

constexpr std::int64_t kShortest = 8;  // the smallest number of tokens before a timed token
constexpr std::int64_t kTimed = 5;     // each time is the median of so many calls

// The median time of kTimed calls, in ms.
template <class F>
double median_milliseconds(const F& f) {
  std::vector<double> times;
  for (std::int64_t i = 0; i < kTimed; ++i) times.push_back(milliseconds(f));
  std::ranges::sort(times);
  return times[kTimed / 2];
}

std::int64_t bytes_of(const Cache& cache) {
  std::int64_t bytes = 0;
  for (const auto& [name, tensor] : cache.tensors()) bytes += tensor.bytes();
  return bytes;
}

// Returns the logits of the token after the last of `count` ids.
Variable next_logits(const CausalModel& model, const Variable& ids, Cache* cache) {
  const Variable features = model.forward(ids, cache);
  return model.logits(slice(features, 1, features.size(1) - 1, features.size(1)));
}

void measure_cache(WorkedExample& out, const CausalModel& model, std::int64_t longest) {
  CellTable table{"a token", {"tokens before it", "bytes of the cache", "ms with the cache", "ms without"}, {}};
  Curves curves{"ms a token", "tokens before it", {}, {{"with the cache", {}}, {"without", {}}}};
  if (kShortest + kTimed > longest) {
    fail_usage("explain kv-cache: --run: expected a context of at least ", kShortest + kTimed, " tokens, got ",
               longest);
  }
  for (std::int64_t length = kShortest; length + kTimed <= longest; length *= 2) {
    Tape tape(no_grad);
    const std::unique_ptr<Cache> cache = model.make_cache();
    (void)next_logits(model, ids_on(tape, model, 0, length), cache.get());
    const std::int64_t bytes = bytes_of(*cache);
    std::int64_t at = length;
    const double with =
        median_milliseconds([&] { (void)next_logits(model, ids_on(tape, model, at++, 1), cache.get()); });
    const Variable all = ids_on(tape, model, 0, length + 1);
    const double without = median_milliseconds([&] { (void)next_logits(model, all, nullptr); });
    table.rows.push_back({length, bytes, with, without});
    curves.x.push_back(static_cast<double>(length));
    curves.curves[0].y.push_back(with), curves.curves[1].y.push_back(without);
  }
  out.show(std::move(table));
  out.show(std::move(curves));
  out.say(
      "With the cache, a token reads the keys and values of those before it. Without, all are computed again. A "
      "recurrent model keeps a state instead, whose size does not depend on the length.");
  Tape tape(no_grad);
  const std::int64_t length = std::min<std::int64_t>(longest, 32);
  const std::unique_ptr<Cache> cache = model.make_cache();
  (void)next_logits(model, ids_on(tape, model, 0, length - 1), cache.get());
  const Variable with = next_logits(model, ids_on(tape, model, length - 1, 1), cache.get());
  const Variable without = next_logits(model, ids_on(tape, model, 0, length), nullptr);
  out.show_difference("logits with the cache and without", with.value(), without.value());
}

}  // namespace

WorkedExample explain_kv_cache(const TopicOptions& options) {
  WorkedExample out{"kv-cache", "The cache of keys and values"};
  out.formula("bytes = 2 (keys and values) · layers · heads of keys · d_head · tokens · bytes of a number");
  if (options.has("run")) {
    const std::string path = options.text("run", "");
    const auto run = load_run<TrainedLanguageModel>(RunSelection(path));
    const kernels::MatmulPrecisionScope precision(run.matmul);
    out.say("The model of " + path + ".");
    constexpr std::int64_t kLongest = 1024;
    measure_cache(out, *run.model, std::min(run.model->context().value_or(kLongest), kLongest));
    return out;
  }
  const GptConfig config{.vocab = 512, .context = 600, .layers = 4, .block = {.dim = 128, .heads = 4, .ff_dim = 512}};
  const Gpt model(config);
  model.initialize_parameters(1);
  out.say("A gpt of 4 layers, 4 heads and 128 wide: 2 · 4 · 4 · 32 · 4 = 4,096 bytes a token. On this machine:");
  measure_cache(out, model, config.context);
  return out;
}

}  // namespace tapeformer::explain
