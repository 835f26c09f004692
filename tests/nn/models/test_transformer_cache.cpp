// The encoder-decoder's caches: the logits of the full pass, a piece at a time, for several hypotheses of a sentence.
#include "tests/nn/transformer_support.h"

using namespace tapeformer;

namespace {

constexpr std::int64_t kSourceLengths[] = {9, 4}, kLength = 12;

SourceBatch random_source(const TransformerConfig& config) {
  const std::int64_t target_lengths[] = {1, 1};
  return batch_of(config, random_pairs(config, kSourceLengths, target_lengths), 9, 1).source;
}

// Row i of the result is row rows[i]; i32.
Tensor taken(const Tensor& from, std::span<const std::int64_t> rows) {
  Dims sizes = from.sizes();
  sizes[0] = static_cast<std::int64_t>(rows.size());
  const Tensor to = Tensor::empty(sizes, from.dtype());
  for (std::int64_t i = 0; i < sizes[0]; ++i) {
    to.slice(0, i, i + 1).copy_from(from.slice(0, rows[i], rows[i] + 1));
  }
  return to;
}

SourceBatch taken(const SourceBatch& from, std::span<const std::int64_t> rows) {
  return {taken(from.ids, rows), taken(from.lengths, rows)};
}

// The rows 0 … R/B − 1 take the first of B rows, and so on.
std::vector<std::int64_t> row_of_each(std::int64_t rows, std::int64_t batch) {
  std::vector<std::int64_t> result;
  for (std::int64_t row = 0; row < rows; ++row) result.push_back(row / (rows / batch));
  return result;
}

// A model that decodes with a cache, without recording.
struct Decoding {
  Decoding(const Transformer& of, const SourceBatch& source)
      : model(of), encoded(of.encode(tape, source)), cache(of.make_cache(kLength, source.ids.size(1))) {}

  // Logits of the next ids of each row, columns [begin, end).
  Tensor logits(const Tensor& ids, std::int64_t begin, std::int64_t end) {
    const Variable piece = Variable::constant(tape, ids.slice(1, begin, end).contiguous());
    return model.logits(model.decode(piece, encoded, cache.get())).value();
  }

  const Transformer& model;
  Tape tape{no_grad};
  EncoderOutput encoded;
  std::unique_ptr<Cache> cache;
};

Tensor columns(const Tensor& x, std::int64_t begin, std::int64_t end) { return x.slice(1, begin, end).contiguous(); }

// Calls body(model, tolerance) on every architecture in both dtypes.
template <class Body>
void for_each_model(const Body& body) {
  for (const auto& [dtype, tolerance] : {std::pair{DType::f64, 1e-12}, {DType::f32, 1e-5}}) {
    for (const TransformerConfig& config : transformer_architectures(dtype)) {
      CAPTURE(name_of(config));
      const Transformer model(config);
      randomize(model);
      body(model, tolerance);
    }
  }
}

}  // namespace

TEST_CASE(
    "transformer cache: gives the logits of the full pass, in pieces of any lengths, for one or more hypotheses") {
  for_each_model([](const Transformer& model, double tolerance) {
    const SourceBatch source = random_source(model.config());
    for (std::int64_t rows : {2, 6}) {
      CAPTURE(rows);
      const Tensor ids = ids_tensor(random_ids(rows * kLength, model.config().target_vocab, 2), {rows, kLength});
      const Tensor expected = logits_of(model, taken(source, row_of_each(rows, 2)), ids);
      CHECK(distance(logits_of(model, source, ids), expected) < tolerance);
      for (const std::vector<std::int64_t>& ends :
           {std::vector<std::int64_t>{12}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {5, 6, 7, 12}}) {
        Decoding decoding(model, source);
        std::int64_t begin = 0;
        for (std::int64_t end : ends) {
          CHECK(distance(decoding.logits(ids, begin, end), columns(expected, begin, end)) < tolerance);
          begin = end;
        }
        for (const BlockCache& block : dynamic_cast<StackCache&>(*decoding.cache).blocks) {
          CHECK(block.self.length() == kLength);
          CHECK(block.cross.length() == 9);
        }
      }
    }
  });
}

