#include <numbers>

#include "autograd/ops/reductions.h"
#include "tests/nn/support.h"

using namespace tapeformer;

TEST_CASE("sinusoidal positions: the table of dimension 4 and base 100, to two decimals") {
  const double expected[4][4] = {
      {0, 1, 0, 1}, {0.84, 0.54, 0.10, 1.00}, {0.91, -0.42, 0.20, 0.98}, {0.14, -0.99, 0.30, 0.96}};
  for (DType dtype : {DType::f64, DType::f32}) {
    const std::vector<double> table = values_of(sinusoidal_positions(4, 4, 100, dtype));
    for (int k = 0; k < 4; ++k) {
      for (int i = 0; i < 4; ++i) CHECK(std::abs(table[4 * k + i] - expected[k][i]) <= 0.005 + 1e-6);
    }
  }
}

TEST_CASE("sinusoidal positions: any shift is a fixed rotation of every pair") {
  for (const auto& [dim, base] : {std::pair{4, 100.0}, {64, 10000.0}, {10, 7.5}}) {
    const std::int64_t length = 200;
    const std::vector<double> table = values_of(sinusoidal_positions(length, dim, base, DType::f64));
    double worst = 0;
    for (std::int64_t shift : {1, 2, 17, 150}) {
      for (std::int64_t pair = 0; pair < dim / 2; ++pair) {
        const double angle = static_cast<double>(shift) * std::pow(base, -2.0 * static_cast<double>(pair) / dim);
        for (std::int64_t k = 0; k + shift < length; ++k) {
          const double* from = &table[k * dim + 2 * pair];
          const double* to = &table[(k + shift) * dim + 2 * pair];
          worst = std::max(worst, std::abs(to[0] - (std::cos(angle) * from[0] + std::sin(angle) * from[1])));
          worst = std::max(worst, std::abs(to[1] - (std::cos(angle) * from[1] - std::sin(angle) * from[0])));
        }
      }
    }
    CHECK(worst < 1e-12);
  }
}

TEST_CASE("positions: learned rows from any first position, with a gradient in those rows alone") {
  const PositionEmbedding positions(LearnedPositions{}, 6, 3, Init::normal(1), DType::f64);
  positions.initialize_parameters(3);
  REQUIRE(positions.parameter_count() == 18);
  const Variable weight = positions.named_parameters()[0].variable;
  Tape tape;
  const Variable rows = positions.forward(tape, {.first = 2}, 3);
  CHECK(same_bits(rows.value(), weight.value().slice(0, 2, 5)));
  tape.backward(sum(rows));
  CHECK(values_of(weight.grad()) == std::vector<double>{0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0});
  Tape other;
  CHECK(same_bits(positions.forward(other, {}, 6).value(), weight.value()));
}

TEST_CASE("positions: sinusoids have no parameters and begin at any first position") {
  const PositionEmbedding positions(SinusoidalPositions{100}, 6, 4, {}, DType::f64);
  CHECK(positions.named_parameters().empty());
  Tape tape;
  CHECK(same_bits(positions.forward(tape, {.first = 2}, 3).value(),
                  sinusoidal_positions(6, 4, 100, DType::f64).slice(0, 2, 5)));
}

TEST_CASE("positions: without memory for values, sinusoids have their shape") {
  const ShapesOnly shapes;
  const PositionEmbedding positions(SinusoidalPositions{100}, 6, 4, {}, DType::f64);
  Tape tape;
  CHECK(positions.forward(tape, {.first = 2}, 3).sizes() == Dims{3, 4});
  CHECK(positions.forward(tape, {}, 8).sizes() == Dims{8, 4});
}

TEST_CASE("positions: sinusoids go on beyond the context") {
  const PositionEmbedding positions(SinusoidalPositions{100}, 6, 4, {}, DType::f64);
  const Tensor table = sinusoidal_positions(12, 4, 100, DType::f64);
  Tape tape;
  CHECK(same_bits(positions.forward(tape, {.first = 4}, 5).value(), table.slice(0, 4, 9)));
  CHECK(same_bits(positions.forward(tape, {.first = 9}, 1).value(), table.slice(0, 9, 10)));
  const Tensor of_tokens = Tensor::from<std::int32_t>({0, 1, 2, 3, 4, 5, 0, 7}, {1, 8});
  const Tensor rows = positions.forward(tape, {.of_tokens = of_tokens}, 8).value();
  CHECK(same_bits(rows.slice(1, 7, 8).reshape({1, 4}), table.slice(0, 7, 8)));
  CHECK(same_bits(rows.slice(1, 6, 7).reshape({1, 4}), table.slice(0, 0, 1)));
}

TEST_CASE("positions: an error past the context of learned ones") {
  const PositionEmbedding positions(LearnedPositions{}, 6, 4, Init::normal(1), DType::f64);
  Tape tape;
  CHECK_NOTHROW(positions.forward(tape, {.first = 5}, 1));
  CHECK_THROWS_WITH_AS(positions.forward(tape, {.first = 5}, 2), "positions: 7 tokens are more than the context of 6",
                       Error);
  const Gpt model(small_gpt());
  CHECK_THROWS_WITH_AS(logits_of(model, Tensor::zeros({1, 13}, DType::i32)),
                       "positions: 13 tokens are more than the context of 12", Error);
}
