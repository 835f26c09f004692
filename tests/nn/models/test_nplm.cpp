// The feed-forward language model: its equation, what it looks at, its state, its gradients and what it refuses.
#include "nn/models/nplm.h"

#include "tests/nn/support.h"

using namespace tapeformer;

namespace {

NplmConfig small_nplm(std::int64_t order, bool direct = true, DType dtype = DType::f64) {
  return {.vocab = 17, .order = order, .embedding_dim = 4, .dim = 6, .direct = direct, .dtype = dtype};
}

std::vector<NplmConfig> all_configs(DType dtype = DType::f64) {
  std::vector<NplmConfig> configs;
  for (const std::int64_t order : {2, 3, 5}) {
    for (const bool direct : {true, false}) configs.push_back(small_nplm(order, direct, dtype));
  }
  return configs;
}

std::string name_of(const NplmConfig& config) { return str_cat("n = ", config.order, config.direct ? ", direct" : ""); }

// b + W x + U tanh(d + H x), written out. The head's matrix is [U W].
std::vector<double> logits_by_hand(const Nplm& model, std::span<const std::int32_t> before) {
  const NplmConfig& config = model.config();
  const std::map<std::string, Tensor> state = model.state_dict();
  const auto at = [&](const char* name, std::int64_t row, std::int64_t column) {
    const Tensor& matrix = state.at(name);
    return matrix.data<double>()[row * (matrix.rank() == 2 ? matrix.size(1) : 1) + column];
  };
  std::vector<double> x, h;
  for (std::int64_t back = 0; back < config.order - 1; ++back) {
    const std::int64_t place = std::ssize(before) - 1 - back;
    for (std::int64_t i = 0; i < config.embedding_dim; ++i) {
      x.push_back(place < 0 ? 0 : at("token_embedding.weight", before[place], i));
    }
  }
  for (std::int64_t i = 0; i < config.dim; ++i) {
    double sum = at("hidden.bias", i, 0);
    for (std::size_t j = 0; j < x.size(); ++j) sum += at("hidden.weight", i, static_cast<std::int64_t>(j)) * x[j];
    h.push_back(std::tanh(sum));
  }
  std::vector<double> features = h;
  if (config.direct) features.insert(features.end(), x.begin(), x.end());
  std::vector<double> logits;
  for (std::int64_t v = 0; v < config.vocab; ++v) {
    logits.push_back(at("head.bias", v, 0));
    for (std::size_t j = 0; j < features.size(); ++j) {
      logits.back() += at("head.weight", v, static_cast<std::int64_t>(j)) * features[j];
    }
  }
  return logits;
}

Tensor logits_of(const Nplm& model, const Tensor& ids, Cache* cache) {
  Tape tape(no_grad);
  return model.logits(model.forward(Variable::constant(tape, ids), cache)).value();
}

}  // namespace

