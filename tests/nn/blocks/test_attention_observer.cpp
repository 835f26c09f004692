// The attention weights and the heads' outputs that a forward pass shows, beside loops over numbers.
#include <cmath>

#include "autograd/ops/helpers/products.h"
#include "nn/layers/positions.h"
#include "tests/nn/support.h"

using namespace tapeformer;

namespace {

Tensor normal(const Dims& sizes, std::uint64_t seed) {
  const Tensor tensor = Tensor::empty(sizes, DType::f64);
  initialize(tensor, Init::normal(1), {.seed = seed});
  return tensor;
}

using Matrix = std::vector<std::vector<double>>;

// The tensors (R, heads, T, ...) that a forward pass shows, by their names, in order.
std::map<std::string, std::vector<Tensor>, std::less<>> shown_by(const std::function<void(Tape&)>& forward) {
  std::map<std::string, std::vector<Tensor>, std::less<>> shown;
  const TensorObserver observer = [&](std::string_view name, const std::function<Tensor()>& tensor) {
    shown[std::string(name)].push_back(tensor().contiguous());
  };
  Tape tape({.record = false, .observer = &observer});
  forward(tape);
  return shown;
}

Matrix rows_of(const Tensor& x, std::int64_t batch_row) {
  const Tensor row = x.slice(0, batch_row, batch_row + 1).contiguous();
  Matrix rows(x.size(1), std::vector<double>(x.size(2)));
  const double* value = row.data<double>();
  for (auto& to : rows) {
    for (double& element : to) element = *value++;
  }
  return rows;
}

// Columns [begin, end) of x Wᵀ + b.
Matrix product(const Matrix& x, const std::map<std::string, Tensor>& state, const std::string& name, std::int64_t begin,
               std::int64_t end) {
  const Tensor& w = state.at(name + ".weight");
  Matrix y;
  for (const auto& row : x) {
    y.emplace_back();
    for (std::int64_t i = begin; i < end; ++i) {
      double sum = state.contains(name + ".bias") ? state.at(name + ".bias").data<double>()[i] : 0;
      for (std::size_t j = 0; j < row.size(); ++j) sum += row[j] * w.data<double>()[i * w.size(1) + std::int64_t(j)];
      y.back().push_back(sum);
    }
  }
  return y;
}

// The head's norm, then its rotation by the place of each row, where there are some.
void transform(Matrix& heads, const BlockConfig& config, const double* weight,
               const std::optional<Rotary>& rotary = std::nullopt) {
  for (std::size_t place = 0; place < heads.size(); ++place) {
    std::vector<double>& x = heads[place];
    const std::size_t d = x.size();
    if (weight) {
      double squares = 0;
      for (const double value : x) squares += value * value;
      for (std::size_t i = 0; i < d; ++i) x[i] *= weight[i] / std::sqrt(squares / double(d) + config.norm_eps);
    }
    if (!rotary) continue;
    for (std::size_t i = 0; i < d / 2; ++i) {
      const double angle = double(place) * std::pow(rotary->base, -2.0 * double(i) / double(d));
      const double a = x[i], b = x[i + d / 2];
      x[i] = a * std::cos(angle) - b * std::sin(angle), x[i + d / 2] = a * std::sin(angle) + b * std::cos(angle);
    }
  }
}

struct Widths {
  std::int64_t group, d, d_v;
};
Widths widths_of(const BlockConfig& config) {
  const std::int64_t d = config.head_dim ? config.head_dim : config.dim / config.heads;
  return {config.kv_heads ? config.heads / config.kv_heads : 1, d, config.value_dim ? config.value_dim : d};
}

// Replaces the numbers of all rows by φ(x) = elu(x) + 1.
void map_features(Matrix& heads) {
  for (std::vector<double>& row : heads) {
    for (double& x : row) x = x > 0 ? x + 1 : std::exp(x);
  }
}

// e^(s·product), s = the scale of `config` or, if that is 0, 1/√d; of linear attention the product itself.
double weight_of(double product, const BlockConfig& config, std::size_t d) {
  if (config.attention_kind == AttentionKind::linear) return product;
  return std::exp(product * (config.attention_scale > 0 ? config.attention_scale : 1 / std::sqrt(double(d))));
}

// Checks the weights of one head (T_q, T_k), and what it adds to the stream: weight_of(q kᵀ) over the sum, times v W_O.
void check_head(const double* weights, const double* output, const BlockConfig& config, const Matrix& q,
                const Matrix& k, const Matrix& v, const std::function<bool(std::size_t, std::size_t)>& sees,
                const Tensor& w_o, std::int64_t head) {
  for (std::size_t i = 0; i < q.size(); ++i) {
    std::vector<double> expected(k.size()), read(v[0].size());
    double total = 0;
    for (std::size_t j = 0; j < k.size(); ++j) {
      if (!sees(i, j)) continue;
      double score = 0;
      for (std::size_t c = 0; c < q[i].size(); ++c) score += q[i][c] * k[j][c];
      total += expected[j] = weight_of(score, config, q[i].size());
    }
    for (std::size_t j = 0; j < k.size(); ++j) {
      expected[j] /= total;
      CHECK(weights[i * k.size() + j] == doctest::Approx(expected[j]).epsilon(1e-10));
      if (!sees(i, j)) CHECK(weights[i * k.size() + j] == 0);
      for (std::size_t c = 0; c < read.size(); ++c) read[c] += expected[j] * v[j][c];
    }
    for (std::int64_t out = 0; out < w_o.size(0); ++out) {
      double sum = 0;
      for (std::size_t c = 0; c < read.size(); ++c) {
        sum += read[c] * w_o.data<double>()[out * w_o.size(1) + head * std::ssize(read) + std::int64_t(c)];
      }
      CHECK(output[std::int64_t(i) * w_o.size(0) + out] == doctest::Approx(sum).epsilon(1e-9));
    }
  }
}

// What all heads add, and the bias of W_O, is the layer's output.
void check_sum_of_heads(const Tensor& heads, const std::map<std::string, Tensor>& state, const Tensor& output) {
  const std::int64_t count = heads.size(1), length = heads.size(2), dim = heads.size(3);
  for (std::int64_t b = 0; b < heads.size(0); ++b) {
    for (std::int64_t i = 0; i < length * dim; ++i) {
      double sum = state.contains("out.bias") ? state.at("out.bias").data<double>()[i % dim] : 0;
      for (std::int64_t h = 0; h < count; ++h) sum += heads.data<double>()[(b * count + h) * length * dim + i];
      CHECK(output.data<double>()[b * length * dim + i] == doctest::Approx(sum).epsilon(1e-10));
    }
  }
}

std::vector<BlockConfig> configs() {
  BlockConfig plain{.dim = 12, .heads = 3, .ff_dim = 8, .init = Init::normal(0.5), .dtype = DType::f64};
  plain.residual_init = plain.init;
  BlockConfig wide = plain;
  wide.head_dim = 2, wide.value_dim = 7;
  BlockConfig grouped = modern(plain);
  grouped.heads = 4, grouped.kv_heads = 2;
  BlockConfig scaled = plain;
  scaled.attention_scale = 1.5;
  return {plain, wide, grouped, scaled};
}

// The same, and one with linear attention.
std::vector<BlockConfig> self_configs() {
  std::vector<BlockConfig> all = configs();
  all.push_back(all[2]);
  all.back().attention_kind = AttentionKind::linear;
  return all;
}

}  // namespace

