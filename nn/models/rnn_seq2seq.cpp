#include "nn/models/rnn_seq2seq.h"

#include <array>
#include <cmath>

#include "autograd/ops/activations.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/helpers/products.h"
#include "autograd/ops/views.h"
#include "autograd/tape/tape.h"
#include "nn/models/recurrent_keys.h"

namespace tapeformer {
namespace {

// Returns the initial values of an embedding: those of torch.nn.Embedding, or of torch.nn.Linear if it is tied to the
// head.
Init embedding_init(const RnnSeq2SeqConfig& config, bool is_head) {
  return is_head ? Init::uniform_fan_in(config.stack.input_dim) : Init::normal(1);
}

bool attends(const RnnSeq2SeqConfig& config) { return config.score != AttentionScore::none; }

// Returns the width of the input that the decoder has in addition to the embedding: the context c_t (previous), r_{t−1}
// (current), or none (0).
std::int64_t extra_width(const RnnSeq2SeqConfig& config) {
  if (!attends(config)) return 0;
  return config.order == AttentionOrder::previous ? config.stack.dim : config.stack.input_dim;
}

std::int64_t readout_input(const RnnSeq2SeqConfig& config) {
  const std::int64_t embedding = config.order == AttentionOrder::previous ? config.stack.input_dim : 0;
  return config.stack.dim + embedding + (attends(config) ? config.stack.dim : 0);
}

// Repeats each row of x (B, width) `count` times: rows i·count … (i + 1)·count − 1 of the result are row i of x.
Variable repeat_rows(const Variable& x, std::int64_t count) {
  if (count == 1) return x;
  const std::int64_t rows = x.size(0), width = x.size(1);
  return reshape(expand(reshape(x, {rows, 1, width}), {rows, count, width}), {rows * count, width});
}

// Passes the attention weights of all steps, (B, Q, S) each, to an observer as those of one head: (R, 1, T, S), R =
// B·Q.
void show_weights(const TensorObserver& observer, const std::vector<Tensor>& steps, std::int64_t rows) {
  Tape tape(no_grad);
  std::vector<Variable> times;
  for (const Tensor& step : steps) times.push_back(Variable::constant(tape, step.reshape({rows, 1, 1, step.size(2)})));
  observer(kCrossAttentionWeights, [&] { return concat(times, 2).value(); });
}

}  // namespace

// Holds the tensors of a Memory, which outlive the tape. Empty before the first token.
class RnnSeq2Seq::DecoderCache : public Cache {
 public:
  void clear() override { states_.clear(), keys_ = {}, readout_ = {}; }
  void select(std::span<const std::int64_t> rows) override {
    if (empty()) return;
    if (keys_.defined()) {
      keys_ = select_rows(keys_, selected_sources(rows, states_.layers.front().h.size(0) / keys_.size(0)));
    }
    states_.select(rows);
    if (readout_.defined()) {
      const std::int64_t width = readout_.size(2);
      readout_ = select_rows(readout_.reshape({-1, width}), rows).reshape({1, std::ssize(rows), width});
    }
  }
  NamedTensors tensors() const override {
    NamedTensors named = states_.tensors();
    if (keys_.defined()) named.emplace_back("keys", keys_);
    if (readout_.defined()) named.emplace_back("readout", readout_);
    return named;
  }

  void keep(const Memory& memory) {
    clear();
    for (const RecurrentStates& layer : memory.layers) states_.layers.push_back({layer.h.value(), layer.c.value()});
    keys_ = memory.keys.value(), readout_ = memory.readout.value();
  }
  Memory on(Tape& tape) const {
    const auto constant = [&](const Tensor& x) { return x.defined() ? Variable::constant(tape, x) : Variable(); };
    Memory memory{.layers = {}, .keys = constant(keys_), .readout = constant(readout_)};
    for (const auto& [h, c] : states_.layers) memory.layers.push_back({constant(h), constant(c)});
    return memory;
  }
  bool empty() const { return states_.layers.empty(); }

