// Attention by the elementary ops, step by step, and by the fused op that models use.
#include "nn/attention/attention.h"
#include "autograd/ops/ops.h"
#include "autograd/tape/tape.h"
#include "core/random.h"
#include "report/explain/topics.h"

#include <algorithm>
#include <cmath>

namespace tapeformer::explain {
namespace {

// Queries q (T_q, d_k), keys k (T_k, d_k) and values v (T_k, d_v).
struct AttentionInputs {
  Tensor q, k, v;
};

// Reads the inputs, and checks that they fit to each other.
AttentionInputs read_inputs(const TopicOptions& options, const AttentionInputs& otherwise) {
  const auto matrix = [&](const char* name, const Tensor& given) {
    return options.has(name) ? options.matrix(name, "") : given;
  };
  const AttentionInputs in{matrix("q", otherwise.q), matrix("k", otherwise.k), matrix("v", otherwise.v)};
  if (in.q.size(1) != in.k.size(1)) {
    fail_usage("explain attention: --q has rows of ", in.q.size(1), " numbers, --k of ", in.k.size(1),
               ": expected the same");
  }
  if (in.k.size(0) != in.v.size(0)) {
    fail_usage("explain attention: --k has ", in.k.size(0), " rows, --v has ", in.v.size(0),
               ": expected a value for each key");
  }
  return in;
}

std::vector<std::string> numbered(const char* letter, std::int64_t count) {
  std::vector<std::string> names;
  for (std::int64_t i = 1; i <= count; ++i) names.push_back(letter + std::to_string(i));
  return names;
}

// The names of the rows and columns of an example.
struct AttentionNames {
  explicit AttentionNames(const AttentionInputs& in)
      : queries(numbered("q", in.q.size(0))), keys(numbered("k", in.k.size(0))) {}
  std::vector<std::string> queries, keys;
};

void show_inputs(WorkedExample& out, const AttentionInputs& in) {
  const AttentionNames names(in);
  out.show(Values{"q", in.q, names.queries});
  out.show(Values{"k", in.k, names.keys});
  out.show(Values{"v", in.v, numbered("v", in.v.size(0))});
}

// Shows softmax(scores) and the weighted mean of the values; returns the latter.
Tensor show_weighted_mean(WorkedExample& out, const AttentionInputs& in, const Variable& scores) {
  const AttentionNames names(in);
  const Variable weights = softmax(scores);
  out.formula("α_ij = e^(score_ij) / Σ_j e^(score_ij)");
  out.show(Values{"weights", weights.value(), names.queries, names.keys, true});
  const Variable output = matmul(weights, Variable::constant(*scores.tape(), in.v));
  out.formula("output_i = Σ_j α_ij v_j");
  out.show(Values{"output", output.value(), names.queries});
  return output.value();
}

Variable one_head(Tape& tape, const Tensor& x) {
  return Variable::constant(tape, x.reshape({1, 1, x.size(0), x.size(1)}));
}

// Shows that the fused op agrees with the steps. scale: 0 for 1/√d_k.
void compare_with_op(WorkedExample& out, Tape& tape, const AttentionInputs& in, const Tensor& output, double scale) {
  const Tensor fused =
      scaled_dot_product_attention(one_head(tape, in.q), one_head(tape, in.k), one_head(tape, in.v), {.scale = scale})
          .value();
  out.say("The op that models use computes all of this at once, without keeping the weights:");
  out.show_difference("scaled_dot_product_attention", fused.reshape(output.sizes()), output);
}

// Returns q and k of the lectures' example: d_k = 64, with the products (112, 96, 16, 8) and (92, 124, 22, 8).
AttentionInputs lecture_inputs() {
  const Tensor q = Tensor::zeros({2, 64}, DType::f64), k = Tensor::zeros({4, 64}, DType::f64);
  const double first[] = {14, 12, 2, 1}, second[] = {23, 31, 5.5, 2};
  q.data<double>()[0] = 8, q.data<double>()[64 + 1] = 4;
  for (int j = 0; j < 4; ++j) k.data<double>()[64 * j] = first[j], k.data<double>()[64 * j + 1] = second[j];
  return {q, k, Tensor::from({1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0, -1.0}, {4, 2})};
}

// Draws q and k of independent numbers with mean 0 and variance 1, and shows the variance of their products.
void show_variances(WorkedExample& out) {
  constexpr std::int64_t kRows = 1024;
  CellTable table{"drawn", {"d_k", "Var(q·k)", "Var(q·k/√d_k)", "largest weight", "largest weight, divided"}, {}};
  for (const std::int64_t d : {4, 16, 64, 256}) {
    const auto draw = [&](std::uint64_t stream) {
      RandomStream random({.seed = 1, .step = static_cast<std::uint32_t>(d), .stream = stream});
      const Tensor x = Tensor::zeros({kRows, d}, DType::f64);
      for (std::int64_t i = 0; i < kRows * d; ++i) x.data<double>()[i] = random.normal();
      return x;
    };
    Tape tape(no_grad);
    const Variable scores =
        matmul(Variable::constant(tape, draw(1)), transpose(Variable::constant(tape, draw(2)), 0, 1));
    const double root = std::sqrt(static_cast<double>(d));
    std::vector<Cell> row{d};
    for (const double divisor : {1.0, root}) {
      const Variable divided = scale(scores, 1 / divisor);
      row.emplace_back(mean(mul(divided, divided)).value().item());
    }
    for (const double divisor : {1.0, root}) {
      const Tensor weights = softmax(scale(scores, 1 / divisor)).value();
      double sum = 0;
      for (std::int64_t i = 0; i < kRows; ++i) {
        const double* const begin = weights.data<double>() + i * kRows;
        sum += *std::max_element(begin, begin + kRows) / kRows;
      }
      row.emplace_back(sum);
    }
    table.rows.push_back(std::move(row));
  }
  out.heading("Why √d_k");
  out.say(
      "If the numbers of q and k are independent, with mean 0 and variance 1, the variance of q·k is d_k. Here are "
      "1024 drawn queries and 1024 keys of each width, and the mean over the queries of their largest weight: without "
      "√d_k the softmax of wide heads takes little more than one key, where its gradient is near 0.");
  out.show(std::move(table));
}

void explain_scaled_dot_product(WorkedExample& out, const TopicOptions& options) {
  const AttentionInputs in = read_inputs(options, lecture_inputs());
  const bool lecture = !options.has("q") && !options.has("k");
  Tape tape(no_grad);
  const AttentionNames names(in);
  out.say("One head: each query is compared with each key, and takes the weighted mean of the values.");
  if (lecture) {
    out.say(
        "The lectures give only the products of queries and keys. These q and k, whose other numbers are 0, have these "
        "products.");
  }
  show_inputs(out, in);
  const Variable scores = matmul(Variable::constant(tape, in.q), transpose(Variable::constant(tape, in.k), 0, 1));
  out.heading("Scores");
  out.formula("score_ij = q_i · k_j / √d_k, √d_k = " + number_text(std::sqrt(static_cast<double>(in.q.size(1)))));
  out.show(Values{"q·k", scores.value(), names.queries, names.keys});
  const Variable scaled = scale(scores, 1 / std::sqrt(static_cast<double>(in.q.size(1))));
  out.show(Values{"scores", scaled.value(), names.queries, names.keys});
  out.heading("Weights and output");
  const Tensor output = show_weighted_mean(out, in, scaled);
  if (lecture) {
    out.say(
        "The lectures print .87 .12 .01 0 for the first row and .08 .91 .01 0 for the second. Softmax of these scores "
        "is what stands above: the third weight is far below .01, and the weights of the second row are .0180 and "
        ".9820.");
  }
  compare_with_op(out, tape, in, output, 0);
  if (lecture) show_variances(out);
  if (in.q.size(0) > in.k.size(0)) return;
  const AttentionOptions causal{.causal = true};
  const Tensor masked = attention_weights(one_head(tape, in.q).value(), one_head(tape, in.k).value(), causal);
  out.heading("With the causal mask");
  out.say("The last query stands at the last key, and no query sees the keys after its own place: their score is −∞.");
  out.show(Values{"causal weights", masked.reshape({in.q.size(0), in.k.size(0)}), names.queries, names.keys, true});
}

// The default inputs of the bilinear and the additive form.
AttentionInputs small_inputs() {
  return {Tensor::from({1.0, 0.0, 0.5, 2.0}, {2, 2}), Tensor::from({1.0, 0.0, 0.0, 1.0, 1.0, 1.0}, {3, 2}),
          Tensor::from({1.0, 0.0, 0.0, 1.0, -1.0, 2.0}, {3, 2})};
}

void explain_bilinear(WorkedExample& out, const TopicOptions& options) {
  const AttentionInputs in = read_inputs(options, small_inputs());
  const std::int64_t d = in.q.size(1);
  std::string identity;
  for (std::int64_t i = 0; i < d * d; ++i) identity += str_cat(i > 0 && i % d == 0 ? "; " : " ", i % (d + 1) ? 0.5 : 2);
  const Tensor w = options.matrix("w", identity);
  if (w.sizes() != Dims{d, d})
    fail_usage("explain attention: --w: expected (", d, ", ", d, ") numbers, got ", w.sizes());
  Tape tape(no_grad);
  const AttentionNames names(in);
  out.say("A learned matrix W compares queries with keys (\"general\" in Luong et al. 2015). There is no √d_k.");
  show_inputs(out, in);
  out.show(Values{"W", w});
  const Variable keys = linear(Variable::constant(tape, in.k), Variable::constant(tape, w), {});
  out.formula("score_ij = q_iᵀ W k_j");
  out.show(Values{"W k", keys.value(), names.keys});
  const Variable scores = matmul(Variable::constant(tape, in.q), transpose(keys, 0, 1));
  out.show(Values{"scores", scores.value(), names.queries, names.keys});
  const Tensor output = show_weighted_mean(out, in, scores);
  compare_with_op(out, tape, {in.q, keys.value(), in.v}, output, 1);
}

void explain_additive(WorkedExample& out, const TopicOptions& options) {
  const AttentionInputs in = read_inputs(options, small_inputs());
  const std::int64_t queries = in.q.size(0), keys = in.k.size(0), d = in.q.size(1);
  std::string ones;
  for (std::int64_t i = 0; i < d; ++i) ones += "1 ";
  const Tensor w = options.vector("w", ones);
  if (w.size(0) != d) fail_usage("explain attention: --w: expected ", d, " numbers, got ", w.size(0));
  Tape tape(no_grad);
  const AttentionNames names(in);
  out.say(
      "Bahdanau et al. 2015: a layer of tanh compares queries with keys. q and k stand here for the products of W₁ "
      "with the states of decoder and encoder.");
  show_inputs(out, in);
  out.show(Values{"w", w});
  const Variable sums = add(reshape(Variable::constant(tape, in.q), {queries, 1, d}),
                            reshape(Variable::constant(tape, in.k), {1, keys, d}));
  const Variable hidden = tanh(sums);
  std::vector<std::string> pairs;
  for (const std::string& query : names.queries) {
    for (const std::string& key : names.keys) pairs.push_back(query + " " + key);
  }
  out.formula("score_ij = wᵀ tanh(q_i + k_j)");
  out.show(Values{"tanh(q + k)", hidden.value().reshape({queries * keys, d}), pairs});
  const Variable scores = sum(mul(hidden, Variable::constant(tape, w)), 2);
  out.show(Values{"scores", scores.value(), names.queries, names.keys});
  const Tensor output = show_weighted_mean(out, in, scores);
  const auto batch = [&](const Tensor& x) { return Variable::constant(tape, x.reshape({1, x.size(0), x.size(1)})); };
  const AttentionResult fused = additive_attention(batch(in.q), batch(in.k), Variable::constant(tape, w), batch(in.v));
  out.show_difference("additive_attention", fused.output.value().reshape(output.sizes()), output);
}

void explain_kernel(WorkedExample& out, const TopicOptions& options) {
  const AttentionInputs in =
      read_inputs(options, {Tensor::from({0.5, 2.2}, {2, 1}), Tensor::from({0.0, 1.0, 2.0, 3.0}, {4, 1}),
                            Tensor::from({0.0, 1.0, 4.0, 9.0}, {4, 1})});
  const double h = options.number("bandwidth", 0.5);
  if (!(h > 0)) fail_usage("explain attention: --bandwidth: expected above 0, got ", h);
  Tape tape(no_grad);
  const AttentionNames names(in);
  const std::int64_t queries = in.q.size(0), keys = in.k.size(0), d = in.q.size(1);
  out.say(
      "Kernel regression (Nadaraya 1964, Watson 1964) is attention without anything learned: a query takes the mean of "
      "the values, weighted by a Gaussian of its distance to their keys. By default v = k².");
  show_inputs(out, in);
  const Variable difference = sub(reshape(Variable::constant(tape, in.q), {queries, 1, d}),
                                  reshape(Variable::constant(tape, in.k), {1, keys, d}));
  const Variable distances = sum(square(difference), 2);
  out.formula("score_ij = −‖q_i − k_j‖² / (2h²), h = " + number_text(h));
  out.show(Values{"‖q − k‖²", distances.value(), names.queries, names.keys});
  const Variable scores = scale(distances, -1 / (2 * h * h));
  out.show(Values{"scores", scores.value(), names.queries, names.keys});
  const Tensor output = show_weighted_mean(out, in, scores);
  out.say(
      "−‖q − k‖²/2h² = (q·k − ‖k‖²/2 − ‖q‖²/2)/h², and softmax does not see what is the same for all keys of a query. "
      "So keys (k, −‖k‖²/2) and queries (q, 1) give the same by the op, with the scale 1/h²:");
  const Variable k = Variable::constant(tape, in.k), q = Variable::constant(tape, in.q);
  const Variable halves = scale(sum(square(k), 1, true), -0.5);
  const Variable ones = Variable::constant(tape, Tensor::full({queries, 1}, DType::f64, 1));
  const Tensor long_q = concat(std::vector<Variable>{q, ones}, 1).value();
  const Tensor long_k = concat(std::vector<Variable>{k, halves}, 1).value();
  compare_with_op(out, tape, {long_q, long_k, in.v}, output, 1 / (h * h));
}

struct AttentionForm {
  std::string_view name, title;
  std::vector<std::string_view> options;  // the options that this form reads and some others do not
  void (*make)(WorkedExample&, const TopicOptions&);
};

}  // namespace

WorkedExample explain_attention(const TopicOptions& options) {
  static const std::vector<AttentionForm> forms{
      {"dot", "Scaled dot-product attention (Vaswani et al. 2017)", {}, explain_scaled_dot_product},
      {"bilinear", "Bilinear attention", {"w"}, explain_bilinear},
      {"additive", "Additive attention", {"w"}, explain_additive},
      {"kernel", "Kernel regression", {"bandwidth"}, explain_kernel}};
  const std::string name = options.text("form", "dot");
  for (const AttentionForm& form : forms) {
    if (form.name != name) continue;
    for (const std::string_view option : {"w", "bandwidth"}) {
      if (options.has(option) && std::ranges::find(form.options, option) == form.options.end()) {
        fail_usage("explain attention: --form ", name, " has no --", option);
      }
    }
    WorkedExample out{"attention", std::string(form.title)};
    form.make(out, options);
    return out;
  }
  fail_usage("explain attention: --form: expected dot, bilinear, additive or kernel, got ", name);
}

}  // namespace tapeformer::explain
