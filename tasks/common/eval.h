// What `eval` asks of a task, and what the task answers.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/progress.h"
#include "data/text/encode_text.h"
#include "tasks/common/load_run.h"
#include "train/loop/evaluation.h"

namespace tapeformer {

struct EvalRequest {
  ModelSource run;
  std::string text = {}, source = {}, target = {}, labels = {};  // files, as the task reads them
  std::optional<MatmulSetting> matmul = std::nullopt;
  std::int64_t stride = 0, context = 0, batch = 16;  // 0: the task's own
  bool no_pseudo = false;
  ProgressMaker progress = {};
  std::function<void(const std::string&)> warn = [](const std::string&) {};
  std::function<void(const TrainedModel&)> tell = [](const TrainedModel&) {};  // called with the run that was loaded
};

struct EvalReport {
  nlohmann::ordered_json json;
  std::string table;  // the same for people
};

// load_run() for a request.
template <class Trained>
Trained open_run(const EvalRequest& request) {
  Trained trained = load_run<Trained>(request.run, {.matmul = request.matmul});
  request.tell(trained);
  return trained;
}

// The text of a request, as the run's training reads it.
EncodedText read_text(const EvalRequest& request, const ResolvedConfig& config, const Tokenizer& tokenizer);

// A result, and as its last keys the weights and the precision that it was made with.
nlohmann::ordered_json finished(nlohmann::ordered_json json, const TrainedModel& run);

// What is scored beside the loss. Bits per byte are withheld where too many tokens are unknown: <unk> would count as if
// it predicted the bytes that it stands for.
struct Measured {
  std::int64_t bytes = 0;
  double unknown_share = 0;  // of the tokens
  bool has_bits_per_byte() const { return unknown_share <= kMaxUnknownShare; }
};
std::string loss_table(const Evaluation& result, const Measured& measured);
nlohmann::ordered_json loss_json(const Evaluation& result, const Measured& measured);

// Only a masked language model has a pseudo-perplexity that could be left out. Throws UsageError.
void require_no_pseudo_option(const EvalRequest& request);

}  // namespace tapeformer
