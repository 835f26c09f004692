#include "cli/training/training_summary.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <numbers>

#include "cli/terminal/messages.h"
#include "cli/terminal/results.h"
#include "data/synthetic/corpora.h"
#include "train/run/chosen_checkpoint.h"
#include "train/run/metrics.h"
#include "train/run/overfitting.h"

namespace tapeformer::cli {
namespace {

// Prints the smallest loss that any model can reach on a generated corpus, if that is known.
void print_entropy(const ResolvedConfig& config) {
  const std::optional<double> entropy = corpus_entropy(config.data.corpus);
  if (!entropy) return;
  print_line("the corpus {} has an entropy of {:g} bits per byte ({:g} nats per character): no model can do better",
             config.data.corpus, *entropy / std::numbers::ln2, *entropy);
}

// Prints which checkpoint commands read when they are given the run's folder, and the validation of the average, if
// there is one.
void print_weights(const ResolvedConfig& config, const RunFolder& run, std::string_view measure,
                   std::span<const nlohmann::ordered_json> metrics) {
  const UsableCheckpoint meant = find_checkpoint(run.root);
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

// Warns in plain words of overfitting.
void print_overfitting(const TrainingState& state, std::span<const nlohmann::ordered_json> metrics) {
  const auto found = find_overfitting(metrics, state.best_step);
  if (!found) return;
  print_line(
      "overfitting: after step {} the training loss fell from {:.4g} to {:.4g}, and the validation loss rose from "
      "{:.4g} to {:.4g}: the model learns its training data by heart; more data, a smaller model, more dropout or "
      "fewer steps would help",
      found->step, found->before, found->after, found->best, found->last);
}

// Quotes a word of a command for a shell.
std::string shell_word(const std::string& word) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("-_./+:@").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace

void print_summary(const ResolvedConfig& config, const Objective& objective, const TrainingState& state,
                   const RunFolder& run) {
  if (state.best_step > 0 && objective.can_evaluate() && !objective.task().metric.empty()) {
    print_line("best validation {} {:g}, at step {}", objective.task().metric, 1 - state.best_loss, state.best_step);
  } else if (state.best_step > 0 && objective.can_evaluate()) {
    std::string bits;
    if (config.eval.batches == 0 && objective.has_bits_per_byte()) {  // the bytes are those of all validation data
      const double nats = state.best_loss * static_cast<double>(objective.validation().tokens);
      const Evaluation best{.tokens = objective.validation().tokens, .nats = nats};
      bits = fmt::format("{:g} bits per byte, ", best.bits_per_byte(objective.validation().bytes));
    }
    print_line("best validation loss {:g} {}, {}at step {}", state.best_loss, objective.task().loss_unit, bits,
               state.best_step);
  }
  const std::vector<nlohmann::ordered_json> metrics = read_metrics(run.metrics());
  if (objective.task().metric.empty()) print_overfitting(state, metrics);
  print_weights(config, run, objective.task().metric, metrics);
  if (!config.data.corpus.empty()) {
    if (objective.task().optimum) {
      print_text(objective.task().optimum(config));
    } else if (objective.task().has_perplexity) {  // else the loss is not that of a text
      print_entropy(config);
    }
  }
  print_line("curves: {}\nrun: {}", run.report().string(), run.root.string());
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
