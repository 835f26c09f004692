// The key/value cache: the logits of the full forward pass, a piece at a time.
#include "tests/nn/support.h"

using namespace tapeformer;

namespace {

// Logits of all positions, from pieces of the given lengths that follow each other.
Tensor logits_in_pieces(const Gpt& model, const Tensor& ids, std::span<const std::int64_t> lengths, Cache& cache) {
  const Tensor logits = Tensor::empty({ids.size(0), ids.size(1), model.config().vocab}, model.config().block.dtype);
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

}  // namespace

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
          for (const BlockCache& block : dynamic_cast<StackCache&>(cache).blocks) CHECK(block.self.length() == 12);
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
