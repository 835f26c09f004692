#include "tasks/common/text_start.h"

#include <algorithm>
#include <filesystem>
#include <span>

#include "core/error.h"
#include "data/text/text_files.h"
#include "data/text/text_source.h"
#include "generate/generator.h"
#include "tasks/common/models.h"
#include "tasks/common/shared_tasks.h"
#include "train/config/run_config.h"
#include "train/loop/initial_weights.h"
#include "train/run/checkpoint_store.h"

namespace tapeformer {
namespace {

// Returns whether a text of the training, a file, folder or glob, may have documents. If it is not there any more, its
// name tells whether it was JSON lines. A name without an ending may be that of a folder, which may have had documents.
bool may_have_documents(const std::string& input, const TextOptions& options) {
  try {
    return FileText(expand_inputs(std::span(&input, 1)), options).has_documents();
  } catch (const Error&) {
    const std::filesystem::path name(input);
    const bool may_be_folder = !name.has_extension() && name.parent_path() != "/dev/fd";
    return may_be_folder || FileText({name}, options).has_documents();
  }
}

// Returns whether the training text may have documents.
bool may_read_documents(const ResolvedConfig& config) {
  if (config.task_row().is_multi_task) {
    return std::ranges::any_of(shared_tasks(config), [](const SharedTask& task) {
      return !task.has_labels() && may_read_documents(task.config);
    });
  }
  const Config::Data& data = config.data;
  if (config.task_row().name != "language_model" || data.document != DocumentEnd::none) return true;
  if (data.text.empty()) return false;  // a generated corpus
  const TextOptions options = data.text_options();
  return std::ranges::any_of(data.text, [&](const std::string& input) { return may_have_documents(input, options); });
}

// Returns whether weights with which a training begins may have learned from a text with documents, in their own run or
// in one of the runs whose weights it began with. Returns true if this is not known: for a file of weights outside any
// run, or if a run is not there any more.
bool weights_may_know_documents(std::string init_from) try {
  constexpr int kMostRuns = 20;  // a run may have taken the place of one from which it descends
  for (int i = 0; !init_from.empty(); ++i) {
    const std::optional<RunFolder> run = initial_run(init_from);
    if (!run || i == kMostRuns) return true;
    const ResolvedConfig config = resolve(load_run_config(run->config()));
    if (is_imported(*run) || may_read_documents(config)) return true;
    init_from = config.train.init_from;
  }
  return false;
} catch (const Error&) {
  return true;
}

}  // namespace

bool may_know_end_of_text(const ResolvedConfig& config, bool is_imported) {
  return is_imported || may_read_documents(config) || weights_may_know_documents(config.train.init_from);
}

std::vector<std::int32_t> text_prefix(const ResolvedConfig& config, const Tokenizer& tokenizer, bool is_imported) {
  if (!config.family().is_causal() || config.task_row().tunes_vectors) return {};
  if (!is_imported && config.train.init_from.empty()) return {};
  return tokenizer.frame().before;
}

std::int32_t text_start(const ResolvedConfig& config, const Tokenizer& tokenizer, bool is_imported) {
  if (const auto prefix = text_prefix(config, tokenizer, is_imported); !prefix.empty()) return prefix.front();
  const auto end_of_text = tokenizer.special(kEndOfText);
  if (end_of_text && may_know_end_of_text(config, is_imported)) return *end_of_text;
  for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    if (tokenizer.is_ordinary(id) && tokenizer.token_bytes(id) == "\n") return id;
  }
  if (end_of_text) return *end_of_text;
  fail("the tokenizer has no token from which a text may begin: expected ", kEndOfText, " or a line end");
}

std::vector<std::int32_t> beginning_tokens(const ResolvedConfig& config, const Tokenizer& tokenizer,
                                           const CausalModel& model, std::string_view prompt, bool is_imported) {
  std::vector<std::int32_t> ids = prompt_tokens(tokenizer, model, prompt, text_prefix(config, tokenizer, is_imported));
  if (ids.empty()) ids.push_back(text_start(config, tokenizer, is_imported));
  return ids;
}

bool begins_text(const Tokenizer& tokenizer, std::string_view shown, std::span<const std::int32_t> ids) {
  return shown.empty() && !tokenizer.is_ordinary(ids.back());
}

}  // namespace tapeformer
