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
  RunSelection run;
  // Input files, as the task reads them.
  std::string text = {}, source = {}, target = {}, labels = {}, images = {}, conversations = {}, pairs = {};
  std::optional<MatmulSetting> matmul = std::nullopt;
  std::optional<WeightFormat> weights = std::nullopt;
  std::int64_t stride = 0, context = 0;              // 0: the task's default
  std::optional<std::int64_t> batch = std::nullopt;  // see rows()
  bool no_pseudo = false;                            // leave out the pseudo-perplexity of a masked language model
  std::vector<std::string> without_heads = {};       // the names of heads that are removed (head_name())
  bool by_position = false, by_frequency = false;    // also report the loss by these properties of tokens
  bool by_length = false;                            // also report the BLEU of translations by the length of sources
  ProgressMaker progress = {};
  std::function<void(const std::string&)> warn = [](const std::string&) {};
  std::function<void(const TrainedModel&)> on_loaded = [](const TrainedModel&) {};  // called when the run is loaded

  // How many windows, sentences or examples the model reads at once.
  std::int64_t rows() const { return batch.value_or(16); }
};

struct EvalReport {
  nlohmann::ordered_json json;
  std::string table;  // the same result for people
};

// Returns the options by which load_run() loads the model that a request names.
LoadOptions load_options(const EvalRequest& request);

// Calls load_run() for a request.
template <class Trained>
Trained open_run(const EvalRequest& request) {
  Trained trained = load_run<Trained>(request.run, load_options(request));
  request.on_loaded(trained);
  return trained;
}

// Encodes the text of a file, folder or glob, read as the run's training reads it. For a causal model, text_prefix()
// comes first. Calls `warn` with each TextNote, and if the text has documents that the model has not learned to end.
EncodedText read_text(const std::string& input, const TrainedModel& run, const Tokenizer& tokenizer,
                      const std::function<void(const std::string&)>& warn);

// Adds the last keys of a result: the checkpoint, the heads that were removed, the precision of matrix products, and
// the format of the weights if it is not f32.
nlohmann::ordered_json with_run_keys(nlohmann::ordered_json json, const TrainedModel& run);

// Facts about the scored text that are reported beside the loss. Bits per byte are not reported if too many tokens are
// unknown: <unk> would count as if it predicted the bytes that it replaces.
struct TextFacts {
  std::int64_t bytes = 0;
  double unknown_share = 0;  // the share of its tokens that are the unknown token
  bool has_bits_per_byte() const { return unknown_share <= kMaxUnknownShare; }
};
// The loss, the perplexity and the bits per byte of a text, and the losses of Evaluation::parts: as the first rows of a
// report's table, and as the first keys of its JSON object.
std::string loss_table(const Evaluation& result, const TextFacts& facts);
nlohmann::ordered_json loss_json(const Evaluation& result, const TextFacts& facts);

// A task calls these functions for the options of `eval` that it does not support, so that no option is ignored. They
// throw UsageError if the option is given.

// Refuses --no-pseudo, which only masked language models have.
void require_no_pseudo_option(const EvalRequest& request);
// Refuses --by-position and --by-frequency, which only language models have.
void require_no_parts(const EvalRequest& request);
// Refuses --context and --stride. `reason` ends the message "expected none, since …".
void require_no_windows(const EvalRequest& request, std::string_view reason);

}  // namespace tapeformer
