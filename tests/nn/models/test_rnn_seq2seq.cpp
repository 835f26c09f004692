// The recurrent encoder-decoder: what padding may not do, its state, its gradients, its attention and what it refuses.
#include <numeric>

#include "autograd/tensor/allocator.h"
#include "nn/optim/optimizers.h"
#include "tests/nn/encoder_decoders.h"

using namespace tapeformer;

namespace {

// The weights that a model shows while it decodes.
Tensor shown_weights(const EncoderDecoder& model, const SourceBatch& source, const Tensor& inputs) {
  std::vector<Tensor> shown;
  const TensorObserver observer = [&](std::string_view name, const std::function<Tensor()>& tensor) {
    if (name == kCrossAttentionWeights) shown.push_back(tensor());
  };
  Tape tape({.record = false, .observer = &observer});
  const EncoderOutput encoded = model.encode(tape, source);
  model.decode(Variable::constant(tape, inputs), encoded);
  REQUIRE(shown.size() == 1);
  return shown[0];
}

}  // namespace

TEST_CASE("rnn_seq2seq: a target's token reaches its own place and the later ones, a source's all, padding none") {
  for (const RnnSeq2SeqConfig& config : rnn_seq2seq_architectures()) {
    CAPTURE(name_of(config));
    const RnnSeq2Seq model(config);
    randomize(model);
    const PairBatch batch = batch_of(config, random_pairs(config, kSourceLengths, kTargetLengths), 9, 8);
    const Tensor before = logits_of(model, batch.source, batch.inputs);
    for (const std::int64_t place : {0, 3, 7}) {
      CAPTURE(place);
      const Tensor after = logits_of(model, batch.source, with_changed_id(batch.inputs, 1, place, 13));
      for (std::int64_t row = 0; row < 4; ++row) {
        for (std::int64_t t = 0; t < 8; ++t) {
          CHECK(same_bits(part(after, row, t, t + 1), part(before, row, t, t + 1)) == (row != 1 || t < place));
        }
      }
    }
    for (const std::int64_t place : {0, 3, 4, 8}) {  // row 1 has four tokens
      CAPTURE(place);
      const Tensor after =
          logits_of(model, {with_changed_id(batch.source.ids, 1, place, 13), batch.source.lengths}, batch.inputs);
      for (std::int64_t row = 0; row < 4; ++row) {
        for (std::int64_t t = 0; t < 8; ++t) {
          CHECK(same_bits(part(after, row, t, t + 1), part(before, row, t, t + 1)) == (row != 1 || place >= 4));
        }
      }
    }
  }
}

TEST_CASE(
    "rnn_seq2seq: with a cache, pieces of any lengths give the logits of the whole target, for every hypothesis") {
  constexpr std::int64_t kRows = 6, kLength = 8;
  const std::int64_t source_lengths[] = {9, 4}, target_lengths[] = {1, 1};
  const std::vector<std::int64_t> sentence{0, 0, 0, 1, 1, 1};
  for (const auto& [dtype, tolerance] : {std::pair{DType::f64, 1e-12}, {DType::f32, 1e-5}}) {
    for (const RnnSeq2SeqConfig& config : rnn_seq2seq_architectures(dtype)) {
      CAPTURE(name_of(config));
      const RnnSeq2Seq model(config);
      randomize(model);
      const SourceBatch source = batch_of(config, random_pairs(config, source_lengths, target_lengths), 9, 1).source;
      const auto logits_for = [&](const Tensor& ids) {
        return logits_of(model, {select_rows(source.ids, sentence), select_rows(source.lengths, sentence)}, ids);
      };
      Tensor ids = ids_tensor(random_ids(kRows * kLength, 17, 2), {kRows, kLength});
      const Tensor expected = logits_for(ids);
      CHECK(distance(logits_of(model, source, ids), expected) < tolerance);

      Tape tape(no_grad);
      EncoderOutput encoded = model.encode(tape, source);
      const auto cache = model.make_cache(kLength, 9);
      const auto piece = [&](std::int64_t begin, std::int64_t end) {
        const Variable part = Variable::constant(tape, ids.slice(1, begin, end).contiguous());
        return model.logits(model.decode(part, encoded, cache.get())).value();
      };
      CHECK(distance(piece(0, 3), expected.slice(1, 0, 3)) < tolerance);
      CHECK(distance(piece(3, 4), expected.slice(1, 3, 4)) < tolerance);

      const std::int64_t order[] = {2, 0, 2, 5, 5, 3};  // within each sentence
      cache->select(order);
      ids = select_rows(ids, order);
      const Tensor reordered = logits_for(ids);
      CHECK(distance(piece(4, 6), reordered.slice(1, 4, 6)) < tolerance);

      const std::int64_t kept_rows[] = {3, 4, 5}, kept_sentence[] = {1};
      cache->select(kept_rows);
      encoded = select_rows(encoded, kept_sentence);
      ids = select_rows(ids, kept_rows);
      CHECK(distance(piece(6, kLength), select_rows(reordered, kept_rows).slice(1, 6, kLength)) < tolerance);
    }
  }
}

