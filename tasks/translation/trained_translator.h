// A trained encoder-decoder, loaded from a run.
#pragma once

#include "tasks/common/load_run.h"
#include "tasks/translation/translation_data.h"

namespace tapeformer {

struct TrainedTranslator : TrainedModel {
  PairTokenizers tokenizers;
  std::unique_ptr<EncoderDecoder> model;
};

template <>
TrainedTranslator load_run(const RunSelection& source, const LoadOptions& options);

}  // namespace tapeformer
