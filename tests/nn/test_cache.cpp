// Caches of models that predict the next token: the logits of the full forward pass, a piece at a time.
#include "nn/models/nplm.h"
#include "nn/models/rnn.h"
#include "tests/nn/support.h"

using namespace tapeformer;

namespace {

// Logits of all positions, from pieces of the given lengths that follow each other.
Tensor logits_in_pieces(const CausalModel& model, const Tensor& ids, std::span<const std::int64_t> lengths,
                        Cache& cache) {
  const DType dtype = model.named_parameters().front().variable.value().dtype();
  const Tensor logits = Tensor::empty({ids.size(0), ids.size(1), model.vocab()}, dtype);
  std::int64_t begin = 0;
  for (std::int64_t length : lengths) {
    Tape tape(no_grad);
    const Variable piece = Variable::constant(tape, ids.slice(1, begin, begin + length).contiguous());
    logits.slice(1, begin, begin + length).copy_from(model.logits(model.forward(piece, &cache)).value());
    begin += length;
  }
  REQUIRE(begin == ids.size(1));
  return logits;
}

const std::vector<std::vector<std::int64_t>> kPieces = {
    {12},                      // all at once
    {5, 1, 1, 1, 1, 1, 1, 1},  // a prompt, then token by token
    {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
    {4, 4, 4},
    {1, 7, 2, 1, 1},
};

Tensor part(std::int64_t batch, std::int64_t length, double value = 1) {
  return Tensor::full({batch, 2, length, 3}, DType::f64, value);
}

// A model of every family that predicts the next token.
std::vector<std::unique_ptr<CausalModel>> causal_models(DType dtype) {
  std::vector<std::unique_ptr<CausalModel>> models;
  for (const GptConfig& config : architectures(dtype)) models.push_back(std::make_unique<Gpt>(config));
  for (const CellKind cell : {CellKind::lstm, CellKind::gru, CellKind::tanh}) {
    const RecurrentConfig stack{.cell = cell, .layers = 2, .input_dim = 6, .dim = 9, .dtype = dtype};
    models.push_back(std::make_unique<Rnn>(RnnConfig{.vocab = 17, .stack = stack}));
  }
  models.push_back(
      std::make_unique<Nplm>(NplmConfig{.vocab = 17, .order = 4, .embedding_dim = 4, .dim = 6, .dtype = dtype}));
  for (const auto& model : models) randomize(*model);
  return models;
}

}  // namespace

TEST_CASE("cache: select takes rows in any order, often or not at all, of every model that predicts the next token") {
  for (const auto& [dtype, tolerance] : {std::pair{DType::f64, 1e-12}, {DType::f32, 1e-5}}) {
    for (const auto& model : causal_models(dtype)) {
      Tensor ids = ids_tensor(random_ids(3 * 12, 17, 1), {3, 12});
      const std::unique_ptr<Cache> cache = model->make_cache();
      const std::int64_t anything[] = {5, 9};
      cache->select(anything);  // nothing was read
      CHECK(cache->tensors().empty());
      const std::int64_t first[] = {3, 1};
      logits_in_pieces(*model, ids.slice(1, 0, 4), first, *cache);
      for (const std::vector<std::int64_t>& rows : {std::vector<std::int64_t>{2, 0, 2, 2}, {0, 1, 2, 3}, {3, 1}}) {
        cache->select(rows);
        ids = select_rows(ids, rows);
        REQUIRE_FALSE(cache->tensors().empty());
        for (const auto& [name, tensor] : cache->tensors()) CHECK(tensor.size(0) == std::ssize(rows));
      }
      const std::int64_t rest[] = {1, 5, 2};
      const Tensor expected = logits_of(*model, ids).slice(1, 4, 12);
      CHECK(distance(logits_in_pieces(*model, ids.slice(1, 4, 12), rest, *cache), expected) < tolerance);
      CHECK_THROWS_WITH_AS(cache->select(anything), "select: expected rows from 0 to 1, got 5", Error);
      cache->clear();
      CHECK(cache->tensors().empty());
    }
  }
}

TEST_CASE("cache: select copies rows of any type, and takes all rows in their order as they are") {
  const Tensor x = ids_tensor(random_ids(12, 17, 3), {3, 2, 2});
  const std::int64_t rows[] = {2, 2}, all[] = {0, 1, 2}, below[] = {-1};
  const Tensor selected = select_rows(x, rows);
  CHECK(selected.sizes() == Dims{2, 2, 2});
  for (const std::int64_t i : {0, 1}) CHECK(same_bits(selected.slice(0, i, i + 1), x.slice(0, 2, 3)));
  CHECK(select_rows(x, all).shares_storage_with(x));
  CHECK_FALSE(selected.shares_storage_with(x));
  CHECK_THROWS_WITH_AS(select_rows(x, below), "select: expected rows from 0 to 2, got -1", Error);
}

TEST_CASE("cache: one of another model or stack is refused") {
  const Gpt model(small_gpt());
  GptConfig deeper = small_gpt();
  deeper.layers = 3;
  const auto read = [&](Cache& cache) {
    Tape tape(no_grad);
    model.forward(Variable::constant(tape, Tensor::zeros({1, 1}, DType::i32)), &cache);
  };
  CHECK_THROWS_WITH_AS(read(*Gpt(deeper).make_cache()), "block stack: the cache is of 3 blocks, expected 2", Error);
  RecurrentState state;
  CHECK_THROWS_WITH_AS(read(state), "gpt: the cache is another model's", Error);
}

TEST_CASE("key/value cache: gives the logits of the full forward pass, in pieces of any lengths") {
  for (const auto& [dtype, tolerance] : {std::pair{DType::f64, 1e-12}, {DType::f32, 1e-5}}) {
    for (const GptConfig& config : architectures(dtype)) {
      CAPTURE(name_of(config));
      const Gpt model(config);
      randomize(model);
      for (std::int64_t batch : {1, 3}) {
        const Tensor ids = ids_tensor(random_ids(batch * 12, config.vocab, 1), {batch, 12});
        const Tensor expected = logits_of(model, ids);
        for (const auto& lengths : kPieces) {
          const std::unique_ptr<Cache> cache_owner = model.make_cache();
          Cache& cache = *cache_owner;
          CHECK(distance(logits_in_pieces(model, ids, lengths, cache), expected) < tolerance);
          for (const BlockCache& block : dynamic_cast<StackCache&>(cache).blocks) CHECK(block.length() == 12);
        }
      }
    }
  }
}

TEST_CASE("key/value cache: right across the tiles of attention") {
  GptConfig config = small_gpt();
  config.context = 300;
  const Gpt model(config);
  randomize(model);
  const Tensor ids = ids_tensor(random_ids(300, config.vocab, 2), {1, 300});
  const Tensor expected = logits_of(model, ids);
  for (const std::vector<std::int64_t>& lengths :
       {std::vector<std::int64_t>{63, 1, 1, 1, 62, 1, 1, 65, 105}, {1, 298, 1}, {128, 128, 44}}) {
    const std::unique_ptr<Cache> cache_owner = model.make_cache();
    Cache& cache = *cache_owner;
    CHECK(distance(logits_in_pieces(model, ids, lengths, cache), expected) < 1e-12);
  }
}

TEST_CASE("key/value cache: after clear() it serves another text, and another batch size") {
  const Gpt model(small_gpt());
  randomize(model);
  const std::unique_ptr<Cache> cache_owner = model.make_cache();
  Cache& cache = *cache_owner;
  for (std::int64_t batch : {2, 2, 1, 4}) {
    CAPTURE(batch);
    const Tensor ids = ids_tensor(random_ids(batch * 12, 17, 30 + batch), {batch, 12});
    cache.clear();
    const std::int64_t lengths[] = {6, 1, 5};
    CHECK(distance(logits_in_pieces(model, ids, lengths, cache), logits_of(model, ids)) < 1e-12);
  }
}

TEST_CASE("key/value cache: appends behind what it holds") {
  KeyValueCache cache(5);
  CHECK(cache.length() == 0);
  cache.append(part(1, 2, 1), part(1, 2, 10));
  cache.append(part(1, 1, 2), part(1, 1, 20));
  CHECK(cache.length() == 3);
  CHECK(cache.keys().sizes() == Dims{1, 2, 3, 3});
  const std::vector<double> keys = cache.keys().to_vector<double>(), values = cache.values().to_vector<double>();
  for (int i = 0; i < 18; ++i) {
    const bool last = i % 9 >= 6;
    CHECK(keys[i] == (last ? 2 : 1));
    CHECK(values[i] == (last ? 20 : 10));
  }
}

TEST_CASE("key/value cache: errors past the capacity and for a changed batch leave it as it was") {
  KeyValueCache cache(5);
  CHECK_THROWS_WITH_AS(cache.append(part(1, 6), part(1, 6)),
                       "key/value cache: 0 tokens and 6 more exceed its capacity of 5", Error);
  cache.append(part(2, 4), part(2, 4));
  CHECK_THROWS_WITH_AS(cache.append(part(2, 2), part(2, 2)),
                       "key/value cache: 4 tokens and 2 more exceed its capacity of 5", Error);
  CHECK_THROWS_WITH_AS(cache.append(part(3, 1), part(3, 1)), "key/value cache: holds a batch of 2, got 3", Error);
  CHECK(cache.length() == 4);
  cache.append(part(2, 1), part(2, 1));
  CHECK(cache.length() == 5);
  cache.clear();
  cache.append(part(3, 5), part(3, 5));
  CHECK(cache.keys().sizes() == Dims{3, 2, 5, 3});
}

TEST_CASE("gpt: errors for a full cache, a changed batch and a cache while recording") {
  const Gpt model(small_gpt());
  randomize(model);
  const std::unique_ptr<Cache> cache_owner = model.make_cache();
  Cache& cache = *cache_owner;
  const auto forward = [&](std::int64_t batch, std::int64_t length, const TapeOptions& options) {
    Tape tape(options);
    model.forward(Variable::constant(tape, Tensor::zeros({batch, length}, DType::i32)), &cache);
  };
  CHECK_THROWS_WITH_AS(forward(1, 2, {}), "attention: a key/value cache works without recording only", Error);
  forward(1, 11, no_grad);
  CHECK_THROWS_WITH_AS(forward(1, 2, no_grad), "positions: 13 tokens are more than the context of 12", Error);
  CHECK_THROWS_WITH_AS(forward(2, 1, no_grad), "key/value cache: holds a batch of 1, got 2", Error);
  CHECK_NOTHROW(forward(1, 1, no_grad));
}

TEST_CASE("key/value cache: select takes rows in any order, often or not at all, and goes on behind them") {
  KeyValueCache cache(4);
  const auto rows = [](double first, std::int64_t count, std::int64_t length) {  // row i holds first + i
    const Tensor x = part(count, length);
    for (std::int64_t i = 0; i < count; ++i) x.slice(0, i, i + 1).fill(first + static_cast<double>(i));
    return x;
  };
  const auto row_values = [](const Tensor& x, std::int64_t place) {
    return x.slice(1, 0, 1).slice(2, place, place + 1).slice(3, 0, 1).contiguous().to_vector<double>();
  };
  cache.append(rows(0, 3, 2), rows(10, 3, 2));
  const std::int64_t selected[] = {2, 0, 2, 2};
  cache.select(selected);
  CHECK(cache.length() == 2);
  cache.append(rows(20, 4, 1), rows(30, 4, 1));
  CHECK(cache.keys().sizes() == Dims{4, 2, 3, 3});
  for (std::int64_t place : {0, 1}) {
    CHECK(row_values(cache.keys(), place) == std::vector<double>{2, 0, 2, 2});
    CHECK(row_values(cache.values(), place) == std::vector<double>{12, 10, 12, 12});
  }
  CHECK(row_values(cache.keys(), 2) == std::vector<double>{20, 21, 22, 23});
  CHECK(row_values(cache.values(), 2) == std::vector<double>{30, 31, 32, 33});
  const std::int64_t beyond[] = {0, 4};
  CHECK_THROWS_AS(cache.select(beyond), Error);
  CHECK(cache.length() == 3);
}
