// Whether a training went on after its validation loss had its minimum, and only the training loss still fell.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>

namespace tapeformer {

struct Overfitting {
  std::int64_t step = 0;         // of the best evaluation
  double best = 0, last = 0;     // the validation loss there, and of the last evaluation
  double before = 0, after = 0;  // the mean training losses between those evaluations and the ones before them
};

// Of the lines of metrics.jsonl, where the evaluation of `best_step` has the smallest loss. Nothing unless the last
// validation loss is more than a fiftieth above it, while the training loss fell and is the smaller one.
std::optional<Overfitting> find_overfitting(std::span<const nlohmann::ordered_json> lines, std::int64_t best_step);

}  // namespace tapeformer
