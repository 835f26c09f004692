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

// Fills what is the same for every kind of model, and says where the weights are.
Weights load_shared(const std::filesystem::path& path, ModelTask task, const char* expected, const char* advice,
                    TrainedModel& trained) {
  const RunReference reference = find_run(path);
  trained.run = reference.run;
  trained.config = resolve(load_config(reference.run.config()));
  check(model_family(trained.config).task() == task, reference.run.root.string(), ": the model is a ",
        trained.config.model.type, ", expected ", expected, "; ", advice);
  const Weights weights = weights_of(reference, trained.warnings);
  trained.step = weights.step;
  return weights;
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
  TrainedLanguageModel trained;
  const Weights weights = load_shared(path, ModelTask::language_model, "a language model",
                                      "for encoder-decoders there are translate, eval and surprisal with --source and "
                                      "--target",
                                      trained);
  trained.tokenizer = Tokenizer::load(trained.run.tokenizer());
  trained.model = make_language_model(trained.config, model_vocabulary(trained.config, *trained.tokenizer));
  load_weights(trained.run, weights.folder, *trained.model);
  return trained;
}

TrainedTranslator load_translator(const std::filesystem::path& path) {
  TrainedTranslator trained;
  const Weights weights =
      load_shared(path, ModelTask::sequence_to_sequence, "an encoder-decoder",
                  "for language models there are generate, and eval and surprisal with --text", trained);
  trained.tokenizers = load_pair_tokenizers(trained.run, trained.config);
  const PairTokenizers& both = trained.tokenizers;
  trained.model =
      make_sequence_to_sequence(trained.config, model_vocabulary(trained.config, *both.source, *both.target));
  load_weights(trained.run, weights.folder, *trained.model);
  return trained;
}

}  // namespace tapeformer
