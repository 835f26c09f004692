// Rows of several documents, of which each gives what it gives alone.
#include "nn/attention/documents.h"
#include "tests/long_test.h"

#include "tests/nn/support.h"

using namespace tapeformer;

namespace {

constexpr std::int32_t kBegin = 0;

GptConfig with_documents(GptConfig config, std::int64_t context) {
  config.context = context;
  config.document_token = kBegin;
  return config;
}

// Random ids but kBegin, and that where documents begin: in the middle of a row, one behind the other, at its ends.
std::vector<std::int32_t> document_ids(std::int64_t count, std::int64_t vocab, std::uint64_t seed,
                                       std::initializer_list<std::int64_t> begins) {
  std::vector<std::int32_t> ids = random_ids(count, vocab - 1, seed);
  for (std::int32_t& id : ids) ++id;
  for (const std::int64_t begin : begins) ids[begin] = kBegin;
  return ids;
}

// Two rows of 150 tokens.
std::vector<std::int32_t> two_rows(const GptConfig& config) {
  return document_ids(300, config.vocab, 2, {0, 1, 2, 30, 63, 64, 65, 110, 149, 150 + 17, 150 + 18, 150 + 140});
}

struct Document {
  std::int64_t row, begin, end;
};

std::vector<Document> documents_of(std::span<const std::int32_t> ids, std::int64_t rows) {
  const auto length = static_cast<std::int64_t>(ids.size()) / rows;
  std::vector<Document> documents;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t t = 0; t < length; ++t) {
      if (t == 0 || ids[row * length + t] == kBegin) documents.push_back({row, t, t});
      ++documents.back().end;
    }
  }
  return documents;
}

GptConfig of_one_text(GptConfig config) {
  config.document_token = -1;
  return config;
}

// The same weights, but a row is one text.
struct PlainGpt : Gpt {
  explicit PlainGpt(const Gpt& model) : Gpt(of_one_text(model.config())) { load_state_dict(model.state_dict()); }
};

Tensor part(const Tensor& x, const Document& document) {
  return x.slice(0, document.row, document.row + 1).slice(1, document.begin, document.end).contiguous();
}

// Calls body(model, plain) for every architecture with rows of 150 tokens; `plain` reads such a row as one text.
template <class Body>
void for_each_packed(const Body& body) {
  for (const GptConfig& architecture : architectures()) {
    CAPTURE(name_of(architecture));
    const Gpt model(with_documents(architecture, 150));
    randomize(model);
    body(model, PlainGpt(model));
  }
}

}  // namespace

TEST_CASE("documents: where they begin in a row, and the positions in them") {
  const Tensor ids = Tensor::from<std::int32_t>({5, 7, 3, 7, 7, 1, 7, 2, 2, 2, 2, 7}, {2, 6});
  const Documents documents = find_documents(ids, 7);
  CHECK(documents.first_tokens.sizes() == Dims{2, 6});
  CHECK(documents.first_tokens.to_vector<std::int32_t>() ==
        std::vector<std::int32_t>{0, 1, 1, 3, 4, 4, 0, 0, 0, 0, 0, 5});
  CHECK(documents.positions.to_vector<std::int32_t>() == std::vector<std::int32_t>{0, 0, 1, 0, 0, 1, 0, 1, 2, 3, 4, 0});
  // The same for a view.
  CHECK(find_documents(ids.slice(1, 1, 4), 7).positions.to_vector<std::int32_t>() ==
        std::vector<std::int32_t>{0, 1, 0, 0, 1, 2});
}

TEST_CASE("documents: a packed row gives the logits of each document alone") {
  for_each_packed([](const Gpt& model, const PlainGpt& plain) {
    const Tensor ids = ids_tensor(two_rows(model.config()), {2, 150}), packed = logits_of(model, ids);
    const std::vector<Document> documents = documents_of(two_rows(model.config()), 2);
    REQUIRE(documents.size() == 9 + 4);
    for (const Document& document : documents) {
      CAPTURE(document.begin);
      CHECK(distance(part(packed, document), logits_of(plain, part(ids, document))) < 1e-12);
    }
  });
}

TEST_CASE("documents: the gradients of a packed row are those of its documents alone, added up") {
  for_each_packed([](const Gpt& model, const PlainGpt& plain) {
    const Tensor ids = ids_tensor(two_rows(model.config()), {2, 150});
    std::vector<std::int32_t> scored = random_ids(300, model.config().vocab, 3);
    for (std::size_t i = 0; i < scored.size(); i += 7) scored[i] = -1;
    const Tensor targets = ids_tensor(scored, {2, 150});
    const CrossEntropyOptions options{.smoothing = 0.1, .normalizer = 123};
    double alone = 0;
    for (const Document& document : documents_of(two_rows(model.config()), 2)) {
      alone += add_gradients(plain, part(ids, document), part(targets, document), options);
    }
    const double packed = add_gradients(model, ids, targets, options);
    CHECK(packed == doctest::Approx(alone).epsilon(1e-13));
    CHECK(distance(gradients_of(model), gradients_of(plain)) < 1e-12);
  });
}

