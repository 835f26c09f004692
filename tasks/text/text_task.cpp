#include "tasks/text/text_task.h"

#include <unistd.h>

#include <sstream>

#include "core/error.h"
#include "tasks/common/models.h"
#include "tasks/text/dummy_data.h"

namespace tapeformer {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

// Makes enough tokens for two steps.
LanguageData dummy_tokens(const ResolvedConfig& config, std::unique_ptr<Tokenizer> tokenizer) {
  const TokenCache cache(token_cache_folder());
  const std::filesystem::path path = cache.writable_folder() / str_cat("dummy-", ::getpid(), ".tokens");
  TokenFileWriter file(path, tokenizer->vocab_size(), 0, tokenizer->hash());
  const std::int64_t rows = config.train.batch * config.train.accumulate;
  file.append(random_ids(2 * rows * (config.block_size() + 1), *tokenizer));
  file.commit(0);
  LanguageData data{
      .tokenizer = std::move(tokenizer), .train = TokenFile::open(path), .valid = std::nullopt, .warnings = {}};
  std::filesystem::remove(path);  // the file stays readable while it is open
  return data;
}

std::unique_ptr<ObjectiveData> text_objective_data(LanguageData data) {
  return std::make_unique<DataOfOneTokenizer<LanguageData>>(std::move(data));
}

std::unique_ptr<ObjectiveData> prepare_text(const ResolvedConfig& config, const RunFolder* resumed,
                                            const ProgressMaker& progress) {
  auto tokenizer = resumed ? Tokenizer::load(resumed->tokenizer()) : nullptr;
  return text_objective_data(prepare_language_data(config, std::move(tokenizer), progress));
}

std::unique_ptr<ObjectiveData> dummy_text(const ResolvedConfig& config, const RunFolder* run) {
  return text_objective_data(dummy_tokens(config, dummy_text_tokenizer(config, run)));
}

EncodedText scored_text(const EvalRequest& request, const TrainedModel& run, const Tokenizer& tokenizer) {
  EncodedText text = read_text(request.text, run, tokenizer, request.warn);
  check(text.ids.size() >= 2, request.text, ": has ", text.ids.size(), " tokens, at least 2 are needed");
  return text;
}

EvalReport text_report(const EvalRequest& request, const TrainedModel& run, const EncodedText& text,
                       const std::optional<WindowOptions>& windows, const Evaluation& result) {
  require_finite(result);
  const TextFacts facts{text.bytes, text.unknown_share()};
  Json json = loss_json(result, facts);
  json["context"] = windows ? Json(windows->context) : Json(nullptr);
  json["stride"] = windows ? Json(windows->stride) : Json(nullptr);
  std::ostringstream table;
  table << "tokens         " << result.tokens << " scored of " << text.ids.size()
        << (result.parts.empty() ? " (the first has nothing before it)\n" : " by each prediction\n");
  table << loss_table(result, facts);
  table << "context        ";
  if (windows) {
    table << windows->context << ", stride " << windows->stride;
  } else {
    const std::int64_t streams = stream_count(std::span<const std::int32_t>(text.ids), request.rows());
    table << "all before it, in " << streams << (streams == 1 ? " part" : " parts");
  }
  table << ", " << run.checkpoint_text << '\n';
  return {with_run_keys(std::move(json), run), table.str()};
}

}  // namespace tapeformer