 private:
  RecurrentState states_;
  Tensor keys_, readout_;
};

RnnSeq2Seq::RnnSeq2Seq(const RnnSeq2SeqConfig& config)
    : PairModel({.source_vocab = config.source_vocab,
                 .target_vocab = config.target_vocab,
                 .dim = config.stack.input_dim,
                 .tied = config.tied,
                 .source_init = embedding_init(config, config.tied == TiedEmbeddings::all),
                 .target_init = embedding_init(config, config.tied == TiedEmbeddings::output),
                 .dtype = config.stack.dtype},
                {.with_bias = true, .init = Init::uniform_fan_in(config.stack.input_dim)}),
      config_(config),
      dropout_(config.stack.dropout),
      encoder_(config.stack, config.encoder),
      readout_(readout_input(config), config.stack.input_dim, /*with_bias=*/true, Init::xavier_uniform(),
               config.stack.dtype) {
  const RecurrentConfig& stack = config.stack;
  register_module("", embeddings_);
  register_module("encoder", encoder_);
  for (std::int64_t i = 0; config.encoder == EncoderKind::bidirectional && i < stack.layers; ++i) {
    bridges_.push_back(
        std::make_unique<Linear>(stack.dim / 2, stack.dim, /*with_bias=*/false, Init::xavier_uniform(), stack.dtype));
    register_module(str_cat("decoder.bridges.", i), *bridges_.back());
  }
  if (attends(config)) {
    attention_ = std::make_unique<RecurrentAttention>(config.score, stack.dim, stack.dtype);
    register_module("decoder.attention", *attention_);
  }
  for (std::int64_t i = 0; i < stack.layers; ++i) {
    const std::int64_t in = i == 0 ? stack.input_dim + extra_width(config) : stack.dim;
    layers_.push_back(std::make_unique<RecurrentLayer>(stack, in));
    register_module(str_cat("decoder.layers.", i), *layers_.back());
  }
  register_module("decoder.readout", readout_);
  register_module("head", head_);
}

std::unique_ptr<Cache> RnnSeq2Seq::make_cache(std::int64_t, std::int64_t) const {
  return std::make_unique<DecoderCache>();
}

Variable RnnSeq2Seq::embed_source(Tape& tape, const SourceBatch& source) const {
  check(source.ids.rank() == 2 && source.lengths.sizes() == Dims{source.ids.size(0)},
        "rnn_seq2seq: expected source ids (B, S) and lengths (B), got ", source.ids.sizes(), " and ",
        source.lengths.sizes());
  return dropout_.forward(embeddings_.source.forward(Variable::constant(tape, source.ids.transpose(0, 1))));
}

std::vector<Variable> RnnSeq2Seq::hidden_states(const Batch& batch) const {
  const Variable& ids = only_ids(batch, "rnn_seq2seq");
  const SourceBatch source{ids.value(), batch.row_lengths()};
  const Variable x = embed_source(*ids.tape(), source);
  std::vector<Variable> layers{transpose(x, 0, 1)};
  encoder_.forward(x, source.lengths, &layers);
  return layers;
}

EncoderOutput RnnSeq2Seq::encode(Tape& tape, const SourceBatch& source) const {
  const RecurrentEncoder::Result result = encoder_.forward(embed_source(tape, source), source.lengths);
  EncoderOutput encoded{result.hidden, source.lengths};
  for (std::size_t i = 0; i < result.last.size(); ++i) {
    RecurrentStates start = result.last[i];
    if (!bridges_.empty()) {
      start.h = tanh(bridges_[i]->forward(start.h));
      if (start.c.defined()) start.c = start.h;
    }
    encoded.initial.push_back(start.h);
    if (start.c.defined()) encoded.initial.push_back(start.c);
  }
  return encoded;
}

RnnSeq2Seq::Memory RnnSeq2Seq::begin(std::int64_t rows, const EncoderOutput& source) const {
  const std::int64_t batch = source.hidden.size(0);
  const std::size_t each = config_.stack.cell == CellKind::lstm ? 2 : 1;
  check(source.initial.size() == each * layers_.size(), "rnn_seq2seq: the encoder's output has ", source.initial.size(),
        " initial states, expected ", each * layers_.size());
  check(rows % batch == 0, "rnn_seq2seq: ", rows, " rows cannot share ", batch, " encoded ones");
  Memory memory;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const auto initial = [&](std::size_t k) { return repeat_rows(source.initial[each * i + k], rows / batch); };
    memory.layers.push_back({initial(0), each == 2 ? initial(1) : Variable()});
  }
  if (attention_) memory.keys = attention_->keys(source.hidden);
  if (feeds()) {
    memory.readout = Variable::constant(*source.hidden.tape(),
                                        Tensor::zeros({1, rows, config_.stack.input_dim}, config_.stack.dtype));
  }
  return memory;
}

