// A model that was fine-tuned on labels, loaded from a run. From a run of several tasks, it is the model of the task
// that RunSelection::task names.
#pragma once

#include "nn/interfaces/encoder_for_classification.h"
#include "tasks/common/load_run.h"

namespace tapeformer {

struct TrainedClassifier : TrainedModel {
  std::unique_ptr<Tokenizer> tokenizer;
  std::vector<std::string> labels;
  std::shared_ptr<const EncoderForClassification> model;
};

template <>
TrainedClassifier load_run(const RunSelection& source, const LoadOptions& options);

}  // namespace tapeformer
