#include "train/loop/metrics_lines.h"

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/memory.h"

namespace tapeformer {

nlohmann::ordered_json step_line(const TrainingState& state, const StepResult& result, double lr, double tokens_per_s,
                                 const std::string& task) {
  const auto known = [&](double loss) {
    return result.scored ? nlohmann::ordered_json(loss) : nlohmann::ordered_json();  // null without a target
  };
  nlohmann::ordered_json line = {{"step", state.step}, {"tokens", state.tokens}, {"loss", known(result.loss)}};
  if (result.nll_loss) line["unsmoothed_loss"] = known(*result.nll_loss);
  line.update({{"lr", lr},
               {"grad_norm", result.grad_norm},
               {"tokens_per_s", tokens_per_s},
               {"elapsed_s", state.elapsed_s},
               {"peak_memory_bytes", peak_resident_bytes()}});
  if (!task.empty()) line["task"] = task;
  return line;
}

void add_metrics(nlohmann::ordered_json& line, const std::string& prefix, const Objective& objective,
                 const ResolvedConfig& config, const Evaluation& evaluation, const std::optional<double>& bleu) {
  line[prefix + "loss"] = evaluation.loss();
  if (objective.task().has_perplexity) line[prefix + "perplexity"] = evaluation.perplexity();
  line[prefix + "tokens"] = evaluation.tokens;
  for (const Evaluation::Part& part : evaluation.parts) {
    line[str_cat(prefix, part.name, "_loss")] = evaluation.part(part).loss();
  }
  for (const auto& [name, value] : evaluation.metrics) line[prefix + name] = value;
  if (config.eval.batches == 0 && objective.has_bits_per_byte())
    line[prefix + "bits_per_byte"] = evaluation.bits_per_byte(objective.validation().bytes);
  if (bleu) line[prefix + "bleu"] = *bleu;
}

nlohmann::ordered_json samples_json(std::span<const TextSample> samples) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const TextSample& sample : samples) {
    list.push_back({{"input", sample.input}, {"output", sample.output}});
    if (!sample.reference.empty()) list.back()["reference"] = sample.reference;
  }
  return list;
}

}  // namespace tapeformer