Variable RnnSeq2Seq::attend(const Variable& states, const Variable& keys, const EncoderOutput& source,
                            std::vector<Tensor>* weights) const {
  // The rows that attend to the same source are joined into one sequence of queries.
  const Variable queries = reshape(states, {source.hidden.size(0), -1, config_.stack.dim});
  if (weights) weights->emplace_back();
  const Variable contexts = attention_->forward(queries, keys, source, weights ? &weights->back() : nullptr);
  return reshape(contexts, {1, -1, config_.stack.dim});
}

Variable RnnSeq2Seq::run_layers(const Variable& input, Memory& memory) const {
  Variable states;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const RecurrentLayer& layer = *layers_[i];
    RecurrentStates& before = memory.layers[i];
    const RecurrentStates after =
        i == 0 ? layer.forward_input(input, before) : layer.forward(dropout_.forward(states), before);
    before = states_at(after, after.h.size(0) - 1);
    states = after.h;
  }
  return states;
}

Variable RnnSeq2Seq::readouts(const Variable& ids, const EncoderOutput& source, Memory& memory) const {
  const bool previous = config_.order == AttentionOrder::previous;
  const RecurrentLayer& first = *layers_.front();
  Tape& tape = *ids.tape();
  const Variable x = dropout_.forward(embeddings_.target.forward(transpose(ids, 0, 1)));  // (T, R, embedding)
  const auto readout = [&](std::vector<Variable> parts) { return tanh(readout_.forward(concat(parts, -1))); };
  if (!attention_) {  // all steps are computed at once
    std::vector<Variable> parts{run_layers(linear(x, first.weight_ih, first.bias_ih), memory)};
    if (previous) parts.push_back(x);
    return dropout_.forward(readout(std::move(parts)));
  }

  // The product of the first layer has two parts: one product for the embeddings of all steps, and one product per step
  // for the other input.
  const std::vector<Variable> weights =
      split(first.weight_ih.on(tape), std::array{config_.stack.input_dim, extra_width(config_)}, 1);
  const Variable inputs = linear(x, weights[0], first.bias_ih);
  std::vector<Tensor> observed;
  std::vector<Tensor>* const seen = tape.options().observer ? &observed : nullptr;
  std::vector<Variable> states, contexts, fed;
  for (const Variable& input : split(inputs, std::vector<std::int64_t>(x.size(0), 1), 0)) {
    if (previous) contexts.push_back(attend(memory.layers.back().h, memory.keys, source, seen));
    const Variable& extra = previous ? contexts.back() : memory.readout;
    states.push_back(run_layers(add(input, linear(extra, weights[1], {})), memory));
    if (previous) continue;
    memory.readout = readout({states.back(), attend(states.back(), memory.keys, source, seen)});
    fed.push_back(memory.readout);
  }
  if (seen) show_weights(*tape.options().observer, observed, x.size(1));
  return dropout_.forward(previous ? readout({concat(states, 0), x, concat(contexts, 0)}) : concat(fed, 0));
}

Variable RnnSeq2Seq::decode(const Variable& ids, const EncoderOutput& source, Cache* cache) const {
  auto* const own = own_cache<DecoderCache>(cache, "rnn_seq2seq");
  check(ids.value().rank() == 2 && ids.size(1) > 0, "rnn_seq2seq: expected target ids (R, T), got ", ids.sizes());
  check(!own || !ids.tape()->options().record, "rnn_seq2seq: a cache works without recording only");
  Memory memory = own && !own->empty() ? own->on(*ids.tape()) : begin(ids.size(0), source);
  const Variable features = call([&] { return readouts(ids, source, memory); });
  if (own) own->keep(memory);
  return transpose(features, 0, 1);
}

Variable RnnSeq2Seq::loss(const SourceBatch& source, const Variable& inputs, const Variable& targets,
                          const CrossEntropyOptions& options) const {
  const EncoderOutput encoded = encode(*inputs.tape(), source);
  Memory memory = begin(inputs.size(0), encoded);
  const Variable features = call([&] { return readouts(inputs, encoded, memory); });
  return head_.loss(features, targets.value().transpose(0, 1), options);  // time is the first axis of the features
}

