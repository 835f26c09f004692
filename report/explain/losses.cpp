// What a prediction costs: cross-entropy, and perplexity.
#include "autograd/kernels/gemm/precision.h"
#include "autograd/ops/ops.h"
#include "autograd/tape/tape.h"
#include "core/text/visible_text.h"
#include "data/text/encode_text.h"
#include "generate/generator.h"
#include "report/explain/topics.h"
#include "tasks/common/eval.h"
#include "tasks/common/load_run.h"
#include "tasks/text/text_evaluation.h"

#include <cmath>
#include <numbers>

namespace tapeformer::explain {
namespace {

// Reads the index of the right token of each row.
std::vector<std::int32_t> read_targets(const TopicOptions& options, const Tensor& logits) {
  const Tensor given = options.vector("targets", logits.size(0) == 2 ? "1 0" : "0");
  if (given.size(0) != logits.size(0)) {
    fail_usage("explain loss: --targets: expected one for each of the ", logits.size(0), " rows of --x, got ",
               given.size(0));
  }
  std::vector<std::int32_t> targets;
  for (const double target : given.span<double>()) {
    if (target != std::round(target) || target < 0 || target >= static_cast<double>(logits.size(1))) {
      fail_usage("explain loss: --targets: expected 0 to ", logits.size(1) - 1, ", got ", target);
    }
    targets.push_back(static_cast<std::int32_t>(target));
  }
  return targets;
}

// Returns the matrix (N, V) that has a 1 in each row, at the target.
Tensor one_hot(const std::vector<std::int32_t>& targets, std::int64_t vocab) {
  const Tensor rows = Tensor::zeros({std::ssize(targets), vocab}, DType::f64);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    rows.data<double>()[static_cast<std::int64_t>(i) * vocab + targets[i]] = 1;
  }
  return rows;
}

// Shows the surprisals of tokens, and what follows from their mean.
void show_perplexity(WorkedExample& out, const Variable& nats, std::vector<std::string> tokens) {
  out.formula("surprisal = −ln P(token | those before it)");
  out.show(Values{"nats", nats.value(), {}, tokens});
  out.show(Values{"bits", scale(nats, 1 / std::numbers::ln2).value(), {}, tokens});
  const Variable average = mean(nats);
  out.formula("PP = P(all tokens)^(−1/n) = e^(mean surprisal)");
  out.show(Values{"mean nats", average.value()});
  out.show(Values{"perplexity", exp(average).value()});
  out.say("A model with this perplexity is as uncertain as one that draws from so many equally likely tokens.");
}

void explain_perplexity_of_text(WorkedExample& out, const TopicOptions& options) {
  const std::string run_path = options.text("run", ""), text = options.text("text", "");
  if (!options.has("run") || !options.has("text") || options.has("x")) {
    fail_usage("explain perplexity: expected --run RUN and --text TEXT together, or --x");
  }
  const auto run = load_run<TrainedLanguageModel>(RunSelection(run_path));
  const kernels::MatmulPrecisionScope precision(run.matmul);
  const std::vector<std::int32_t> ids =
      prompt_tokens(*run.tokenizer, *run.model, text, text_prefix(run, *run.tokenizer));
  check(ids.size() >= 2, "explain perplexity: the text has ", ids.size(), " tokens, at least 2 are needed");
  const std::vector<double> nats = surprisals(*run.model, std::span<const std::int32_t>(ids), {});
  std::vector<std::string> tokens;
  for (std::size_t i = 1; i < ids.size(); ++i) tokens.push_back(visible_text(run.tokenizer->token_bytes(ids[i])));
  out.say("The model of " + run_path + ", " + run.checkpoint_text + ". The first token has nothing before it.");
  Tape tape(no_grad);
  const Variable surprisal = Variable::constant(tape, Tensor::from(std::span<const double>(nats), {std::ssize(nats)}));
  show_perplexity(out, surprisal, tokens);
  const std::int64_t unknown = count_unknown(std::span<const std::int32_t>(ids), *run.tokenizer);
  const TextFacts facts{std::ssize(text), static_cast<double>(unknown) / static_cast<double>(ids.size())};
  if (!facts.has_bits_per_byte()) {
    out.say(
        str_cat("No bits per byte: ", unknown, " of ", ids.size(),
                " tokens are words or characters that the vocabulary does not have, whose bytes are not predicted."));
    return;
  }
  out.formula("bits per byte = Σ nats / (ln 2 · bytes of the text)");
  const double per_byte = 1 / (std::numbers::ln2 * static_cast<double>(facts.bytes));
  out.show(Values{"bits per byte", scale(sum(surprisal), per_byte).value()});
}

}  // namespace