TEST_CASE("documents: a changed token changes its own document from there on, and no other, bit for bit" *
          long_test()) {
  for (const DType dtype : {DType::f64, DType::f32}) {
    for (const GptConfig& architecture : architectures(dtype)) {
      CAPTURE(name_of(architecture));
      GptConfig config = with_documents(architecture, 150);
      config.block.attention_window = 0;  // a token far behind would not see the change
      const Gpt model(config);
      randomize(model);
      const std::vector<std::int32_t> ids = two_rows(config);
      const Tensor before = logits_of(model, ids_tensor(ids, {2, 150}));
      for (const std::int64_t place : {3, 29, 40, 64 + 2, 148, 150 + 16, 150 + 100}) {
        CAPTURE(place);
        std::vector<std::int32_t> changed = ids;
        changed[place] = static_cast<std::int32_t>(1 + changed[place] % (config.vocab - 1));
        const Tensor after = logits_of(model, ids_tensor(changed, {2, 150}));
        for (const Document& document : documents_of(ids, 2)) {
          const std::int64_t first = 150 * document.row + document.begin, end = 150 * document.row + document.end;
          for (std::int64_t t = first; t < end; ++t) {
            const Document token{document.row, t - 150 * document.row, t - 150 * document.row + 1};
            REQUIRE(same_bits(part(after, token), part(before, token)) !=
                    (place >= first && place <= t && place < end));
          }
        }
      }
    }
  }
}

TEST_CASE("documents: a row of one document gives the bits of a model that knows none") {
  for (const GptConfig& architecture : architectures(DType::f32)) {
    CAPTURE(name_of(architecture));
    const GptConfig config = with_documents(architecture, 80);
    const Gpt model(config);
    randomize(model);
    const Tensor ids = ids_tensor(document_ids(160, config.vocab, 4, {0}), {2, 80});
    CHECK(same_bits(logits_of(model, ids), logits_of(PlainGpt(model), ids)));
  }
}

TEST_CASE("documents: recomputed, with dropout, the loss and the gradients are the same bits") {
  GptConfig config = with_documents(small_gpt(DType::f32), 150);
  config.block.dropout = config.block.attention_dropout = 0.2;
  const Gpt model(config);
  randomize(model);
  const Tensor ids = ids_tensor(two_rows(config), {2, 150});
  const auto run = [&](bool recompute) {
    model.zero_grad();
    const TapeOptions tape{.training = true, .recompute = recompute, .random = {.seed = 3}};
    const double loss = add_gradients(model, ids, ids, {}, tape);
    return std::pair{loss, gradients_of(model)};
  };
  const auto plain = run(false), again = run(true);
  CHECK(again.first == plain.first);
  CHECK(same_bits(again.second, plain.second));
}

TEST_CASE("documents: a key/value cache takes one document, in pieces, and no beginning of another") {
  const GptConfig config = with_documents(small_gpt(), 12);
  const Gpt model(config);
  randomize(model);
  const Tensor ids = ids_tensor(document_ids(24, config.vocab, 5, {0, 12}), {2, 12});
  const Tensor expected = logits_of(model, ids);
  const std::unique_ptr<Cache> cache_owner = model.make_cache();
  Cache& cache = *cache_owner;
  Tape tape(no_grad);
  const auto logits = [&](std::int64_t begin, std::int64_t end) {
    return model.logits(model.forward(Variable::constant(tape, ids.slice(1, begin, end)), &cache)).value();
  };
  CHECK(distance(logits(0, 5), expected.slice(1, 0, 5)) < 1e-12);
  CHECK(distance(logits(5, 6), expected.slice(1, 5, 6)) < 1e-12);
  CHECK(distance(logits(6, 11), expected.slice(1, 6, 11)) < 1e-12);
  const char* message = "gpt: the key/value cache holds one document, but another one begins";
  CHECK_THROWS_WITH_AS(logits(0, 1), message, Error);
  const std::unique_ptr<Cache> empty_owner = model.make_cache();
  Cache& empty = *empty_owner;
  const Variable later = Variable::constant(tape, ids_tensor(std::vector<std::int32_t>{3, kBegin}, {1, 2}));
  CHECK_THROWS_WITH_AS(model.forward(later, &empty), message, Error);
}

TEST_CASE("documents: rows longer than the context are refused, however short their documents") {
  for (const GptConfig& architecture : architectures()) {
    const GptConfig config = with_documents(architecture, 12);
    const Gpt model(config);
    if (model.can_exceed_context()) continue;
    CHECK_THROWS_WITH_AS(logits_of(model, Tensor::zeros({1, 13}, DType::i32)),
                         "positions: 13 tokens are more than the context of 12", Error);
  }
}