namespace {

std::vector<Key> rnn_seq2seq_keys() {
  const KeyRange size = between(1, kMaxSize);
  Key encoder =
      word_key("encoder", EncoderKind::bidirectional,
               "how the encoder reads (auto = bidirectional for attention in the order previous, else forward)");
  std::get<std::vector<std::string>>(encoder.allowed).push_back("auto");
  encoder.default_value = std::string("auto");
  encoder.follows = "model.order";
  Key dropout{"dropout", 0.0, "probability of dropping an element of embeddings, between layers and of the output",
              fraction()};
  dropout.may_change = true;
  return {word_key("cell", CellKind::gru, "the recurrent cell"),
          {"layers", std::int64_t{1}, "layers of the encoder, and of the decoder", size},
          {"dim", std::int64_t{256}, "width of a layer's state", size},
          embedding_dim_key(),
          word_key("attention", AttentionScore::additive, "how the decoder's state scores the encoder's states"),
          word_key("order", AttentionOrder::previous, "the state of the decoder that attends"),
          std::move(encoder),
          pair_tied_key(),
          std::move(dropout),
          {"forget_bias", 1.0, "added to the initial bias of an LSTM's forget gate"}};
}

void resolve_rnn_seq2seq(KeyValues& options, bool joint) {
  if (options.integer("embedding_dim") == 0) options.set("embedding_dim", options.integer("dim"));
  resolve_pair_tied(options, joint);
  const bool attends = options.word<AttentionScore>("attention") != AttentionScore::none;
  if (options.text("encoder") == "auto") {
    const bool both = attends && options.word<AttentionOrder>("order") == AttentionOrder::previous;
    options.set("encoder", word_of(both ? EncoderKind::bidirectional : EncoderKind::forward));
  }
  if (options.word<EncoderKind>("encoder") != EncoderKind::bidirectional) return;
  if (!attends) {
    fail_usage(
        "model.encoder: expected forward for model.attention = none, which reads no states of both directions, "
        "got bidirectional");
  }
  if (options.integer("dim") % 2 != 0) {
    fail_usage("model.dim: expected an even width for a bidirectional encoder, got ", options.integer("dim"));
  }
}

std::unique_ptr<EncoderDecoder> make_rnn_seq2seq(const KeyValues& options, const ModelVocabulary& vocabulary) {
  return std::make_unique<RnnSeq2Seq>(RnnSeq2SeqConfig{.source_vocab = vocabulary.source,
                                                       .target_vocab = vocabulary.target,
                                                       .stack = recurrent_config(options),
                                                       .score = options.word<AttentionScore>("attention"),
                                                       .order = options.word<AttentionOrder>("order"),
                                                       .encoder = options.word<EncoderKind>("encoder"),
                                                       .tied = options.word<TiedEmbeddings>("tie_embeddings")});
}

// A product costs two operations per weight. If there are as many source tokens as target tokens, attention to T tokens
// costs 4·T·dim for the scores and the contexts.
ForwardFlops rnn_seq2seq_flops(const KeyValues& options, const Module& model, const ModelVocabulary& vocabulary,
                               std::int64_t length) {
  const std::int64_t weights = model.parameter_count("encoder.") + model.parameter_count("decoder.");
  const bool attends = options.word<AttentionScore>("attention") != AttentionScore::none;
  const std::int64_t attention = attends ? 4 * length * options.integer("dim") : 0;
  return {.other =
              static_cast<double>(2 * (weights + vocabulary.target * options.integer("embedding_dim")) + attention)};
}

}  // namespace

ModelFamily rnn_seq2seq_family() {
  return {.name = "rnn_seq2seq",
          .help = "recurrent encoder-decoder with attention (Bahdanau et al. 2015, Luong et al. 2015)",
          .task = "translation",
          .keys = rnn_seq2seq_keys(),
          .resolve = resolve_rnn_seq2seq,
          .make = EncoderDecoderMaker(make_rnn_seq2seq),
          .parts = {{"embeddings", "embeddings", {"source_embedding.", "target_embedding."}},
                    {"encoder", "encoder", {"encoder."}},
                    {"decoder", "decoder", {"decoder."}},
                    {"head", "head", {"head."}}},
          .flops = rnn_seq2seq_flops};
}

}  // namespace tapeformer