TEST_CASE("rnn_seq2seq: the attention shows its weights, which sum to 1 and leave padding out") {
  for (const RnnSeq2SeqConfig& config : rnn_seq2seq_architectures()) {
    if (config.score == AttentionScore::none) continue;
    CAPTURE(name_of(config));
    const RnnSeq2Seq model(config);
    randomize(model);
    const PairBatch batch = batch_of(config, random_pairs(config, kSourceLengths, kTargetLengths), 9, 8);
    const Tensor weights = shown_weights(model, batch.source, batch.inputs);
    REQUIRE(weights.sizes() == Dims{4, 1, 8, 9});
    for (std::int64_t row = 0; row < 4; ++row) {
      for (std::int64_t t = 0; t < 8; ++t) {
        const std::vector<double> at = values_of(part(weights.reshape({4, 8, 9}), row, t, t + 1));
        CHECK(std::accumulate(at.begin(), at.end(), 0.0) == doctest::Approx(1).epsilon(1e-14));
        for (std::int64_t i = kSourceLengths[row]; i < 9; ++i) CHECK(at[i] == 0);
      }
    }
  }
}

TEST_CASE("rnn_seq2seq: parameters are those of the papers' formulas, with half of the width in each direction") {
  RnnSeq2SeqConfig config = small_rnn_seq2seq(AttentionScore::additive, AttentionOrder::previous);
  config.tied = TiedEmbeddings::none;
  const RnnSeq2Seq model(config);
  CHECK(model.parameter_count("source_embedding.") == 17 * 6);
  CHECK(model.parameter_count("encoder.") == 2 * 3 * (6 * 4 + 4 * 4 + 2 * 4));
  CHECK(model.parameter_count("decoder.bridges.") == 4 * 8);
  CHECK(model.parameter_count("decoder.attention.") == 2 * 8 * 8 + 8);
  CHECK(model.parameter_count("decoder.layers.") == 3 * ((6 + 8) * 8 + 8 * 8 + 2 * 8));
  CHECK(model.parameter_count("decoder.readout.") == 6 * (8 + 6 + 8) + 6);
  CHECK(model.parameter_count("head.") == 17 * 6 + 17);
  CHECK_FALSE(model.context().has_value());

  config.order = AttentionOrder::current, config.encoder = EncoderKind::forward;
  config.score = AttentionScore::dot;
  const RnnSeq2Seq luong(config);
  CHECK(luong.parameter_count("encoder.") == 3 * (6 * 8 + 8 * 8 + 2 * 8));
  CHECK(luong.parameter_count("decoder.bridges.") + luong.parameter_count("decoder.attention.") == 0);
  CHECK(luong.parameter_count("decoder.layers.") == 3 * ((6 + 6) * 8 + 8 * 8 + 2 * 8));
  CHECK(luong.parameter_count("decoder.readout.") == 6 * (8 + 8) + 6);
}