TEST_CASE("transformer cache: hypotheses change places, and a finished sentence leaves") {
  for_each_model([](const Transformer& model, double tolerance) {
    const SourceBatch source = random_source(model.config());
    const Tensor ids = ids_tensor(random_ids(6 * kLength, model.config().target_vocab, 3), {6, kLength});
    Decoding decoding(model, source);
    decoding.logits(ids, 0, 5);

    const std::int64_t order[] = {2, 0, 2, 5, 5, 3};  // within each sentence
    decoding.cache->select(order);
    const Tensor reordered = taken(ids, order);
    const Tensor expected = logits_of(model, taken(source, row_of_each(6, 2)), reordered);
    CHECK(distance(decoding.logits(reordered, 5, 8), columns(expected, 5, 8)) < tolerance);

    const std::int64_t kept_rows[] = {3, 4, 5}, kept_sentence[] = {1};
    decoding.cache->select(kept_rows);
    decoding.encoded = select_rows(decoding.encoded, kept_sentence);
    CHECK(distance(decoding.logits(taken(reordered, kept_rows), 8, kLength),
                   columns(taken(expected, kept_rows), 8, kLength)) < tolerance);
  });
}

TEST_CASE("transformer cache: after its first piece the encoder's result is read from the cache alone") {
  const Transformer model(small_transformer());
  randomize(model);
  const Tensor ids = ids_tensor(random_ids(2 * kLength, 17, 4), {2, kLength});
  Decoding decoding(model, random_source(model.config()));
  const Tensor expected = logits_of(model, random_source(model.config()), ids);
  decoding.logits(ids, 0, 1);
  decoding.encoded.hidden.value().fill(NAN);
  CHECK(distance(decoding.logits(ids, 1, kLength), columns(expected, 1, kLength)) < 1e-12);
}

TEST_CASE("transformer cache: a source's rows may become more, and after clear() it serves other sources") {
  const Transformer model(small_transformer());
  randomize(model);
  const SourceBatch source = random_source(model.config());
  const Tensor ids = ids_tensor(random_ids(2 * kLength, 17, 5), {2, kLength});
  Decoding decoding(model, source);
  decoding.logits(ids, 0, 3);
  const std::int64_t rows[] = {0, 0, 0, 1, 1, 1}, apart[] = {0, 1, 0}, uneven[] = {0, 3, 4};
  decoding.cache->select(rows);
  const Tensor more = taken(ids, rows);
  const Tensor expected = logits_of(model, taken(source, rows), more);
  CHECK(distance(decoding.logits(more, 3, 5), columns(expected, 3, 5)) < 1e-12);
  CHECK(decoding.cache->tensors().size() == 8);  // keys and values of two blocks, of targets and sources
  for (const auto& [name, tensor] : decoding.cache->tensors()) {
    CHECK(tensor.size(0) == (name.find("self") != name.npos ? 6 : 2));
  }
  CHECK_THROWS_WITH_AS(decoding.cache->select(uneven),
                       "select: expected as many rows side by side for each source, got row 4 at position 2", Error);
  CHECK(selected_sources(rows, 1) == std::vector<std::int64_t>{0, 1});
  CHECK(selected_sources(apart, 2) == std::vector<std::int64_t>{0});
  CHECK_THROWS_AS(selected_sources(uneven, 3), Error);

  decoding.cache->clear();
  const std::int64_t second[] = {1};
  decoding.encoded = select_rows(decoding.encoded, second);
  const Tensor alone = taken(ids, second);
  CHECK(distance(decoding.logits(alone, 0, kLength), logits_of(model, taken(source, second), alone)) < 1e-12);
}

TEST_CASE("transformer cache: errors past its capacities and the context, and while recording") {
  TransformerConfig config = small_transformer();
  config.position = LearnedPositions{};
  const Transformer model(config);
  randomize(model);
  const Tensor ids = Tensor::zeros({2, 20}, DType::i32);
  const SourceBatch source = random_source(model.config());
  const auto decode = [&](const std::unique_ptr<Cache>& cache, std::int64_t length, const TapeOptions& options) {
    Tape tape(options);
    const EncoderOutput encoded = model.encode(tape, source);
    model.decode(Variable::constant(tape, ids.slice(1, 0, length).contiguous()), encoded, cache.get());
  };
  const auto few = model.make_cache(4, 9);
  decode(few, 3, no_grad);
  CHECK_THROWS_WITH_AS(decode(few, 2, no_grad), "key/value cache: 3 tokens and 2 more exceed its capacity of 4", Error);
  CHECK_NOTHROW(decode(few, 1, no_grad));

  const auto short_source = model.make_cache(12, 8);
  CHECK_THROWS_WITH_AS(decode(short_source, 1, no_grad),
                       "key/value cache: 0 tokens and 9 more exceed its capacity of 8", Error);

  const auto cache = model.make_cache(12, 9);
  CHECK_THROWS_WITH_AS(decode(cache, 1, {}), "attention: a key/value cache works without recording only", Error);
  decode(cache, 12, no_grad);
  CHECK_THROWS_WITH_AS(decode(cache, 1, no_grad), "positions: 13 tokens are more than the context of 12", Error);
}
