#include "cli/training/training_summary.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cctype>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numbers>

#include "data/synthetic/corpora.h"
#include "tasks/masked_language_model/masked_evaluation.h"
#include "train/run/chosen_checkpoint.h"
#include "train/run/metrics.h"
#include "train/run/overfitting.h"

namespace tapeformer::cli {
namespace {

// Prints how well masked tokens can be predicted on a generated corpus, if that is known: the optimum holds for rows in
// which every letter of the corpus, and nothing else, is a token.
void print_masked_optimum(const ResolvedConfig& config, const MaskedLanguageModel& model) {
  const bool letters = config.tokenizer.kind == TokenizerKind::character && config.tokenizer.file.empty() &&
                       config.data.document == DocumentEnd::none;
  const MaskedRowOptions rows = masked_row_options(config, model, 1);
  if (!letters || rows.pairs) return;
  const auto optimum = corpus_masked_optimum(config.data.corpus, rows.length - rows.marks(), rows.rates);
  if (!optimum) return;
  std::cout << "the corpus " << config.data.corpus << " has a masked optimum of " << optimum->nats
            << " nats per chosen letter, " << 100 * optimum->accuracy
            << " % right: the expected loss of the best possible model, on average over texts\n";
}

// Prints the smallest loss that any model can reach on a generated corpus, if that is known.
void print_entropy(const ResolvedConfig& config) {
  const std::optional<double> entropy = corpus_entropy(config.data.corpus);
  if (!entropy) return;
  std::cout << "the corpus " << config.data.corpus << " has an entropy of " << *entropy / std::numbers::ln2
            << " bits per byte (" << *entropy << " nats per character): no model can do better\n";
}

// Prints which weights commands read when they are given the run's folder, and how good the average is, if there is
// one.
void print_weights(const ResolvedConfig& config, const RunFolder& run, std::string_view measure,
                   std::span<const nlohmann::ordered_json> metrics) {
  const UsableCheckpoint meant = find_checkpoint(run.root);
  std::cout << "weights that commands read: " << meant.text;
  if (config.checkpoint.average > 0 || config.train.ema > 0) {
    const std::string_view average = config.train.ema > 0 ? "the moving average" : "the average of the last ones";
    const std::string name = measure.empty() ? "loss" : std::string(measure);
    const auto value =
        metrics.empty() ? nlohmann::ordered_json() : metrics.back().value("average_" + name, nlohmann::ordered_json());
    if (value.is_number()) {
      std::cout << (meant.averaged ? ", validation " : str_cat("; ", average, " has validation ")) << name << ' '
                << value.get<double>();
    } else {
      std::cout << "; " << average << " was not evaluated: --checkpoint average reads it";
    }
  }
  std::cout << '\n';
}

// Warns in plain words of overfitting.
void print_overfitting(const TrainingState& state, std::span<const nlohmann::ordered_json> metrics) {
  const auto found = find_overfitting(metrics, state.best_step);
  if (!found) return;
  std::cout << fmt::format(
      "overfitting: after step {} the training loss fell from {:.4g} to {:.4g}, and the validation loss rose from "
      "{:.4g} to {:.4g}: the model learns its training data by heart; more data, a smaller model, more dropout or "
      "fewer steps would help\n",
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
    std::cout << "best validation " << objective.task().metric << ' ' << 1 - state.best_loss << ", at step "
              << state.best_step << '\n';
  } else if (state.best_step > 0 && objective.can_evaluate()) {
    std::cout << "best validation loss " << state.best_loss << ' ' << objective.task().loss_unit << ", ";
    if (config.eval.batches == 0 && objective.has_bits_per_byte()) {  // the bytes are those of all validation data
      const double nats = state.best_loss * static_cast<double>(objective.validation().tokens);
      const Evaluation best{.tokens = objective.validation().tokens, .nats = nats};
      std::cout << best.bits_per_byte(objective.validation().bytes) << " bits per byte, ";
    }
    std::cout << "at step " << state.best_step << '\n';
  }
  const std::vector<nlohmann::ordered_json> metrics = read_metrics(run.metrics());
  if (objective.task().metric.empty()) print_overfitting(state, metrics);
  print_weights(config, run, objective.task().metric, metrics);
  if (!config.data.corpus.empty()) {
    const auto* const masked = dynamic_cast<const MaskedLanguageModel*>(&objective.model());
    if (masked) {
      print_masked_optimum(config, *masked);
    } else if (objective.task().has_perplexity) {  // else the loss is not that of a text
      print_entropy(config);
    }
  }
  std::cout << "curves: " << run.report().string() << "\nrun: " << run.root.string() << '\n';
}

void print_next_commands(const ResolvedConfig& config, const RunFolder& run) {
  const char* begin = "next:";
  for (const std::string_view command : config.task_row().next_commands) {
    const auto at = command.find('%');
    spdlog::info("{} tapeformer {}{}{}", begin, command.substr(0, at), shell_word(run.root.string()),
                 command.substr(at + 1));
    begin = "     ";
  }
}

}  // namespace tapeformer::cli
