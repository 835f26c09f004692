#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/options/run_model.h"
#include "cli/terminal/results.h"
#include "cli/terminal/scored_tokens.h"
#include "tasks/masked_language_model/masked_evaluation.h"
#include "tokenizer/masked_symbols.h"

namespace tapeformer::cli {
namespace {

struct FillArguments {
  RunSelection run;
  std::string text;
  std::optional<MatmulSetting> matmul;
  std::int64_t top = 5;
  bool json = false;
};

Json json_of(const std::vector<FilledMask>& masks, const Tokenizer& tokenizer) {
  Json all = Json::array();
  for (const FilledMask& mask : masks) {
    all.push_back({{"place", mask.position}, {"tokens", tokens_json(mask.candidates, tokenizer, "probability")}});
  }
  return {{"masks", all}, {"matmul", word_of(kernels::MatmulPrecisionScope::current())}};
}

std::string text_of(const std::vector<FilledMask>& masks, const Tokenizer& tokenizer) {
  std::string text;
  for (std::size_t i = 0; i < masks.size(); ++i) {
    if (masks.size() > 1) text += fmt::format("{}{} {}\n", i ? "\n" : "", kMaskToken, i + 1);
    text += tokens_text(masks[i].candidates, tokenizer);
  }
  return text;
}

void print_fill(const FillArguments& arguments) {
  const TrainedMaskedLanguageModel run =
      open_run<TrainedMaskedLanguageModel>(arguments.run, {.matmul = arguments.matmul});
  const kernels::MatmulPrecisionScope precision(run.matmul);
  const std::int32_t mask = masked_symbols(*run.tokenizer).mask;
  const std::vector<std::int32_t> ids = masked_text_row(arguments.text, *run.tokenizer);
  const std::int64_t context = run.model->context().value_or(std::ssize(ids));
  check(std::ssize(ids) <= context, "fill: the text has ", ids.size(), " tokens with [CLS] and [SEP], the model reads ",
        "at most ", context);
  // Special tokens are no candidates, since no text contains them, except <unk>: it means a word that the vocabulary
  // lacks.
  std::vector<std::int32_t> excluded(run.tokenizer->special_ids().begin(), run.tokenizer->special_ids().end());
  std::erase(excluded, run.tokenizer->unknown_id().value_or(-1));
  const std::vector<FilledMask> masks = fill_masks(*run.model, ids, mask, arguments.top, excluded);
  if (masks.empty()) fail_usage("fill: --text: expected at least one ", kMaskToken, ", got none");
  warn_of_unknown(ids, *run.tokenizer, "the text");
  print_result(
      arguments.json, [&] { return json_of(masks, *run.tokenizer); }, [&] { return text_of(masks, *run.tokenizer); });
}

}  // namespace

Command fill_command() {
  const auto arguments = std::make_shared<FillArguments>();
  return {.name = "fill",
          .help = "The likeliest tokens at the masked places of a text, with their probabilities",
          .options = {run_argument(arguments->run),
                      checkpoint_option(arguments->run),
                      {"--text", &arguments->text, "The text, with [MASK] at one place or more", {.required = true}},
                      {"--top", &arguments->top, "Tokens for each place [5]", {.least = 1}},
                      matmul_option(arguments->matmul),
                      {"--json", &arguments->json, "Print one JSON object"}},
          .run = [arguments] { print_fill(*arguments); }};
}

}  // namespace tapeformer::cli