TEST_CASE("rnn_seq2seq: dropout is the same for the same step, different for the next, and off in evaluation") {
  for (RnnSeq2SeqConfig config : rnn_seq2seq_architectures()) {
    CAPTURE(name_of(config));
    const RnnSeq2Seq plain(config);
    config.stack.dropout = 0.5;
    const RnnSeq2Seq dropping(config);
    randomize(dropping), randomize(plain);
    const PairBatch batch = batch_of(config, random_pairs(config, kSourceLengths, kTargetLengths), 9, 8);
    const auto loss = [&](std::uint32_t step) {
      return add_gradients(dropping, batch, {}, {.training = true, .random = {.step = step}});
    };
    CHECK(loss(1) == loss(1));
    CHECK(loss(1) != loss(2));
    CHECK(add_gradients(dropping, batch) == add_gradients(plain, batch));
  }
}

TEST_CASE("rnn_seq2seq: a training loop asks the system for nothing after its first step") {
  for (RnnSeq2SeqConfig config : rnn_seq2seq_architectures(DType::f32)) {
    CAPTURE(name_of(config));
    config.stack.dropout = 0.2;
    release_cached_memory();
    const RnnSeq2Seq model(config);
    model.initialize_parameters(1);
    const ParameterSlab slab(model);
    const auto optimizer = make_optimizer("adamw", slab, {{"weight_decay", 0.1}, {"clip", 1.0}});
    const PairBatch batch = full_batch(config, 6, 7, 8);
    reset_peak_memory();
    MemoryStats first;
    for (std::uint32_t number = 1; number <= 5; ++number) {
      slab.zero_grad();
      add_gradients(model, batch, {}, {.training = true, .random = {.step = number}});
      CHECK(std::isfinite(optimizer->step(1e-3, number)));
      if (number == 1) first = memory_stats();
      CHECK(memory_stats().system_requests == first.system_requests);
      CHECK(memory_stats().in_use == first.in_use);
      CHECK(memory_stats().peak == first.peak);
    }
  }
}

TEST_CASE("rnn_seq2seq: what does not fit is refused") {
  RnnSeq2SeqConfig config = small_rnn_seq2seq(AttentionScore::additive, AttentionOrder::previous);
  config.stack.dim = 7;
  CHECK_THROWS_WITH_AS(RnnSeq2Seq{config},
                       "recurrent encoder: dim is 7: expected an even width, half of it for each direction", Error);
  config.stack.dim = 8, config.source_vocab = 13;
  CHECK_THROWS_WITH_AS(RnnSeq2Seq{config},
                       "model.tie_embeddings: all needs one vocabulary, the source's has 13 tokens, the target's 17",
                       UsageError);
  config.source_vocab = 17;
  const RnnSeq2Seq model(config);
  randomize(model);
  const PairBatch batch = full_batch(config, 2, 3, 4);
  const auto decode = [&](std::int64_t rows, const EncoderDecoder& states_of, const TapeOptions& options) {
    Tape tape(options);
    const auto cache = states_of.make_cache(4, 3);
    model.decode(Variable::constant(tape, Tensor::zeros({rows, 1}, DType::i32)), model.encode(tape, batch.source),
                 cache.get());
  };
  CHECK_THROWS_WITH_AS(decode(3, model, no_grad), "recurrent decoder: 3 rows cannot share 2 encoded ones", Error);
  CHECK_THROWS_WITH_AS(decode(2, model, {}), "recurrent decoder: a cache works without recording only", Error);
  CHECK_THROWS_WITH_AS(decode(2, Transformer(small_transformer()), no_grad),
                       "recurrent decoder: the cache is another model's", Error);
}
