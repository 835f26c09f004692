// Sinusoidal positions, and how a trained model tells tokens from places.
#include "nn/layers/positions.h"
#include "autograd/ops/ops.h"
#include "autograd/tape/tape.h"
#include "core/text/visible_text.h"
#include "nn/models/shared/transformer_keys.h"
#include "report/explain/topics.h"
#include "tasks/analysis/trained_embedder.h"

namespace tapeformer::explain {
namespace {

constexpr double kUsualBase = 10000;

std::vector<std::string> counted(std::int64_t count) {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < count; ++i) names.push_back(std::to_string(i));
  return names;
}

void explain_sinusoids(WorkedExample& out) {
  out.formula("PE(k, 2i) = sin(k/base^(2i/d)), PE(k, 2i+1) = cos(k/base^(2i/d))");
  out.show(Values{"PE, d = 4, base 100", sinusoidal_positions(4, 4, 100, DType::f64), counted(4)});
  out.say(
      "The lectures print the rows (0, 1, 0, 1), (0.84, 0.54, 0.10, 1.00), (0.91, −0.42, 0.20, 0.98) and (0.14, −0.99, "
      "0.30, 0.96).");
  out.say("A row for each position, a column for each dimension: fast waves at the left, slow ones at the right.");
  out.show(Values{"PE, d = 64", sinusoidal_positions(48, 64, kUsualBase, DType::f64), {}, {}, true});
}

void explain_products(WorkedExample& out) {
  constexpr std::int64_t kLength = 24, kDim = 64;
  Tape tape(no_grad);
  const Variable table = Variable::constant(tape, sinusoidal_positions(kLength, kDim, kUsualBase, DType::f64));
  const Variable products = matmul(table, transpose(table, 0, 1));
  out.heading("PE·PE");
  out.formula("PE(a)·PE(b) = Σ_i cos((a − b)/base^(2i/d)): it depends only on the distance");
  out.show(Values{"PE·PE", products.value(), counted(kLength), counted(kLength), true});
  const Variable row = reshape(slice(products, 0, 0, 1), {kLength});
  const Variable cosines = sum(slice(table, 1, 1, kDim, 2), 1);
  out.say("PE(0)·PE(k) beside the sum of the cosines in row k of the table:");
  out.show(Values{"PE(0)·PE(k)", row.value()});
  out.show(Values{"Σ cos", cosines.value()});
  out.show_difference("PE(0)·PE(k) and Σ cos", row.value(), cosines.value());
  const Variable later = reshape(slice(slice(products, 0, 9, 10), 1, 9, kLength), {kLength - 9});
  out.show_difference("PE(9)·PE(9 + k) and PE(0)·PE(k)", later.value(), slice(row, 0, 0, kLength - 9).value());
}

// The vectors of a text's tokens and of their positions, (T, dim) each, as the model adds them.
struct EmbeddedText {
  Variable tokens, positions;
  std::vector<std::string> names;
};

EmbeddedText embed_text(Tape& tape, const TrainedEmbedder& run, std::string_view text) {
  const Model& model = *run.model;
  if (!model.position_embedding() || !model.position_embedding()->has_vectors()) {
    fail_usage("explain positions: --run: expected a model that adds position vectors (model.position = learned or ",
               "sinusoidal), got ", run.run.root.string());
  }
  std::vector<std::int32_t> ids = run.prefix;
  const std::vector<std::int32_t> own = run.tokenizer->encode(text);
  ids.insert(ids.end(), own.begin(), own.end());
  ids.insert(ids.end(), run.suffix.begin(), run.suffix.end());
  const auto length = std::ssize(ids);
  if (own.empty() || (run.context && length > *run.context)) {
    fail_usage("explain positions: --text: expected 1 to ", run.context.value_or(0), " tokens, got ", length);
  }
  const Variable input = Variable::constant(tape, Tensor::from(std::span<const std::int32_t>(ids), {1, length}));
  const Variable positions = model.position_embedding()->forward(tape, {}, length);
  const Dims matrix{length, positions.size(1)};
  // An encoder-decoder scales its embeddings by √dim, and its first vectors are the plain sum. The first vectors of
  // other models may have gone through a norm.
  const KeyValues& options = run.config.model.options;
  const double factor = options.has("embedding_scale") ? embedding_scale(options, 1) : 1;
  const Variable tokens = run.config.family().is_encoder_decoder()
                              ? sub(reshape(model.hidden_states({.input_ids = input}).front(), matrix), positions)
                              : scale(reshape(model.token_embedding()->forward(input), matrix), factor);
  EmbeddedText embedded{tokens, positions, {}};
  for (const std::int32_t id : ids) embedded.names.push_back(visible_text(run.tokenizer->token_bytes(id)));
  return embedded;
}

void explain_run(WorkedExample& out, const TopicOptions& options) {
  const std::string path = options.text("run", "");
  const auto run = load_run<TrainedEmbedder>(RunSelection(path));
  Tape tape(no_grad);
  const auto [tokens, positions, names] = embed_text(tape, run, options.text("text", "the the a the"));
  out.heading("What a trained model adds: " + path);
  out.formula("(E+P)(E+P)ᵀ = E Eᵀ + E Pᵀ + P Eᵀ + P Pᵀ");
  out.say("E: the vectors of the text's tokens; P: those of their places. The model is " + run.checkpoint_text + ".");
  const auto products = [](const Variable& a, const Variable& b) { return matmul(a, transpose(b, 0, 1)); };
  const std::vector<std::pair<std::string, Variable>> terms{{"token to token, E Eᵀ", products(tokens, tokens)},
                                                            {"token to place, E Pᵀ", products(tokens, positions)},
                                                            {"place to token, P Eᵀ", products(positions, tokens)},
                                                            {"place to place, P Pᵀ", products(positions, positions)}};
  CellTable sizes{"the size of each term", {"term", "mean of the absolute values"}, {}};
  Variable total;
  for (const auto& [name, term] : terms) {
    out.show(Values{name, term.value(), names, names, true});
    sizes.rows.push_back({name, mean(abs(term)).value().item()});
    total = total.defined() ? add(total, term) : term;
  }
  const Variable sum_of_both = add(tokens, positions);
  out.show(std::move(sizes));
  out.show_difference("(E+P)(E+P)ᵀ and the sum of its terms", products(sum_of_both, sum_of_both).value(),
                      total.value());
}

}  // namespace

WorkedExample explain_positions(const TopicOptions& options) {
  if (options.has("text") && !options.has("run")) fail_usage("explain positions: --text: expected --run beside it");
  WorkedExample out{"positions", "Positions"};
  explain_sinusoids(out);
  explain_products(out);
  if (options.has("run")) explain_run(out, options);
  return out;
}

}  // namespace tapeformer::explain
