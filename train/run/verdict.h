// What the curves of a training say about it, in plain words.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tapeformer {

// What the curves do not tell.
struct VerdictFacts {
  std::int64_t best_step = 0;  // the step of the best evaluation; 0: there is none
  // The evaluations up to this step are of other data, or scored in another way, than the later ones: only the lines
  // after it count.
  std::int64_t terms_since = 0;
  std::optional<double> passes = {};  // how often the training data was read; nullopt: not known
  bool dropout = false;               // the training losses were measured with dropout
  bool generated = false;  // the data is a generated corpus, of which the model may know all there is to know
};

// Returns at most two sentences, the first about the course of the validation loss, the second about its distance to
// the training loss. `lines` are those of metrics.jsonl. A training loss is the mean of those between two evaluations,
// which are a sample of the steps. The first sentence is that of the first rule that holds:
//
//   overfitting    find_overfitting()
//   risen          the last validation loss is more than 2 % above the best one
//   still falling  it fell by more than 1 % over the last quarter of at least 4 evaluations
//   settled        there are at least 8 evaluations
//
// and the second one follows unless the loss has risen, the data is generated, or the loss is below 0.05:
//
//   equal          the last validation loss is at most 2 % above the training loss; not for the first evaluation, whose
//                  training loss contains those of the beginning, which are larger than it has become
//   far above      it is more than 10 % above, and it is known how often the training data was read. If it was so in
//                  the first pass, where training data is new too, the validation data is another; else the data is
//                  small
//
// Both must hold wherever in its confidence interval the training loss is (LossPoint::training_error).
std::vector<std::string> training_verdict(std::span<const nlohmann::ordered_json> lines, const VerdictFacts& facts);

}  // namespace tapeformer
