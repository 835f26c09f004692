#include "nn/models/rnn_seq2seq.h"

#include "autograd/ops/activations.h"
#include "autograd/ops/views.h"
#include "autograd/tape/tape.h"
#include "nn/models/shared/recurrent_keys.h"

namespace tapeformer {

RnnSeq2Seq::RnnSeq2Seq(const RnnSeq2SeqConfig& config)
    : Seq2SeqModel({.source_vocab = config.source_vocab,
                    .target_vocab = config.target_vocab,
                    .dim = config.stack.input_dim,
                    .tied = config.tied,
                    .source_init = embedding_init(config.tied == TiedEmbeddings::all, config.stack.input_dim),
                    .target_init = embedding_init(config.tied == TiedEmbeddings::output, config.stack.input_dim),
                    .dtype = config.stack.dtype},
                   {.with_bias = true, .init = Init::uniform_fan_in(config.stack.input_dim)}),
      config_(config),
      dropout_(config.stack.dropout),
      encoder_(config.stack, config.encoder),
      decoder_({config.stack, config.score, config.order}) {
  const RecurrentConfig& stack = config.stack;
  register_module("", embeddings_);
  register_module("encoder", encoder_);
  for (std::int64_t i = 0; config.encoder == EncoderKind::bidirectional && i < stack.layers; ++i) {
    bridges_.push_back(
        std::make_unique<Linear>(stack.dim / 2, stack.dim, /*with_bias=*/false, Init::xavier_uniform(), stack.dtype));
    register_module(str_cat("decoder.bridges.", i), *bridges_.back());
  }
  register_module("decoder", decoder_);
  register_module("head", head_);
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

Variable RnnSeq2Seq::readouts(const Variable& ids, const EncoderOutput& source, Cache* cache) const {
  check(ids.value().rank() == 2 && ids.size(1) > 0, "rnn_seq2seq: expected target ids (R, T), got ", ids.sizes());
  return call([&] { return decoder_.forward(embeddings_.target.forward(transpose(ids, 0, 1)), source, cache); });
}

Variable RnnSeq2Seq::decode(const Variable& ids, const EncoderOutput& source, Cache* cache) const {
  return transpose(readouts(ids, source, cache), 0, 1);
}

Variable RnnSeq2Seq::loss(const SourceBatch& source, const Variable& inputs, const Variable& targets,
                          const CrossEntropyOptions& options) const {
  const EncoderOutput encoded = encode(*inputs.tape(), source);
  const Variable features = readouts(inputs, encoded, nullptr);
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
          {"layers", std::int64_t{1}, "layers of the encoder, and of the decoder", between(1, kMaxLayers)},
          {"dim", std::int64_t{256}, "width of a layer's state", size},
          embedding_dim_key(),
          word_key("attention", AttentionScore::additive, "how the decoder's state scores the encoder's states"),
          word_key("order", AttentionOrder::previous, "the state of the decoder that attends"),
          std::move(encoder),
          pair_tied_key(),
          std::move(dropout),
          forget_bias_key()};
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
