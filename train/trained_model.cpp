#include "train/trained_model.h"

#include <nlohmann/json.hpp>

#include "train/config/model_config.h"
#include "train/run/checkpoint.h"

namespace tapeformer {
namespace {

struct Weights {
  std::filesystem::path folder;
  std::int64_t step;
};

Weights weights_of(const RunReference& reference, std::vector<std::string>& warnings) {
  const std::filesystem::path average = reference.run.average();
  const bool has_average = std::filesystem::is_directory(average);
  if (reference.average || (!reference.step && has_average)) {
    const auto reason = verify_checkpoint(average);
    if (!reason) return {average, read_checkpoint_state(average).at("step").get<std::int64_t>()};
    check(!reference.average, average.string(), ": ", *reason);
    warnings.push_back(str_cat("damaged average skipped: ", average.string(), ": ", *reason));
  }
  const std::int64_t step = usable_checkpoint(reference, warnings);
  return {reference.run.checkpoint(step), step};
}

struct SharedPart {
  TrainedModel trained;
  std::filesystem::path weights;
};

// What is the same for every kind of model, and the folder of the weights.
SharedPart load_shared(const std::filesystem::path& path, ModelTask task, const char* expected, const char* advice) {
  const RunReference reference = find_run(path);
  TrainedModel trained{
      .run = reference.run, .config = resolve(load_config(reference.run.config())), .step = 0, .warnings = {}};
  check(trained.config.family().task() == task, reference.run.root.string(), ": the model is a ",
        trained.config.model.type, ", expected ", expected, "; ", advice);
  const Weights weights = weights_of(reference, trained.warnings);
  trained.step = weights.step;
  return {std::move(trained), weights.folder};
}

}  // namespace

std::int64_t usable_checkpoint(const RunReference& reference, std::vector<std::string>& warnings) {
  const RunFolder& run = reference.run;
  if (reference.step) {
    const std::filesystem::path folder = run.checkpoint(*reference.step);
    const auto reason = verify_checkpoint(folder);
    check(!reason.has_value(), folder.string(), ": ", reason.value_or(""));
    return *reference.step;
  }
  const NewestCheckpoint newest = newest_valid_checkpoint(run);
  for (const std::string& reason : newest.skipped) warnings.push_back("damaged checkpoint skipped: " + reason);
  check(newest.step.has_value(), run.root.string(), ": the run has no usable checkpoint");
  if (!newest.skipped.empty()) {
    warnings.push_back(str_cat("the newest checkpoint that is whole is of step ", *newest.step));
  }
  return *newest.step;
}

TrainedLanguageModel load_language_model(const std::filesystem::path& path) {
  SharedPart shared = load_shared(path, ModelTask::language_model, "a language model",
                                  "for encoder-decoders there are translate, eval and surprisal with --source and "
                                  "--target");
  const TrainedModel& trained = shared.trained;
  auto tokenizer = Tokenizer::load(trained.run.tokenizer());
  auto model = make_language_model(trained.config, model_vocabulary(trained.config, *tokenizer));
  load_weights(trained.run, shared.weights, *model);
  return {std::move(shared.trained), std::move(tokenizer), std::move(model)};
}

TrainedTranslator load_translator(const std::filesystem::path& path) {
  SharedPart shared = load_shared(path, ModelTask::sequence_to_sequence, "an encoder-decoder",
                                  "for language models there are generate, and eval and surprisal with --text");
  const TrainedModel& trained = shared.trained;
  PairTokenizers both = load_pair_tokenizers(trained.run, trained.config);
  auto model = make_sequence_to_sequence(trained.config, model_vocabulary(trained.config, *both.source, *both.target));
  load_weights(trained.run, shared.weights, *model);
  return {std::move(shared.trained), std::move(both), std::move(model)};
}

}  // namespace tapeformer
