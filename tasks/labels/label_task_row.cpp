#include "tasks/labels/label_task_row.h"

#include "tasks/common/models.h"
#include "tasks/labels/fine_tuning_objective.h"
#include "tasks/labels/label_eval.h"
#include "tasks/labels/labelled_data.h"
#include "tasks/labels/labelled_rows.h"
#include "tasks/labels/plan.h"
#include "tasks/text/dummy_data.h"
#include "train/config/data_kinds.h"
#include "train/config/rules.h"
#include "train/loop/objective_data.h"

namespace tapeformer {
namespace {

void check_labels(const ResolvedConfig& config) {
  const ModelFamily& family = config.family();
  const Config::Task& task = config.task;
  find_task_row(family.task).check(config);
  const std::string data_key = data_kind(config.data);
  require(family.reads_text(), "task.kind: expected none for ", family.name,
          ", which gives no vectors of the tokens of a text, got ", task.kind);
  require(data_key.empty() || data_key == "data.labels", "task.kind: ", task.kind, " trains on data.labels, got ",
          data_key);
  require(config.eval.batches == 0, "eval.batches: expected 0 beside task.kind, whose metrics are of all validation ",
          "data, got ", config.eval.batches);
  require(!task.freeze || config.train.lora_rank == 0, "task.freeze: expected false beside train.lora.rank, whose ",
          "adapters are part of the encoder, got true");
  require(!task.freeze || task.layer_decay == 1, "task.layer_decay: expected 1 beside task.freeze, since no layer ",
          "learns, got ", task.layer_decay);
  require(task.class_weights == ClassWeights::none || (config.train.label_smoothing == 0 && config.train.z_loss == 0),
          "task.class_weights: expected none beside train.label_smoothing and train.z_loss, got ",
          word_of(task.class_weights));
  require(task.class_weights == ClassWeights::none || !find_label_task(task.kind).extracts_span,
          "task.class_weights: expected none for ", task.kind, ", which has no labels of its own, got ",
          word_of(task.class_weights));
}

// The mean number of tokens, and of labelled positions, in the rows of the examples.
struct MeanRow {
  double tokens = 0, positions = 0;
};

// Computes the means from a sample of the examples.
MeanRow mean_row(const LabelledData& data, const ResolvedConfig& config, const EncoderForClassification& model) {
  constexpr std::size_t kExamples = 512;
  const RowEncoder encoder(find_label_task(config.task.kind), model.encoder(), *data.tokenizer, data.labels);
  const std::size_t distance = data.train.size() / kExamples + 1;
  MeanRow sum;
  double rows = 0;
  for (std::size_t i = 0; i < data.train.size(); i += distance) {
    for (const LabelledRow& row :
         encoder.encode(data.train[i], place_of(data.train[i], config.data.labels, static_cast<std::int64_t>(i)))) {
      sum.tokens += static_cast<double>(row.ids.size());
      sum.positions += static_cast<double>(row.positions.size());
      ++rows;
    }
  }
  return {sum.tokens / rows, sum.positions / rows};
}

double task_flops(ForwardFlops forward, const MeanRow& row, double classifier, const ResolvedConfig& config) {
  forward.other -= forward.head;
  const double encoder = config.task.freeze ? forward.blocks + forward.other : training_flops(forward, config.train);
  return encoder + 3 * 2 * classifier * row.positions / row.tokens;
}

struct LabelledObjectiveData : DataOfOneTokenizer<LabelledData> {
  using DataOfOneTokenizer::DataOfOneTokenizer;
  TrainingShape shape(const ResolvedConfig& config) const override {
    auto model = make_encoder_for_classification(config, *data.tokenizer, std::ssize(data.labels));
    const MeanRow row = mean_row(data, config, *model);
    const auto classifier = static_cast<double>(model->parameter_count("task."));
    const ParameterRates rates = model->rates(config.task.layer_decay);
    std::vector<ModelPart> parts = find_task_row(config.family().task).heads.parts;
    parts.push_back({"task", "classifier of " + config.task.kind, {"task."}});
    return {.model = std::move(model),
            .rates = rates,
            .parts = std::move(parts),
            .block_size = row.tokens,
            .flops = [=](const ForwardFlops& forward) { return task_flops(forward, row, classifier, config); }};
  }
};

}  // namespace

LabelledData dummy_examples(const ResolvedConfig& config, KnownVocabulary known) {
  const LabelTask& task = find_label_task(config.task.kind);
  LabelledData data{.tokenizer = std::move(known.tokenizer), .labels = {}, .train = {}, .valid = {}};
  if (!data.tokenizer) data.tokenizer = dummy_text_tokenizer(config, nullptr);
  if (known.labels) {
    data.labels = std::move(*known.labels);
  } else if (task.extracts_span) {
    data.labels = {"start", "end"};
  } else {
    for (std::int64_t i = 0; i < kDummyLabels; ++i) data.labels.push_back(str_cat("label ", i));
  }
  const std::vector<std::string> words = dummy_words(*data.tokenizer);
  const std::int64_t count = 2 * config.train.batch * config.train.accumulate, labels = std::ssize(data.labels);
  for (std::int64_t i = 0; i < count; ++i) {
    LabelledExample& example = data.train.emplace_back();
    for (std::int64_t k = 0; k < kDummyLength; ++k) {
      const std::string& word = words[k];
      const std::string& label = data.labels[(i + k) % labels];
      if (task.pooled && k > 0) {
        example.pieces[0] += ' ' + word;
        continue;
      }
      example.pieces.push_back(word);
      example.labels.push_back(task.extracts_span && k == 0 ? "" : label);
    }
  }
  return data;
}

std::unique_ptr<ObjectiveData> labelled_objective_data(LabelledData data) {
  return std::make_unique<LabelledObjectiveData>(std::move(data));
}

TaskRow label_task_row(const LabelTask& task) {
  return {.name = task.name,
          .help = task.help,
          .fine_tunes = true,
          .has_labels = true,
          .model = "a model that is fine-tuned on labels",
          .commands = "for models that are fine-tuned on labels there are predict, and eval with --labels",
          .next_commands = {"predict % < FILE", "eval % --labels FILE"},
          .eval_input = "labels",
          .loss_unit = "nats per label",
          .has_perplexity = false,
          .metric_for_best_model = task.metric_for_best_model,
          .reads_sentences = true,
          .keys = {"freeze", "mix", "layer_decay", "dropout", "class_weights"},
          .check = check_labels,
          .prepare = [](const ResolvedConfig& config, const RunFolder* resumed,
                        const ProgressMaker& progress) -> std::unique_ptr<ObjectiveData> {
            return labelled_objective_data(prepare_labelled_data(config, vocabulary_of(resumed), progress));
          },
          .dummy = [](const ResolvedConfig& config, const RunFolder* run) -> std::unique_ptr<ObjectiveData> {
            return labelled_objective_data(dummy_examples(config, vocabulary_of(run)));
          },
          .make = make_from<FineTuningObjective, LabelledData>,
          .make_on = [](const ResolvedConfig& config, std::unique_ptr<ObjectiveData> data,
                        std::shared_ptr<Model> model) -> SharedObjective {
            auto objective = std::make_unique<FineTuningObjective>(config, take_data<LabelledData>(std::move(data)),
                                                                   std::move(model));
            const EncoderForClassification& classifier = objective->model();
            return {std::move(objective), &classifier};
          },
          .plan = plan_labels,
          .evaluate = evaluate_labels};
}

}  // namespace tapeformer