TEST_CASE("attention observer: weights and outputs of the heads of self-attention equal loops over numbers") {
  constexpr std::int64_t kRows = 2, kLength = 6;
  const Tensor lengths = Tensor::from<std::int32_t>({4, 6}, {kRows});
  const Tensor begin = Tensor::from<std::int32_t>({0, 0, 2, 2, 2, 2, 0, 1, 1, 1, 4, 4}, {kRows, kLength});
  const Tensor x = normal({kRows, kLength, 12}, 3);
  for (const BlockConfig& config : self_configs()) {
    const bool linear = config.attention_kind == AttentionKind::linear;
    MultiHeadAttention attention(config);
    attention.initialize_parameters(1);
    const auto state = attention.state_dict();
    const Widths widths = widths_of(config);
    const std::int64_t group = widths.group, d = widths.d, d_v = widths.d_v;
    const std::optional<Rotary> rotary = config.qk_norm && !linear ? std::optional(Rotary{}) : std::nullopt;
    for (const SelfMask& mask : {SelfMask{}, SelfMask{.causal = false}, SelfMask{.causal = false, .lengths = lengths},
                                 SelfMask{.key_begin = begin}}) {
      if (linear && !mask.causal) continue;
      Tensor output;
      const auto shown = shown_by([&](Tape& tape) {
        const Rotation rotation = rotary ? rotation_of({}, kLength, d, *rotary, DType::f64) : Rotation{};
        output = attention.forward(Variable::constant(tape, x), mask, nullptr, rotation).value().contiguous();
      });
      REQUIRE(shown.size() == 2);
      const Tensor weights = shown.at(std::string(kSelfAttentionWeights)).at(0),
                   heads = shown.at(std::string(kSelfAttentionHeads)).at(0);
      REQUIRE(weights.sizes() == Dims{kRows, config.heads, kLength, kLength});
      REQUIRE(heads.sizes() == Dims{kRows, config.heads, kLength, config.dim});
      check_sum_of_heads(heads, state, output);
      for (std::int64_t b = 0; b < kRows; ++b) {
        const auto sees = [&](std::size_t i, std::size_t j) {
          const auto at = static_cast<std::int64_t>(i), key = static_cast<std::int64_t>(j);
          return (!mask.causal || key <= at) && (!mask.lengths.defined() || key < lengths.data<std::int32_t>()[b]) &&
                 (!mask.key_begin.defined() || key >= begin.data<std::int32_t>()[b * kLength + at]);
        };
        for (std::int64_t h = 0; h < config.heads; ++h) {
          const std::int64_t keys = config.heads * d + h / group * d, of_v = (config.heads + config.heads / group) * d;
          const auto part = [&](std::int64_t from, std::int64_t width) {
            return product(rows_of(x, b), state, "qkv", from, from + width);
          };
          Matrix q = part(h * d, d), k = part(keys, d);
          const Matrix v = part(of_v + h / group * d_v, d_v);
          transform(q, config, config.qk_norm ? state.at("q_norm.weight").data<double>() : nullptr, rotary);
          transform(k, config, config.qk_norm ? state.at("k_norm.weight").data<double>() : nullptr, rotary);
          if (linear) map_features(q), map_features(k);
          const std::int64_t place = b * config.heads + h;
          check_head(weights.data<double>() + place * kLength * kLength,
                     heads.data<double>() + place * kLength * config.dim, config, q, k, v, sees, state.at("out.weight"),
                     h);
        }
      }
    }
  }
}

