#include <fmt/format.h>

#include "nn/interfaces/encoder_for_classification.h"
#include "tasks/common/eval.h"
#include "tasks/common/models.h"
#include "tasks/common/task_rows.h"
#include "tasks/sentences/sentence_objective.h"
#include "tasks/text/dummy_data.h"
#include "tasks/text/language_data.h"
#include "tasks/translation/translation_data.h"
#include "train/config/data_kinds.h"
#include "train/config/rules.h"
#include "train/loop/objective_data.h"

namespace tapeformer {
namespace {

void check_sentences(const ResolvedConfig& config) {
  const ModelFamily& family = config.family();
  const Config::Task& task = config.task;
  const std::string data_key = data_kind(config.data);
  require(family.reads_text(), "task.kind: expected none for ", family.name,
          ", which gives no vectors of the tokens of a text, got ", task.kind);
  require(data_key.empty() || data_key == "data.pairs" || data_key == "data.corpus", "task.kind: ", task.kind,
          " trains on data.pairs, or on a corpus of pairs, got ", data_key);
  const std::int64_t least = config.task_row().least_rows, rows = config.train.batch * config.train.accumulate;
  require(rows >= least, "train.batch: expected at least ", least, " pairs in a step of task.kind = ", task.kind,
          ", got ", rows);
  const auto refuse = [&](bool is_default, const char* key, const auto& expected, const auto& got) {
    require(is_default, key, ": expected ", expected, " beside task.kind = ", task.kind, ", got ", got);
  };
  refuse(config.train.batch_tokens == 0, "train.batch_tokens", 0, config.train.batch_tokens);
  refuse(config.train.length_groups == 1, "train.length_groups", 1, config.train.length_groups);
  refuse(config.train.label_smoothing == 0, "train.label_smoothing", 0, config.train.label_smoothing);
  refuse(config.train.z_loss == 0, "train.z_loss", 0, config.train.z_loss);
  refuse(config.eval.batches == 0, "eval.batches", 0, config.eval.batches);
}

SentenceData read_sentences(const ResolvedConfig& config, const RunFolder* resumed, const ProgressMaker& progress) {
  SentenceData data{.tokenizer = nullptr,
                    .text = read_training_pairs(config),
                    .valid_text = read_validation_pairs(config.data),
                    .train = {},
                    .valid = {}};
  const PairSplit split = data.text.split(data.valid_text ? 0 : config.data.valid_fraction);
  data.train = split.train;
  data.valid = data.valid_text ? data.valid_text->pairs() : split.valid;
  data.tokenizer = known_tokenizer(config, resumed);
  if (data.tokenizer) return data;
  std::vector<std::string_view> texts;
  const auto add = [&](std::span<const SentencePair> pairs) {
    for (const SentencePair& pair : pairs) texts.push_back(pair.source), texts.push_back(pair.target);
  };
  add(data.train);
  if (config.tokenizer.kind == TokenizerKind::character) add(data.valid);
  data.tokenizer =
      train_tokenizer(tokenizer_options(config, false), texts, start_progress(progress, "learning merges"));
  return data;
}

SentenceData dummy_sentences(const ResolvedConfig& config, const RunFolder* run) {
  auto tokenizer = dummy_text_tokenizer(config, run);
  std::string sentence, lines;
  constexpr std::int64_t kSpecials = 2;  // the most that a family puts around a text
  for (const std::string& word : dummy_words(*tokenizer)) {
    const std::string longer = sentence.empty() ? word : str_cat(sentence, ' ', word);
    const std::int64_t length = std::ssize(tokenizer->encode(longer)) + kSpecials;
    if (!sentence.empty() && length > config.context().value_or(length)) break;
    sentence = longer;
  }
  for (std::int64_t i = 0; i < 2 * config.train.batch * config.train.accumulate; ++i)
    lines += str_cat(sentence, '\t', sentence, '\n');
  SentenceData data{std::move(tokenizer), ParallelText::from_lines(std::move(lines)), std::nullopt, {}, {}};
  data.train = data.text.pairs();
  return data;
}

struct SentenceObjectiveData : DataOfOneTokenizer<SentenceData> {
  using DataOfOneTokenizer::DataOfOneTokenizer;
  TrainingShape shape(const ResolvedConfig& config) const override {
    constexpr std::size_t kPairs = 512;  // a sample, of which the mean length is taken
    auto model = make_model_with_heads(config, vocabulary(config));
    double tokens = 0, rows = 0;
    const auto sample = data.train.first(std::min(kPairs, data.train.size()));
    for (const SentenceRows& pair :
         encode_sentences(sample, data.text.origin(), *data.tokenizer, row_frame(*model, *data.tokenizer))) {
      tokens += static_cast<double>(pair.first.ids.size() + pair.second.ids.size());
      rows += 2;
    }
    // Each micro-step reads the second sentences of all micro-steps of the step.
    const double repeated = (1 + static_cast<double>(config.train.accumulate)) / 2;
    const ParameterRates rates = encoder_rates(*model, config.task.layer_decay);
    return {.model = std::move(model),
            .rates = rates,
            .parts = find_task_row(config.family().task).heads.parts,
            .block_size = tokens / rows,
            .rows = 2,  // both sentences of a pair
            .flops = [repeated, train = config.train](ForwardFlops forward) {
              forward.other -= forward.head;
              return repeated * training_flops(forward, train);
            }};
  }
};

EvalReport evaluate_sentences(const EvalRequest& request) {
  require_no_pseudo_option(request);
  require_no_parts(request);
  const TrainedEmbedder run = open_run<TrainedEmbedder>(request);
  const kernels::MatmulPrecisionScope precision(run.matmul);
  const ParallelText text = ParallelText::from_pairs(request.pairs);
  for (const std::string& note : text.notes().lines()) request.warn(note);
  const std::vector<SentenceRows> pairs = encode_sentences(text.pairs(), text.origin(), *run.tokenizer, run);
  if (const auto note = unknown_note(pairs, *run.tokenizer, request.pairs, 0)) request.warn(*note);
  check(pairs.size() >= 2, request.pairs, ": expected at least two pairs of sentences, got ", pairs.size());
  const Evaluation result = evaluate(*run.model, pairs, run.config.task.temperature, request.rows(),
                                     start_progress(request.progress, "evaluating"));
  require_finite(result);
  const double accuracy = result.metrics[0].second;
  nlohmann::ordered_json json{{"pairs", pairs.size()}, {"accuracy", accuracy}, {"loss", result.loss()}};
  std::string table = fmt::format("{:<15} {}, {}\n", "pairs", pairs.size(), run.checkpoint_text);
  table += fmt::format("{:<15} {:.2f} % of the second sentences found\n", "accuracy", 100 * accuracy);
  table += fmt::format("{:<15} {:.4f} nats per pair\n", "loss", result.loss());
  return {with_run_keys(std::move(json), run), table};
}

}  // namespace

TaskRow sentences_task() {
  return {.name = "sentences",
          .help = "near vectors for two sentences that say the same (data.pairs)",
          .fine_tunes = true,
          .tunes_vectors = true,
          .model = "a model that is tuned on pairs of sentences",
          .commands =
              "for models that are tuned on pairs of sentences there are embed, neighbours, probe, and eval "
              "with --pairs",
          .next_commands = {"embed % --text TEXT", "eval % --pairs FILE"},
          .eval_input = "pairs",
          .loss_unit = "nats per pair of sentences",
          .has_perplexity = false,
          .metric_for_best_model = "accuracy",
          .reads_sentences = true,
          .least_rows = 2,
          .keys = {"layer_decay", "temperature"},
          .check = check_sentences,
          .prepare = [](const ResolvedConfig& config, const RunFolder* resumed,
                        const ProgressMaker& progress) -> std::unique_ptr<ObjectiveData> {
            return std::make_unique<SentenceObjectiveData>(read_sentences(config, resumed, progress));
          },
          .dummy = [](const ResolvedConfig& config, const RunFolder* run) -> std::unique_ptr<ObjectiveData> {
            return std::make_unique<SentenceObjectiveData>(dummy_sentences(config, run));
          },
          .make = make_from<SentenceObjective, SentenceData>,
          .optimum = [](const ResolvedConfig&) { return std::string(); },
          .evaluate = evaluate_sentences};
}

}  // namespace tapeformer
