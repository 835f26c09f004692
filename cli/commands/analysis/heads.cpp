#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/options/run_model.h"
#include "cli/terminal/progress_line.h"
#include "cli/terminal/results.h"
#include "core/error.h"
#include "tasks/analysis/head_study.h"
#include "tasks/common/eval.h"
#include "tasks/masked_language_model/masked_evaluation.h"
#include "tasks/translation/trained_translator.h"

namespace tapeformer::cli {
namespace {

struct HeadsArguments {
  RunSelection run;
  std::string text, source, target;
  std::optional<MatmulSetting> matmul;
  std::int64_t batch = 16, top = 0;
  bool json = false;
};

HeadStudy study_language_model(const HeadsArguments& arguments) {
  const TrainedLanguageModel run = open_run<TrainedLanguageModel>(arguments.run, {.matmul = arguments.matmul});
  const kernels::MatmulPrecisionScope precision(run.matmul);
  const EncodedText text = read_text(arguments.text, run, *run.tokenizer, warn);
  return study_heads(*run.model, text.ids, {.batch = arguments.batch}, run.tokenizer->ordinary_ids(), show_progress);
}

HeadStudy study_masked_model(const HeadsArguments& arguments) {
  const auto run = open_run<TrainedMaskedLanguageModel>(arguments.run, {.matmul = arguments.matmul});
  const kernels::MatmulPrecisionScope precision(run.matmul);
  const EncodedText text = read_text(arguments.text, run, *run.tokenizer, warn);
  const std::span<const std::int32_t> ids = text.ids;
  const MaskedBatcher rows(ids, *run.tokenizer, masked_row_options(run.config, arguments.batch));
  HeadStudy study = study_heads(*run.model, rows, show_progress);
  check(study.all.tokens > 0, arguments.text,
        ": no token was chosen, and the heads are ranked by the loss of such tokens");
  return study;
}

HeadStudy study_translator(const HeadsArguments& arguments) {
  const TrainedTranslator run = open_run<TrainedTranslator>(arguments.run, {.matmul = arguments.matmul});
  const kernels::MatmulPrecisionScope precision(run.matmul);
  const ParallelText text = ParallelText::from_files(arguments.source, arguments.target);
  for (const std::string& note : text.notes().lines()) warn(note);
  const TokenPairs pairs = encode_text(text, text.pairs(), run.tokenizers, run.config);
  for (const std::string& note : pair_notes(pairs, run.tokenizers, run.config, arguments.source)) warn(note);
  return study_heads(*run.model, pairs, run.tokenizers.symbols, arguments.batch, show_progress);
}

HeadStudy study(const HeadsArguments& arguments) {
  require_task(arguments.run, {"language_model", "masked_language_model", "translation"});
  const ModelFamily& family = family_of_run(arguments.run);
  if (family.is_encoder_decoder() ? arguments.source.empty() : arguments.text.empty()) {
    fail_usage("heads: expected ", family.is_encoder_decoder() ? "--source FILE and --target FILE" : "--text FILE",
               " for this model");
  }
  if (family.is_encoder_decoder()) return study_translator(arguments);
  return family.is_causal() ? study_language_model(arguments) : study_masked_model(arguments);
}

std::string score_text(const std::optional<double>& score) { return score ? fmt::format("{:.3f}", *score) : "–"; }

Json study_json(const HeadStudy& study, std::span<const HeadReport> shown) {
  Json heads = Json::array();
  for (const HeadReport& head : shown) heads.push_back(head_json(head));
  return {{"tokens", study.all.tokens}, {"loss", study.all.loss()}, {"heads", std::move(heads)}};
}

// Names the head with the highest score of a kind.
std::string strongest(const HeadStudy& study, const char* kind,
                      const std::function<std::optional<double>(const HeadReport&)>& score) {
  const auto head = std::ranges::max_element(study.heads, {}, [&](const HeadReport& one) { return score(one); });
  const std::optional<double> highest = score(*head);
  return highest ? fmt::format("most {}: head {}, {:.3f}\n", kind, head_name(head->index), *highest) : "";
}

std::string heads_text(const HeadStudy& study, std::span<const HeadReport> shown) {
  Table table({{.width = 14, .gap = 0},
               {.width = 10, .right = true},
               {.width = 8, .right = true},
               {.width = 6, .right = true},
               {.width = 9, .right = true},
               {.width = 9, .right = true},
               {.width = 6, .right = true},
               {.width = 8, .right = true}});
  table.add({"head", "loss rises", "previous", "same", "induction", "on random", "first", "distance"});
  for (const HeadReport& head : shown) {
    const auto& [previous, same_token, induction, first, distance] = head.scores;
    table.add({head_name(head.index), fmt::format("{:+.4f}", head.loss_rise), score_text(previous),
               score_text(same_token), score_text(induction), score_text(head.repeated), score_text(first),
               distance ? fmt::format("{:.1f}", *distance) : "–"});
  }
  return fmt::format("loss with all heads: {:g} nats of each of {} tokens\n", study.all.loss(), study.all.tokens) +
         table.text() +
         strongest(study, "previous token", [](const HeadReport& head) { return head.scores.previous; }) +
         strongest(study, "induction on random tokens", [](const HeadReport& head) { return head.repeated; });
}

void print_heads(const HeadsArguments& arguments) {
  const HeadStudy result = study(arguments);
  std::span<const HeadReport> shown = result.heads;
  if (arguments.top > 0) shown = shown.first(std::min<std::size_t>(arguments.top, shown.size()));
  print_result(
      arguments.json, [&] { return study_json(result, shown); }, [&] { return heads_text(result, shown); });
}

}  // namespace

Command heads_command() {
  const auto arguments = std::make_shared<HeadsArguments>();
  return {
      .name = "heads",
      .help = "Rank the heads of attention by how much the loss rises without each, and say what they look at",
      .options = {run_argument(arguments->run),
                  checkpoint_option(arguments->run),
                  {"--text", &arguments->text, "Text file, for a language model"},
                  source_option(arguments->source, {"--text"}),
                  target_option(arguments->target),
                  {"--top", &arguments->top, "Only the N heads without which the loss rises most [all]", {.least = 1}},
                  {"--batch", &arguments->batch, "Windows or sentences at once [16]", {.least = 1}},
                  matmul_option(arguments->matmul),
                  {"--json", &arguments->json, "Print one JSON object"}},
      .run = [arguments] { print_heads(*arguments); }};
}

}  // namespace tapeformer::cli
