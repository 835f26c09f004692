#include "cli/training/training_summary.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <numbers>

#include "cli/terminal/messages.h"
#include "cli/terminal/results.h"
#include "cli/terminal/stop_signal.h"
#include "cli/terminal/terminal.h"
#include "cli/training/comparison.h"
#include "core/steady_clock.h"
#include "core/text/shell_word.h"
#include "data/synthetic/corpora.h"
#include "train/config/matmul_config.h"
#include "train/run/chosen_checkpoint.h"
#include "train/run/metrics.h"
#include "train/run/verdict.h"

namespace tapeformer::cli {
namespace {

// Prints the best evaluation, if there is one.
void print_best(const ResolvedConfig& config, const Objective& objective, const TrainingState& state) {
  if (state.best_step == 0 || !objective.can_evaluate()) return;
  const TaskRow& task = objective.task();
  if (const std::string_view metric = config.metric_for_best_model(); !metric.empty()) {
    return print_line("best validation {} {:g}, at step {}", metric, cost_of_metric(metric, state.best_loss),
                      state.best_step);
  }
  std::string bits;
  if (config.eval.batches == 0 && objective.has_bits_per_byte()) {  // the bytes are those of all validation data
    const ValidationFacts facts = objective.validation();
    const Evaluation best{.tokens = facts.tokens, .nats = state.best_loss * static_cast<double>(facts.tokens)};
    bits = fmt::format("{:g} bits per byte, ", best.bits_per_byte(facts.bytes));
  }
  print_line("best validation loss {:g} {}, {}at step {}", state.best_loss, task.loss_unit, bits, state.best_step);
}

// Prints the smallest loss that any model can reach on a generated corpus, if that is known.
void print_entropy(const ResolvedConfig& config) {
  const bool documents = config.data.document == DocumentEnd::line;
  const std::optional<double> entropy = corpus_entropy(config.data.corpus, documents);
  if (!entropy) return;
  print_line("the corpus {} has an entropy of {:g} bits per byte ({:g} nats per character): no model can do better",
             config.data.corpus, *corpus_entropy_per_byte(config.data.corpus, documents) / std::numbers::ln2, *entropy);
}

// Prints which checkpoint commands read when they are given the run's folder, and the validation of the average, if
// there is one.
void print_weights(const ResolvedConfig& config, const UsableCheckpoint& meant, std::string_view measure,
                   std::span<const nlohmann::ordered_json> metrics) {
  std::string line = "weights that commands read: " + meant.text;
  if (config.checkpoint.average > 0 || config.train.ema > 0) {
    const std::string_view average = config.train.ema > 0 ? "the moving average" : "the average of the last ones";
    const std::string name = measure.empty() ? "loss" : std::string(measure);
    const auto value =
        metrics.empty() ? nlohmann::ordered_json() : metrics.back().value("average_" + name, nlohmann::ordered_json());
    if (value.is_number()) {
      line += fmt::format("{}{} {:g}", meant.averaged ? ", validation " : str_cat("; ", average, " has validation "),
                          name, value.get<double>());
    } else {
      line += str_cat("; ", average, " was not evaluated: --checkpoint average reads it");
    }
  }
  print_line("{}", line);
}

// Prints what the curves say.
void print_verdict(const ResolvedConfig& config, const Objective& objective, const TrainingState& state,
                   std::span<const nlohmann::ordered_json> metrics) {
  if (!config.task_row().losses_compare) return;
  VerdictFacts facts{.best_step = state.best_step,
                     .terms_since = state.terms_since,
                     .dropout = config.train.lora_dropout > 0,
                     .generated = !config.data.corpus.empty()};
  if (const std::int64_t tokens = objective.facts().tokens; tokens > 0) {
    facts.passes = static_cast<double>(state.tokens) / static_cast<double>(tokens);
  }
  for (const auto& [name, value] : config.model.options.entries()) {
    const double* const number = std::get_if<double>(&value);
    facts.dropout = facts.dropout || (name.ends_with("dropout") && number && *number > 0);
  }
  for (const std::string& sentence : training_verdict(metrics, facts)) print_line("{}", sentence);
}

// Returns samples of what the present weights write, within a part of the time of the training.
std::vector<TextSample> new_samples(const ResolvedConfig& config, Objective& objective, double training_seconds) {
  const kernels::MatmulPrecisionScope precision(inference_precision(matmul_precision(config)));
  constexpr double kShare = 1.0 / 60, kLeast = 0.5;  // of the time of the training, and in seconds
  const double end = steady_seconds() + std::max(kLeast, kShare * training_seconds);
  return objective.samples([end] { return !StopSignal::requested() && steady_seconds() < end; });
}

// Returns samples of what the weights of this checkpoint write: those that the training has recorded, or new ones.
// Empty if the model makes no text, or, with a warning, if it cannot.
std::vector<TextSample> samples_of(const ResolvedConfig& config, Objective& objective, const TrainingState& state,
                                   const UsableCheckpoint& meant, std::span<const nlohmann::ordered_json> metrics) try {
  for (const auto& line : metrics) {
    if (meant.averaged || !line.contains("samples") || line["step"] != meant.step) continue;
    std::vector<TextSample> recorded;
    for (const auto& sample : line["samples"]) {
      recorded.push_back({sample.value("input", ""), sample.value("output", ""), sample.value("reference", "")});
    }
    return recorded;
  }
  if (meant.averaged || meant.step != state.step) load_weights(meant.run, meant.folder, objective.model());
  return new_samples(config, objective, state.elapsed_s);
} catch (const Error& error) {  // the training is done
  log_warning("no sample: {}", error.what());
  return {};
}

void print_sample(const TextSample& sample) {
  if (!sample.reference.empty()) {
    return print_text(output_text(str_cat("a sample: ", sample.input, "\n  generated:  ", sample.output,
                                          "\n  reference:  ", sample.reference, "\n")));
  }
  const bool has_prompt = !std::ranges::all_of(sample.input, [](unsigned char c) { return std::isspace(c) != 0; });
  const std::string begin = has_prompt ? str_cat("a sample that begins with \"", sample.input, "\":\n", sample.input)
                                       : std::string("a sample:\n");
  print_text(output_text(str_cat(begin, sample.output, sample.output.ends_with('\n') ? "" : "\n")));
}

}  // namespace

void print_summary(const ResolvedConfig& config, Objective& objective, const TrainingState& state, const RunFolder& run,
                   bool with_sample) {
  const TaskRow& task = objective.task();
  print_best(config, objective, state);
  print_comparison(state, run);
  const std::vector<nlohmann::ordered_json> metrics = read_metrics(run.metrics());
  if (config.metric_for_best_model().empty() && !task.is_multi_task && objective.can_evaluate())
    print_verdict(config, objective, state, metrics);
  const UsableCheckpoint meant = find_checkpoint(run.root);
  print_weights(config, meant, config.metric_for_best_model(), metrics);
  if (!config.data.corpus.empty()) {
    if (task.optimum) {
      print_text(task.optimum(config));
    } else if (task.has_perplexity) {  // else the loss is not that of a text
      print_entropy(config);
    }
  }
  if (with_sample) {
    const std::vector<TextSample> samples = samples_of(config, objective, state, meant, metrics);
    if (!samples.empty()) print_sample(samples.front());
  }
  print_text(output_text(str_cat("curves: ", run.report().string(), "\nrun: ", run.root.string(), "\n")));
}

double time_sample(const ResolvedConfig& config, Objective& objective, double training_seconds) try {
  const double begin = steady_seconds();
  new_samples(config, objective, training_seconds);
  return steady_seconds() - begin;
} catch (const Error&) {  // print_summary() meets the error again, and warns
  return 0;
}

void print_next_commands(const ResolvedConfig& config, const RunFolder& run) {
  const char* begin = "next:";
  for (const std::string_view command : config.task_row().next_commands) {
    const auto at = command.find('%');
    log_info("{} tapeformer {}{}{}", begin, command.substr(0, at), shell_word(run.root.string()),
             command.substr(at + 1));
    begin = "     ";
  }
}

}  // namespace tapeformer::cli
