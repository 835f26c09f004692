// The recurrent encoder-decoder: what padding may not do, its state, its gradients, its attention and what it refuses.
#include "nn/models/rnn_seq2seq.h"

#include <numeric>

#include "autograd/tensor/allocator.h"
#include "nn/optim/optimizers.h"
#include "tests/nn/transformer_support.h"

using namespace tapeformer;

namespace {

constexpr std::int64_t kSourceLengths[] = {9, 4, 1, 6}, kTargetLengths[] = {3, 8, 5, 1};  // 17 targets

RnnSeq2SeqConfig small_config(AttentionScore score, AttentionOrder order, DType dtype = DType::f64) {
  return {.source_vocab = 17,
          .target_vocab = 17,
          .stack = {.cell = CellKind::gru, .input_dim = 6, .dim = 8, .dtype = dtype},
          .score = score,
          .order = order};
}

// Every score in both orders, and among them every cell, direction, depth and way of tying.
std::vector<RnnSeq2SeqConfig> all_configs(DType dtype = DType::f64) {
  std::vector<RnnSeq2SeqConfig> configs;
  for (const AttentionOrder order : {AttentionOrder::previous, AttentionOrder::current}) {
    for (const AttentionScore score :
         {AttentionScore::none, AttentionScore::dot, AttentionScore::bilinear, AttentionScore::additive}) {
      const std::size_t i = configs.size();
      RnnSeq2SeqConfig config = small_config(score, order, dtype);
      config.stack.cell = i % 3 == 0 ? CellKind::gru : i % 3 == 1 ? CellKind::lstm : CellKind::tanh;
      config.stack.layers = 1 + static_cast<std::int64_t>(i / 2 % 2);
      const bool forward = i / 2 % 3 == 0 || score == AttentionScore::none;
      config.encoder = forward ? EncoderKind::forward : EncoderKind::bidirectional;
      config.tied = i % 3 == 0 ? TiedEmbeddings::all : i % 3 == 1 ? TiedEmbeddings::output : TiedEmbeddings::none;
      if (config.tied != TiedEmbeddings::all) config.source_vocab = 13;
      configs.push_back(config);
    }
  }
  return configs;
}

std::string name_of(const RnnSeq2SeqConfig& config) {
  return str_cat(word_of(config.score), ", ", word_of(config.order), ", ", word_of(config.stack.cell), ", ",
                 config.stack.layers, " layers, ", word_of(config.encoder), ", tied ", word_of(config.tied));
}

Tensor part(const Tensor& x, std::int64_t row, std::int64_t begin, std::int64_t end) {
  return x.slice(0, row, row + 1).slice(1, begin, end).contiguous();
}

std::pair<double, Gradients> step(const EncoderDecoder& model, const PairBatch& batch, double normalizer = 0) {
  model.zero_grad();
  const double loss = add_gradients(model, batch, {.smoothing = 0.1, .normalizer = normalizer});
  return {loss, gradients_of(model)};
}

Tensor taken(const Tensor& from, std::span<const std::int64_t> rows) {
  Dims sizes = from.sizes();
  sizes[0] = std::ssize(rows);
  const Tensor to = Tensor::empty(sizes, from.dtype());
  for (std::int64_t i = 0; i < sizes[0]; ++i) to.slice(0, i, i + 1).copy_from(from.slice(0, rows[i], rows[i] + 1));
  return to;
}

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

TEST_CASE("rnn_seq2seq: a batch's loss and gradients are those of its sentences alone, whatever its padding holds") {
  for (const RnnSeq2SeqConfig& config : all_configs()) {
    CAPTURE(name_of(config));
    const RnnSeq2Seq model(config);
    randomize(model);
    const auto pairs = random_pairs(config, kSourceLengths, kTargetLengths);
    model.zero_grad();
    double expected_loss = 0;
    for (std::size_t row = 0; row < pairs.size(); ++row) {
      const PairBatch alone =
          batch_of(config, std::span(pairs).subspan(row, 1), kSourceLengths[row], kTargetLengths[row]);
      expected_loss += add_gradients(model, alone, {.smoothing = 0.1, .normalizer = 17});
    }
    const Gradients expected = gradients_of(model);
    CHECK(expected.size() == model.named_parameters().size());
    const auto [loss, gradients] = step(model, batch_of(config, pairs, 12, 11, 1));
    CHECK(loss == doctest::Approx(expected_loss).epsilon(1e-13));
    CHECK(distance(gradients, expected) < 1e-12);
    const auto [loss_again, gradients_again] = step(model, batch_of(config, pairs, 12, 11, 50));
    CHECK(loss_again == loss);
    CHECK(same_bits(gradients_again, gradients));
  }
}

TEST_CASE("rnn_seq2seq: a target's token reaches its own place and the later ones, a source's all, padding none") {
  for (const RnnSeq2SeqConfig& config : all_configs()) {
    CAPTURE(name_of(config));
    const RnnSeq2Seq model(config);
    randomize(model);
    const PairBatch batch = batch_of(config, random_pairs(config, kSourceLengths, kTargetLengths), 9, 8);
    const Tensor before = logits_of(model, batch.source, batch.inputs);
    const auto changed = [](const Tensor& ids, std::int64_t row, std::int64_t place) {
      const Tensor copy = ids.clone();
      std::int32_t& id = copy.data<std::int32_t>()[row * ids.size(1) + place];
      id = (id + 1) % 13;
      return copy;
    };
    for (const std::int64_t place : {0, 3, 7}) {
      CAPTURE(place);
      const Tensor after = logits_of(model, batch.source, changed(batch.inputs, 1, place));
      for (std::int64_t row = 0; row < 4; ++row) {
        for (std::int64_t t = 0; t < 8; ++t) {
          CHECK(same_bits(part(after, row, t, t + 1), part(before, row, t, t + 1)) == (row != 1 || t < place));
        }
      }
    }
    for (const std::int64_t place : {0, 3, 4, 8}) {  // row 1 has four tokens
      CAPTURE(place);
      const Tensor after = logits_of(model, {changed(batch.source.ids, 1, place), batch.source.lengths}, batch.inputs);
      for (std::int64_t row = 0; row < 4; ++row) {
        for (std::int64_t t = 0; t < 8; ++t) {
          CHECK(same_bits(part(after, row, t, t + 1), part(before, row, t, t + 1)) == (row != 1 || place >= 4));
        }
      }
    }
  }
}

TEST_CASE("rnn_seq2seq: two micro-steps give the loss and gradients of one step with both halves") {
  for (const RnnSeq2SeqConfig& config : all_configs()) {
    CAPTURE(name_of(config));
    const RnnSeq2Seq model(config);
    randomize(model);
    const auto pairs = random_pairs(config, kSourceLengths, kTargetLengths);
    const auto whole = step(model, batch_of(config, pairs, 9, 8));
    model.zero_grad();
    double sum = 0;
    for (const std::size_t begin : {0, 2}) {
      sum += add_gradients(model, batch_of(config, std::span(pairs).subspan(begin, 2), 9, 8),
                           {.smoothing = 0.1, .normalizer = 17});
    }
    CHECK(sum == doctest::Approx(whole.first).epsilon(1e-13));
    CHECK(distance(gradients_of(model), whole.second) < 1e-12);
  }
}

TEST_CASE("rnn_seq2seq: a row without source and targets changes neither loss nor gradients") {
  for (const RnnSeq2SeqConfig& config : all_configs()) {
    CAPTURE(name_of(config));
    const RnnSeq2Seq model(config);
    randomize(model);
    auto pairs = random_pairs(config, kSourceLengths, kTargetLengths);
    const auto expected = step(model, batch_of(config, pairs, 9, 8));
    pairs.insert(pairs.begin() + 1, SentencePair());
    const auto got = step(model, batch_of(config, pairs, 9, 8));
    CHECK(got.first == doctest::Approx(expected.first).epsilon(1e-13));
    CHECK(distance(got.second, expected.second) < 1e-12);
  }
}

TEST_CASE("rnn_seq2seq: gradients match finite differences") {
  for (const RnnSeq2SeqConfig& config : all_configs()) {
    CAPTURE(name_of(config));
    const RnnSeq2Seq model(config);
    randomize(model);
    const PairBatch batch = batch_of(config, random_pairs(config, kSourceLengths, kTargetLengths), 9, 8);
    const Gradients gradients = step(model, batch).second;
    const auto loss = [&] {
      Tape tape(no_grad);
      return model
          .loss(batch.source, Variable::constant(tape, batch.inputs), Variable::constant(tape, batch.targets),
                {.smoothing = 0.1})
          .value()
          .item();
    };
    check_gradients(model, gradients, loss, 1e-5);  // those of additive attention are small
  }
}

TEST_CASE(
    "rnn_seq2seq: with a state, pieces of any lengths give the logits of the whole target, for every hypothesis") {
  constexpr std::int64_t kRows = 6, kLength = 8;
  const std::int64_t source_lengths[] = {9, 4}, target_lengths[] = {1, 1};
  const std::vector<std::int64_t> sentence{0, 0, 0, 1, 1, 1};
  for (const auto& [dtype, tolerance] : {std::pair{DType::f64, 1e-12}, {DType::f32, 1e-5}}) {
    for (const RnnSeq2SeqConfig& config : all_configs(dtype)) {
      CAPTURE(name_of(config));
      const RnnSeq2Seq model(config);
      randomize(model);
      const SourceBatch source = batch_of(config, random_pairs(config, source_lengths, target_lengths), 9, 1).source;
      const auto logits_for = [&](const Tensor& ids) {
        return logits_of(model, {taken(source.ids, sentence), taken(source.lengths, sentence)}, ids);
      };
      Tensor ids = ids_tensor(random_ids(kRows * kLength, 17, 2), {kRows, kLength});
      const Tensor expected = logits_for(ids);
      CHECK(distance(logits_of(model, source, ids), expected) < tolerance);

      Tape tape(no_grad);
      EncoderOutput encoded = model.encode(tape, source);
      const auto state = model.make_cache(kLength, 9);
      const auto piece = [&](std::int64_t begin, std::int64_t end) {
        const Variable part = Variable::constant(tape, ids.slice(1, begin, end).contiguous());
        return model.logits(model.decode(part, encoded, state.get())).value();
      };
      CHECK(distance(piece(0, 3), expected.slice(1, 0, 3)) < tolerance);
      CHECK(distance(piece(3, 4), expected.slice(1, 3, 4)) < tolerance);

      const std::int64_t order[] = {2, 0, 2, 5, 5, 3};  // within each sentence
      state->select(order);
      ids = taken(ids, order);
      const Tensor reordered = logits_for(ids);
      CHECK(distance(piece(4, 6), reordered.slice(1, 4, 6)) < tolerance);

      const std::int64_t kept_rows[] = {3, 4, 5}, kept_sentence[] = {1};
      state->select(kept_rows);
      encoded = select_rows(encoded, kept_sentence);
      ids = taken(ids, kept_rows);
      CHECK(distance(piece(6, kLength), taken(reordered, kept_rows).slice(1, 6, kLength)) < tolerance);
    }
  }
}

TEST_CASE("rnn_seq2seq: the attention shows its weights, which sum to 1 and leave padding out") {
  for (const RnnSeq2SeqConfig& config : all_configs()) {
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
  RnnSeq2SeqConfig config = small_config(AttentionScore::additive, AttentionOrder::previous);
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
  for (RnnSeq2SeqConfig config : all_configs()) {
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
  for (RnnSeq2SeqConfig config : all_configs(DType::f32)) {
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
  RnnSeq2SeqConfig config = small_config(AttentionScore::additive, AttentionOrder::previous);
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
    const auto state = states_of.make_cache(4, 3);
    model.decode(Variable::constant(tape, Tensor::zeros({rows, 1}, DType::i32)), model.encode(tape, batch.source),
                 state.get());
  };
  CHECK_THROWS_WITH_AS(decode(3, model, no_grad), "rnn_seq2seq: 3 rows cannot share 2 encoded ones", Error);
  CHECK_THROWS_WITH_AS(decode(2, model, {}), "rnn_seq2seq: a cache works without recording only", Error);
  CHECK_THROWS_WITH_AS(decode(2, Transformer(small_transformer()), no_grad),
                       "rnn_seq2seq: the cache is another model's", Error);
}
