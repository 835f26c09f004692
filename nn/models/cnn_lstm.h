// Captions of images by a convolutional encoder and an LSTM with attention (Xu et al. 2015, "Show, attend and tell").
#pragma once

#include <memory>
#include <vector>

#include "nn/layers/convolution.h"
#include "nn/layers/positions.h"
#include "nn/models/registry.h"
#include "nn/models/shared/caption_model.h"
#include "nn/recurrent/recurrent_decoder.h"

namespace tapeformer {

struct CnnLstmConfig {
  std::int64_t vocab = 0;
  ImageShape image;  // the size is a multiple of cells·2^convolutions
  std::int64_t convolutions = 2;
  std::int64_t channels = 32;  // of the first convolution; each of the next has twice as many
  RecurrentConfig stack;       // one LSTM layer; input_dim is the width of the embeddings
  bool tied = false;
  double attention_penalty = 0;  // λ
};

// Returns this family's row of the registry (registry.h).
ModelFamily cnn_lstm_family();

// The encoder is `convolutions` times a 3×3 convolution with padding, ReLU, and the maximum of 2×2 pixels; then the
// maximum of each cell, and a linear layer, whose result plus a learned vector of the cell's place is a_i. The fewer
// convolutions there are, the less a cell's vector knows of its neighbours. The decoder is a RecurrentDecoder in the
// order "previous":
//
//   α_t = softmax_i w₂ᵀ tanh(W₁ [h_{t−1}; a_i]),  z_t = Σ_i α_ti a_i
//   h_t, c_t = LSTM(h_{t−1}, c_{t−1}, [E y_{t−1}; z_t])
//   h_0 = tanh(W_h ā + b_h),  c_0 = tanh(W_c ā + b_c),  ā = the mean of all a_i
//
// In training, λ Σ_i (1 − Σ_t α_ti)² of every image is added to the summed loss (Xu et al., equation 14): each cell
// should be looked at once. Neither CrossEntropyOptions::nll nor the loss on a tape without training has this part.
class CnnLstm : public CaptionModel {
 public:
  // Throws UsageError if the size of the images is no multiple of cells·2^convolutions.
  explicit CnnLstm(const CnnLstmConfig& config);

  const CnnLstmConfig& config() const { return config_; }
  std::optional<std::int64_t> context() const override { return std::nullopt; }
  std::unique_ptr<Cache> make_cache(std::int64_t, std::int64_t) const override {
    return RecurrentDecoder::make_cache();
  }
  // The features are r_t (R, T, embedding) of the RecurrentDecoder.
  Variable decode(const Variable& ids, const EncoderOutput& source, Cache* cache = nullptr) const override;
  Variable loss(const SourceBatch& source, const Variable& inputs, const Variable& targets,
                const CrossEntropyOptions& options) const override;

 private:
  EncoderOutput read(const Variable& images, std::vector<Variable>* layers) const override;
  // Target ids (R, T) → r_t (T, R, embedding).
  Variable readouts(const Variable& ids, const EncoderOutput& source, Cache* cache,
                    std::vector<Variable>* weights) const;

  CnnLstmConfig config_;
  std::vector<std::unique_ptr<Conv2d>> convolutions_;
  Linear cell_;
  PositionEmbedding positions_;
  Linear initial_h_, initial_c_;
  RecurrentDecoder decoder_;
};

}  // namespace tapeformer
