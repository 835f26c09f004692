// Trains a model that writes captions of images, with teacher forcing.
#pragma once

#include "nn/interfaces/encoder_decoder.h"
#include "tasks/captioning/caption_data.h"
#include "tasks/translation/pair_objective.h"

namespace tapeformer {

class CaptionObjective : public PairObjective {
 public:
  // Makes the model that the configuration describes.
  CaptionObjective(const ResolvedConfig& config, CaptionData data);

  const EncoderDecoder& model() const override { return *model_; }
  const CaptionData& data() const { return data_; }
  DataFacts facts() const override;
  Variable micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, const MeanOver& mean) override;
  ValidationFacts validation() const override;
  Evaluation evaluate(const ProgressCallback& progress) override;

 private:
  // A source is the image of a validation caption, and its given text that caption.
  std::int64_t given_count() const override;
  TextSample given(std::int64_t index) const override;
  std::vector<std::string> written(std::int64_t first, std::int64_t count) const override;

  const CaptionData data_;
  const std::unique_ptr<EncoderDecoder> model_;
};

}  // namespace tapeformer
