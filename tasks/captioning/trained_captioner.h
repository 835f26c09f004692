// A trained model that writes captions, loaded from a run.
#pragma once

#include "tasks/captioning/caption_data.h"
#include "tasks/common/load_run.h"

namespace tapeformer {

struct TrainedCaptioner : TrainedModel {
  CaptionTokenizer tokenizer;
  std::unique_ptr<EncoderDecoder> model;

  std::int64_t image_size() const { return config.model.options.integer("image_size"); }
};

template <>
TrainedCaptioner load_run(const RunSelection& source, const LoadOptions& options);

}  // namespace tapeformer
