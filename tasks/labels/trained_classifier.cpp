#include "tasks/labels/trained_classifier.h"

#include "core/error.h"
#include "tasks/labels/labelled_data.h"

namespace tapeformer {

template <>
TrainedClassifier load_run(const ModelSource& source, const LoadOptions& options) {
  const RunFolder run = find_run(source.path).run;
  check(task_of_run(source).has_labels, run.root.string(),
        ": the model is not fine-tuned on labels: expected a run of task.kind");
  return with_checkpoint(source, [&](const UsableCheckpoint& found) -> TrainedClassifier {
    TrainedModel trained = load_shared(found, options);
    const WeightFormatScope weights(trained.weights);
    auto tokenizer = Tokenizer::load(trained.run.tokenizer());
    std::vector<std::string> labels = read_labels(trained.run.labels());
    auto model = make_encoder_for_classification(trained.config, *tokenizer, std::ssize(labels));
    load_model(trained, found, options, *model);
    return {std::move(trained), std::move(tokenizer), std::move(labels), std::move(model)};
  });
}

}  // namespace tapeformer
