// The vectors of the layers of causal models, and classifiers of mixtures of them.
#include <cmath>
#include <functional>

#include "nn/interfaces/encoder_for_classification.h"
#include "nn/models/nplm.h"
#include "nn/models/rnn.h"
#include "tests/nn/support.h"

using namespace tapeformer;

namespace {

Tensor int_tensor(const std::vector<std::int32_t>& values, const Dims& sizes) {
  return Tensor::from(std::span<const std::int32_t>(values), sizes);
}

// The logits of three tokens of two rows.
Variable mixture_logits(Tape& tape, const EncoderForClassification& model) {
  return model.logits({.input_ids = Variable::constant(tape, int_tensor({1, 2, 3, 4, 5, 0}, {2, 3}))},
                      int_tensor({0, 2, 4}, {3}));
}

}  // namespace

TEST_CASE(
    "encoder for classification: a mixture has a weight for every layer of a causal model, and a gradient reaches "
    "each") {
  GptConfig gpt{.vocab = 11, .context = 8, .layers = 2, .block = {}};
  gpt.block.dim = 8, gpt.block.heads = 2, gpt.block.ff_dim = 16, gpt.block.dtype = DType::f64;
  const RnnConfig rnn{.vocab = 11, .stack = {.layers = 2, .input_dim = 8, .dim = 8, .dtype = DType::f64}};
  const NplmConfig nplm{.vocab = 11, .embedding_dim = 8, .dim = 8, .direct = false, .dtype = DType::f64};
  const std::vector<std::pair<std::int64_t, std::function<std::unique_ptr<CausalModel>()>>> families{
      {3, [&] { return std::make_unique<Gpt>(gpt); }},
      {3, [&] { return std::make_unique<Rnn>(rnn); }},
      {2, [&] { return std::make_unique<Nplm>(nplm); }}};
  for (const auto& family : families) {
    const std::int64_t layers = family.first;
    const auto& make = family.second;
    CAPTURE(layers);
    const EncoderForClassification model(make(), {.labels = 3, .mix = true});
    randomize(model);
    const auto loss_on = [&](Tape& tape) {
      return cross_entropy(mixture_logits(tape, model), Variable::constant(tape, int_tensor({0, 1, 2}, {3})), {});
    };
    Tape tape;
    tape.backward(loss_on(tape));
    const auto loss = [&] {
      Tape plain(no_grad);
      return loss_on(plain).value().item();
    };
    for (const NamedParameter& parameter : model.named_parameters()) {
      if (!parameter.name.starts_with("task.mix.")) continue;
      const bool is_weight = parameter.name == "task.mix.weight";
      REQUIRE(parameter.variable.sizes() == Dims{is_weight ? layers : 1});
      for (std::int64_t i = 0; i < parameter.variable.size(0); ++i) {
        double& value = parameter.variable.value().data<double>()[i];
        const double at = value, step = 1e-5;
        value = at + step;
        const double above = loss();
        value = at - step;
        const double below = loss();
        value = at;
        const double gradient = parameter.variable.grad().to_vector<double>()[i];
        CHECK(std::abs(gradient) > 1e-4);
        CHECK(gradient == doctest::Approx((above - below) / (2 * step)).epsilon(1e-5));
      }
    }
  }
}

TEST_CASE("encoder for classification: a mixture of layers of different widths is refused in one line") {
  const NplmConfig nplm{.vocab = 11, .order = 3, .embedding_dim = 4, .dim = 6};
  const auto make = [&](bool mix) {
    return EncoderForClassification(std::make_unique<Nplm>(nplm), {.labels = 3, .mix = mix});
  };
  CHECK(make(false).labels() == 3);
  CHECK_THROWS_WITH_AS(make(true),
                       "task.mix: a mixture needs layers of the same width: layer 0 (the embedding) is 4 wide, the "
                       "last one 14",
                       UsageError);
}

TEST_CASE("causal model: it gives the vectors of every layer, embedding first, and refuses token types") {
  GptConfig config{.vocab = 11, .context = 8, .layers = 2, .block = {}};
  config.block.dim = 8, config.block.heads = 2, config.block.ff_dim = 16;
  const Gpt model(config);
  randomize(model);
  Tape tape(no_grad);
  Batch batch{.input_ids = Variable::constant(tape, int_tensor({1, 2, 3, 4}, {1, 4}))};
  const std::vector<Variable> layers = model.hidden_states(batch);
  REQUIRE(layers.size() == 3);
  CHECK(same_bits(layers.back().value(), model.forward(batch.input_ids).value()));
  CHECK(same_bits(layers.back().value(), model.features(batch).value()));
  batch.token_type_ids = int_tensor({0, 0, 1, 1}, {1, 4});
  CHECK_THROWS_WITH_AS(model.hidden_states(batch), "gpt: the batch has token types, which the model does not read",
                       Error);
  CHECK_THROWS_WITH_AS(model.hidden_states({}), "gpt: expected a batch of tokens, got one without", Error);
}