TEST_CASE("attention observer: weights and outputs of the heads of cross-attention equal loops over numbers") {
  constexpr std::int64_t kRows = 2, kLength = 3, kSource = 5;
  const Tensor lengths = Tensor::from<std::int32_t>({5, 2}, {kRows});
  const Tensor x = normal({kRows, kLength, 12}, 3), source = normal({kRows, kSource, 12}, 4);
  for (const BlockConfig& config : configs()) {
    CrossAttention attention(config);
    attention.initialize_parameters(1);
    const auto state = attention.state_dict();
    const Widths widths = widths_of(config);
    const std::int64_t group = widths.group, d = widths.d, d_v = widths.d_v;
    Tensor output;
    const auto shown = shown_by([&](Tape& tape) {
      const EncoderOutput encoded{Variable::constant(tape, source), lengths};
      output = attention.forward(Variable::constant(tape, x), encoded).value().contiguous();
    });
    const Tensor weights = shown.at(std::string(kCrossAttentionWeights)).at(0),
                 heads = shown.at(std::string(kCrossAttentionHeads)).at(0);
    REQUIRE(weights.sizes() == Dims{kRows, config.heads, kLength, kSource});
    check_sum_of_heads(heads, state, output);
    for (std::int64_t b = 0; b < kRows; ++b) {
      const auto sees = [&](std::size_t, std::size_t j) {
        return static_cast<std::int32_t>(j) < lengths.data<std::int32_t>()[b];
      };
      for (std::int64_t h = 0; h < config.heads; ++h) {
        const std::int64_t of_v = config.heads / group * d;
        Matrix q = product(rows_of(x, b), state, "q", h * d, (h + 1) * d);
        Matrix k = product(rows_of(source, b), state, "kv", h / group * d, (h / group + 1) * d);
        const Matrix v = product(rows_of(source, b), state, "kv", of_v + h / group * d_v, of_v + (h / group + 1) * d_v);
        transform(q, config, config.qk_norm ? state.at("q_norm.weight").data<double>() : nullptr);
        transform(k, config, config.qk_norm ? state.at("k_norm.weight").data<double>() : nullptr);
        const std::int64_t place = b * config.heads + h;
        check_head(weights.data<double>() + place * kLength * kSource,
                   heads.data<double>() + place * kLength * config.dim, config, q, k, v, sees, state.at("out.weight"),
                   h);
      }
    }
  }
}

TEST_CASE(
    "attention weights: they are those of the op for lengths in a strided view or beyond the keys, and any scale") {
  const Tensor q = normal({2, 1, 2, 4}, 1), k = normal({2, 1, 3, 4}, 2), v = normal({2, 1, 3, 4}, 3);
  const Tensor lengths = Tensor::from<std::int32_t>({2, 1, 7, 1}, {2, 2}).slice(1, 0, 1).reshape({2});
  REQUIRE_FALSE(lengths.is_contiguous());
  const AttentionOptions options{.key_lengths = lengths, .scale = -0.5};
  Tape tape(no_grad);
  const auto constant = [&](const Tensor& x) { return Variable::constant(tape, x); };
  const Variable output = matmul(constant(attention_weights(q, k, options)), constant(v));
  const Variable expected = scaled_dot_product_attention(constant(q), constant(k), constant(v), options);
  CHECK(distance(output.value(), expected.value()) < 1e-12);
}