TEST_CASE("nplm: the logits are b + W x + U tanh(d + H x) of the last n − 1 tokens, with zeros before the first") {
  for (const NplmConfig& config : all_configs()) {
    CAPTURE(name_of(config));
    const Nplm model(config);
    randomize(model);
    const std::vector<std::int32_t> ids = random_ids(2 * 8, config.vocab, 1);
    const std::vector<double> logits = values_of(tapeformer::logits_of(model, ids_tensor(ids, {2, 8})));
    for (std::int64_t place = 0; place < 16; ++place) {
      const auto row = std::span(ids).subspan(place / 8 * 8, place % 8 + 1);
      const std::vector<double> expected = logits_by_hand(model, row);
      for (std::int64_t v = 0; v < config.vocab; ++v) {
        CHECK(logits[place * config.vocab + v] == doctest::Approx(expected[v]).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("nplm: with a cache, pieces of any lengths give the logits of the whole text") {
  for (const NplmConfig& config : all_configs()) {
    CAPTURE(name_of(config));
    const Nplm model(config);
    randomize(model);
    const Tensor ids = ids_tensor(random_ids(36, 17, 1), {3, 12});
    const Tensor expected = tapeformer::logits_of(model, ids);
    const std::unique_ptr<Cache> cache = model.make_cache();
    for (int round = 0; round < 2; ++round, cache->clear()) {
      std::int64_t begin = 0;
      for (const std::int64_t length : {1, 1, 5, 1, 3, 1}) {
        const Tensor piece = ids.slice(1, begin, begin + length).contiguous();
        const Tensor part = expected.slice(1, begin, begin + length).contiguous();
        CHECK(distance(logits_of(model, piece, cache.get()), part) < 1e-13);
        begin += length;
      }
    }
  }
}

TEST_CASE("nplm: a changed token changes the n − 1 predictions behind it, and no other") {
  for (const NplmConfig& config : all_configs()) {
    CAPTURE(name_of(config));
    const Nplm model(config);
    randomize(model);
    std::vector<std::int32_t> ids = random_ids(12, 17, 2);
    const Tensor before = tapeformer::logits_of(model, ids_tensor(ids, {1, 12}));
    ids[3] = (ids[3] + 1) % 17;
    const Tensor after = tapeformer::logits_of(model, ids_tensor(ids, {1, 12}));
    for (std::int64_t t = 0; t < 12; ++t) {
      CAPTURE(t);
      const bool same = same_bits(before.slice(1, t, t + 1).contiguous(), after.slice(1, t, t + 1).contiguous());
      CHECK(same == (t < 3 || t > 3 + config.order - 2));
    }
  }
}

TEST_CASE("nplm: the gradients match finite differences, and those of the rows add up") {
  const std::vector<std::int32_t> ids = random_ids(4 * 7, 17, 3);
  std::vector<std::int32_t> targets = random_ids(4 * 7, 17, 4);
  targets[5] = targets[20] = -1;
  for (const NplmConfig& config : all_configs()) {
    CAPTURE(name_of(config));
    const Nplm model(config);
    randomize(model);
    const auto loss = [&] {
      Tape tape(no_grad);
      return model
          .loss(Variable::constant(tape, ids_tensor(ids, {4, 7})),
                Variable::constant(tape, ids_tensor(targets, {4, 7})), {})
          .value()
          .item();
    };
    CHECK(add_gradients(model, ids_tensor(ids, {4, 7}), ids_tensor(targets, {4, 7})) ==
          doctest::Approx(loss()).epsilon(1e-13));
    const Gradients whole = gradients_of(model);
    check_gradients(model, whole, loss);
    // The same loss from all logits at once.
    Tape tape(no_grad);
    CHECK(model
              .CausalModel::loss(Variable::constant(tape, ids_tensor(ids, {4, 7})),
                                 Variable::constant(tape, ids_tensor(targets, {4, 7})), {})
              .value()
              .item() == doctest::Approx(loss()).epsilon(1e-12));
    model.zero_grad();
    for (std::int64_t row = 0; row < 4; ++row) {
      add_gradients(model, ids_tensor(std::span(ids).subspan(7 * row, 7), {1, 7}),
                    ids_tensor(std::span(targets).subspan(7 * row, 7), {1, 7}), {.normalizer = 26});
    }
    CHECK(distance(gradients_of(model), whole) < 1e-12);
  }
}

TEST_CASE("nplm: dropout is on in training alone, and its masks do not depend on evaluation in between") {
  NplmConfig config = small_nplm(3);
  config.dropout = 0.5;
  const Nplm model(config), plain(small_nplm(3));
  randomize(model), randomize(plain);
  const Tensor ids = ids_tensor(random_ids(14, 17, 5), {2, 7}), targets = ids_tensor(random_ids(14, 17, 6), {2, 7});
  CHECK(same_bits(tapeformer::logits_of(model, ids), tapeformer::logits_of(plain, ids)));
  const auto step = [&] {
    model.zero_grad();
    return add_gradients(model, ids, targets, {}, {.training = true, .random = {.seed = 3, .step = 1}});
  };
  const double first = step();
  const Gradients gradients = gradients_of(model);
  tapeformer::logits_of(model, ids);
  CHECK(step() == first);
  CHECK(same_bits(gradients_of(model), gradients));
  CHECK(first != doctest::Approx(add_gradients(plain, ids, targets)).epsilon(1e-3));
}

TEST_CASE("nplm: its parameters, and what it refuses") {
  const Nplm model(small_nplm(5));
  std::map<std::string, Dims> sizes;
  for (const auto& [name, tensor] : model.state_dict()) sizes.emplace(name, tensor.sizes());
  CHECK(sizes == std::map<std::string, Dims>{{"token_embedding.weight", {17, 4}},
                                             {"hidden.weight", {6, 16}},
                                             {"hidden.bias", {6}},
                                             {"head.weight", {17, 22}},
                                             {"head.bias", {17}}});
  CHECK(Nplm(small_nplm(5, false)).state_dict().at("head.weight").sizes() == Dims{17, 6});
  CHECK_THROWS_WITH_AS(Nplm(small_nplm(1)), "nplm: expected an order of at least 2, got 1", Error);
  Tape tape(no_grad), recording;
  const Variable flat = Variable::constant(tape, ids_tensor(random_ids(3, 17, 1), {3}));
  CHECK_THROWS_WITH_AS(model.forward(flat), "nplm: expected ids (B, T), got (3)", Error);
  const Gpt gpt(small_gpt());
  const auto other = gpt.make_cache();
  const Tensor ids = ids_tensor(random_ids(3, 17, 1), {1, 3});
  CHECK_THROWS_WITH_AS(model.forward(Variable::constant(tape, ids), other.get()), "nplm: the cache is another model's",
                       Error);
  const auto cache = model.make_cache();
  CHECK_THROWS_WITH_AS(model.forward(Variable::constant(recording, ids), cache.get()),
                       "nplm: a cache works without recording only", Error);
}