WorkedExample explain_loss(const TopicOptions& options) {
  WorkedExample out{"loss", "Cross-entropy"};
  const Tensor logits = options.matrix("x", "1.3 5.1 2.2 0.7 1.1; 0.5 0.1 2 0.3 0.2");
  const std::vector<std::int32_t> targets = read_targets(options, logits);
  const double smoothing = options.number("smoothing", 0.1);
  if (!(smoothing >= 0 && smoothing < 1)) fail_usage("explain loss: --smoothing: expected 0 to 1, got ", smoothing);
  const auto rows = static_cast<double>(targets.size());
  Tape tape(no_grad);
  const Variable x = Variable::constant(tape, logits);
  const Variable chosen = Variable::constant(tape, one_hot(targets, logits.size(1)));
  const Variable indices =
      Variable::constant(tape, Tensor::from(std::span<const std::int32_t>(targets), {logits.size(0)}));
  out.say("A row for each token that is predicted, a column for each token of the vocabulary.");
  out.show(Values{"logits", logits});
  out.show(Values{"targets, as one-hot rows", chosen.value()});
  const Variable log_p = log_softmax(x), nats = neg(sum(mul(log_p, chosen), 1));
  out.show(Values{"ln P = log_softmax", log_p.value()});
  out.formula("loss = mean of −ln P(target)");
  out.show(Values{"−ln P(target)", nats.value()});
  const Variable loss = cross_entropy(x, indices, {});
  out.show(Values{"loss", loss.value()});
  out.show_difference("cross_entropy", loss.value(), mean(nats).value());
  out.heading("Label smoothing");
  out.formula("the target is (1 − ε) · one-hot + ε/V, ε = " + number_text(smoothing));
  const Variable uniform = neg(mean(log_p, 1)), smooth = add(scale(nats, 1 - smoothing), scale(uniform, smoothing));
  const Variable smoothed = cross_entropy(x, indices, {.smoothing = smoothing});
  out.show(Values{"smoothed loss", smoothed.value()});
  out.show_difference("cross_entropy with smoothing", smoothed.value(), mean(smooth).value());
  out.heading("Gradient");
  out.formula("∂loss/∂logits = (softmax − one-hot) / N");
  const Variable parameter = Variable::parameter(logits.clone());
  Tape recording;
  recording.backward(cross_entropy(parameter.on(recording), Variable::constant(recording, indices.value()), {}));
  out.show(Values{"gradient", parameter.grad()});
  out.show_difference("backward of cross_entropy", parameter.grad(), scale(sub(softmax(x), chosen), 1 / rows).value());
  return out;
}

WorkedExample explain_perplexity(const TopicOptions& options) {
  WorkedExample out{"perplexity", "Perplexity"};
  if (options.has("run") || options.has("text")) {
    explain_perplexity_of_text(out, options);
    return out;
  }
  const Tensor probabilities = options.vector("x", "0.5 0.25 0.125 0.125");
  for (const double p : probabilities.span<double>()) {
    if (!(p > 0 && p <= 1)) fail_usage("explain perplexity: --x: expected probabilities above 0 and up to 1, got ", p);
  }
  Tape tape(no_grad);
  out.say("The probabilities that a model gave to the tokens that came.");
  out.show(Values{"P", probabilities});
  show_perplexity(out, neg(log(Variable::constant(tape, probabilities))), {});
  return out;
}

}  // namespace tapeformer::explain
