#include "tasks/common/load_run.h"

#include <algorithm>

#include "core/memory.h"
#include "core/text/joined.h"
#include "nn/attention/head_ablation.h"
#include "tasks/common/shared_tasks.h"
#include "tasks/common/text_start.h"
#include "train/config/run_config.h"

namespace tapeformer {
namespace {

ResolvedConfig config_of(const RunSelection& source) {
  return resolve(load_run_config(find_run(source.path).run.config()));
}

// Throws Error for a model that is fine-tuned to another task, unless `fits`.
void require_untuned(bool fits, const RunSelection& source, const ResolvedConfig& config, std::string_view expected) {
  check(fits, find_run(source.path).run.root.string(), ": the model is fine-tuned to ", config.task.kind, ", expected ",
        expected, "; ", config.task_row().commands);
}

// Throws Error unless the run's model fits. `expected` says in words which models do.
void require_model(const RunSelection& source, bool fits, std::string_view expected) {
  const ResolvedConfig config = config_of(source);
  require_untuned(trains_own_head(config), source, config, expected);
  check(fits, find_run(source.path).run.root.string(), ": the model is a ", config.model.type, ", expected ", expected,
        "; ", config.task_row().commands);
}

// Returns the precision of matrix products if the options give none.
MatmulSetting matmul_for(std::optional<WeightFormat> weights, MatmulSetting of_run) {
  if (weights == WeightFormat::bf16) return MatmulSetting::medium;
  return weights == WeightFormat::q8_0 ? MatmulSetting::automatic : of_run;
}

// Returns the format of matrices if the options give none and the precision is medium.
WeightFormat default_weights(const UsableCheckpoint& found, const LoadOptions& options) {
  const auto is_bf16 = [](const auto& entry) { return entry.second.dtype() == DType::bf16; };
  switch (options.default_weights) {
    case DefaultWeights::f32:
      return WeightFormat::f32;
    case DefaultWeights::as_stored: {
      const SafetensorsFile file(checkpoint_weights(found.folder));
      const bool halves = options.without_heads.empty() && std::ranges::any_of(file.entries(), is_bf16);
      return halves ? WeightFormat::bf16 : WeightFormat::f32;
    }
    case DefaultWeights::bf16:
      return WeightFormat::bf16;
  }
  return WeightFormat::f32;
}

// Returns the prefix of the tensors of a checkpoint that a model without classifiers does not read: those of the
// classifiers, if the run has several tasks; else "".
std::string_view unread_tensors(const ResolvedConfig& config) {
  return config.task_row().is_multi_task ? kClassifierTensors : std::string_view();
}

}  // namespace

void require_no_labels(const RunSelection& source, const ResolvedConfig& config, std::string_view expected) {
  require_untuned(!config.task_row().has_labels, source, config, expected);
}

void require_task(const RunSelection& source, std::initializer_list<std::string_view> tasks) {
  const auto model_of = [](std::string_view task) { return find_task_row(task).model; };
  require_model(source, std::ranges::count(tasks, config_of(source).family().task) > 0,
                joined(tasks, " or ", model_of));
}

std::vector<std::int32_t> text_prefix(const TrainedModel& run, const Tokenizer& tokenizer) {
  return text_prefix(run.config, tokenizer, run.is_imported());
}

TrainedModel load_shared(const UsableCheckpoint& found, const LoadOptions& options) {
  TrainedModel trained{.run = found.run,
                       .config = resolve(load_run_config(checkpoint_config(found.run, found.folder))),
                       .checkpoint = found.folder.filename().string(),
                       .checkpoint_text = found.text,
                       .step = found.step,
                       .without_heads = options.without_heads,
                       .warnings = found.warnings};
  if (!trained.without_heads.empty()) {
    trained.checkpoint_text += ", without the heads " + joined(trained.without_heads, ", ");
  }
  MatmulSetting matmul = options.matmul.value_or(matmul_for(options.weights, trained.config.train.matmul));
  if (matmul == MatmulSetting::automatic) matmul = fastest_matmul();
  trained.matmul = matmul_precision(matmul);
  if (!options.matmul) trained.matmul = inference_precision(trained.matmul);
  const TaskRow& family_task = find_task_row(trained.config.family().task);
  const bool holds_f32 = options.weights.value_or(WeightFormat::f32) == WeightFormat::f32;
  if (family_task.heads.f32_only && !holds_f32)
    fail_usage("--weights: expected f32 for ", family_task.model, ", got ", word_of(*options.weights));
  const bool is_medium = trained.matmul == kernels::MatmulPrecision::medium;
  if (options.weights == WeightFormat::bf16 && !is_medium) {
    fail_usage("--weights bf16: products of such weights are in bf16: expected --matmul medium, got ",
               word_of(trained.matmul));
  }
  if (!holds_f32 && !options.without_heads.empty()) {
    fail_usage("--weights ", word_of(*options.weights), ": heads can be removed from weights of f32 only");
  }
  const bool as_default = !options.weights && is_medium && !family_task.heads.f32_only;
  trained.weights = as_default ? default_weights(found, options) : options.weights.value_or(WeightFormat::f32);
  if (std::string warning = matmul_warning(trained.matmul); !warning.empty()) trained.warnings.push_back(warning);
  return trained;
}

void require_memory(const Module& model, WeightFormat weights, const std::string& origin) {
  constexpr DType kMatrices[] = {DType::f32, DType::bf16, DType::q8_0};  // in the order of WeightFormat
  std::int64_t bytes = 0;
  for (const NamedParameter& parameter : model.named_parameters()) {
    const bool is_matrix = parameter.role.kind != ParameterKind::vector;
    bytes +=
        bytes_of(is_matrix ? kMatrices[static_cast<int>(weights)] : DType::f32, parameter.variable.value().numel());
  }
  const auto gib = [](std::int64_t count) { return static_cast<double>(count) / (1 << 30); };
  const std::int64_t memory = machine_memory_bytes();
  check(bytes < memory, origin, ": the model needs ", gib(bytes), " GiB of memory with weights of ", word_of(weights),
        ", the machine has ", gib(memory));
}

void load_model(const TrainedModel& trained, const Module& model) {
  load_weights(trained.run, trained.run.checkpoints() / trained.checkpoint, model, unread_tensors(trained.config));
  std::vector<HeadIndex> heads;
  for (const std::string& name : trained.without_heads) heads.push_back(find_head(model, name));
  remove_heads(model, heads);
}

const TaskRow& task_of_run(const RunSelection& source) { return config_of(source).task_row(); }

const ModelFamily& family_of_run(const RunSelection& source) { return config_of(source).family(); }

std::vector<std::string> changed_data(const TrainedModel& run, std::uint64_t data_hash, std::uint64_t valid_hash) {
  TrainingState state;
  try {
    state = read_training_state(run.run, run.step);
  } catch (const Error&) {  // such as that of a checkpoint that a training has removed meanwhile
    return {};
  }
  std::vector<std::string> lines;
  const auto compare = [&](const char* what, std::uint64_t before, std::uint64_t now) {
    if (before != 0 && now != 0 && before != now)
      lines.push_back(str_cat("the ", what, " data is another than in the training of ", run.run.root.string()));
  };
  compare("training", state.data_hash, data_hash);
  compare("validation", state.valid_hash, valid_hash);
  return lines;
}

TrainedObjective load_trained_objective(const RunSelection& source, const LoadOptions& options) {
  return with_trained(source, options, [&](TrainedModel trained) -> TrainedObjective {
    auto objective = make_objective(trained.config, &trained.run);
    load_model(trained, objective->model());
    const DataFacts facts = objective->facts();
    for (std::string& line : changed_data(trained, facts.data_hash, facts.valid_hash))
      trained.warnings.push_back(std::move(line));
    return {std::move(trained), std::move(objective)};
  });
}

template <>
TrainedLanguageModel load_run(const RunSelection& source, const LoadOptions& options) {
  require_task(source, {"language_model"});
  return load_text_model(source, options, make_causal_model);
}

template <>
TrainedTextModel load_run(const RunSelection& source, const LoadOptions& options) {
  require_model(source, config_of(source).family().reads_text(), "a model of plain text");
  return load_text_model(source, options, make_model_with_heads);
}

}  // namespace tapeformer
