// Makes the JSON that metrics.jsonl has for a step, an evaluation and samples.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>

#include "train/loop/objective.h"
#include "train/loop/train_step.h"
#include "train/run/checkpoint.h"

namespace tapeformer {

// Returns the line for a step that was just done; `state` is the state after it.
nlohmann::ordered_json step_line(const TrainingState& state, const StepResult& result, double lr, double tokens_per_s,
                                 const std::string& task);

// Adds the results of an evaluation to a line, under names that begin with `prefix`.
void add_metrics(nlohmann::ordered_json& line, const std::string& prefix, const Objective& objective,
                 const ResolvedConfig& config, const Evaluation& evaluation, const std::optional<double>& bleu);

// Returns [{"input", "output", "reference" if there is one}].
nlohmann::ordered_json samples_json(std::span<const TextSample> samples);

}  // namespace tapeformer
