// The request that the command `eval` makes to a task, and the task's report.
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
  std::string text = {}, source = {}, target = {}, labels = {};  // input files, as the task reads them
  std::optional<MatmulSetting> matmul = std::nullopt;
  std::int64_t stride = 0, context = 0, batch = 16;  // 0: the task's default
  bool no_pseudo = false;
  ProgressMaker progress = {};
  std::function<void(const std::string&)> warn = [](const std::string&) {};
  std::function<void(const TrainedModel&)> tell = [](const TrainedModel&) {};  // called when the run is loaded
};

struct EvalReport {
  nlohmann::ordered_json json;
  std::string table;  // the same result for people
};

// Calls load_run() for a request.
template <class Trained>
Trained open_run(const EvalRequest& request) {
  Trained trained = load_run<Trained>(request.run, {.matmul = request.matmul});
  request.tell(trained);
  return trained;
}

// Reads the text of a file, folder or glob as the run's training reads it. `warn` is called with what is unusual in it.
EncodedText read_text(const std::string& input, const ResolvedConfig& config, const Tokenizer& tokenizer,
                      const std::function<void(const std::string&)>& warn);

// Adds the last keys to a result: the weights and the precision that it was computed with.
nlohmann::ordered_json finished(nlohmann::ordered_json json, const TrainedModel& run);

// Facts that are reported beside the loss. Bits per byte are not reported where too many tokens are unknown: <unk>
// would count as if it predicted the bytes that it replaces.
struct Measured {
  std::int64_t bytes = 0;
  double unknown_share = 0;  // share of unknown tokens
  bool has_bits_per_byte() const { return unknown_share <= kMaxUnknownShare; }
};
std::string loss_table(const Evaluation& result, const Measured& measured);
nlohmann::ordered_json loss_json(const Evaluation& result, const Measured& measured);

// Throws UsageError for the option --no-pseudo, which only masked language models have.
void require_no_pseudo_option(const EvalRequest& request);

}  // namespace tapeformer
