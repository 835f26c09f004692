// Captions of images by Transformers: an encoder of patches (ViT, Dosovitskiy et al. 2021) and a decoder that attends
// to all patches.
#pragma once

#include "nn/blocks/block.h"
#include "nn/layers/positions.h"
#include "nn/models/registry.h"
#include "nn/models/shared/caption_model.h"

namespace tapeformer {

struct VitConfig {
  std::int64_t vocab = 0;
  ImageShape image;
  std::int64_t context = 32;                    // the largest number of tokens of a caption
  std::int64_t layers = 4, encoder_layers = 4;  // of the decoder, and of the encoder
  BlockConfig block;
  PositionConfig position = LearnedPositions{};  // of patches in reading order, and of tokens
  double embedding_scale = 1;                    // the factor of token embeddings
  bool tied = true;
  double logit_softcap = 0;
};

// Returns this family's row of the registry (registry.h).
ModelFamily vit_family();

// The pixels of a patch, size/cells pixels wide, become its vector by one linear layer; positions are added, and a
// stack of blocks follows.
class Vit : public CaptionModel {
 public:
  // Throws UsageError if the cells do not divide the image.
  explicit Vit(const VitConfig& config);

  const VitConfig& config() const { return config_; }
  std::optional<std::int64_t> context() const override { return config_.context; }
  std::unique_ptr<Cache> make_cache(std::int64_t length, std::int64_t source_length) const override {
    return decoder_.make_cache(length, source_length);
  }
  // The features are the decoder's residual stream (R, T, dim).
  Variable decode(const Variable& ids, const EncoderOutput& source, Cache* cache = nullptr) const override {
    return decode_rows(ids, {}, source, cache);
  }
  // The logits are never in memory all at once.
  Variable loss(const SourceBatch& source, const Variable& inputs, const Variable& targets,
                const CrossEntropyOptions& options) const override;

 private:
  EncoderOutput read(const Variable& images, std::vector<Variable>* layers) const override;
  // Decodes captions (R, T) of which row r has lengths[r] tokens (i32 (R)); undefined: T.
  Variable decode_rows(const Variable& ids, const Tensor& lengths, const EncoderOutput& source, Cache* cache) const;

  VitConfig config_;
  Linear patch_embedding_;
  PositionEmbedding source_positions_, target_positions_;
  Dropout dropout_;
  BlockStack encoder_, decoder_;
};

}  // namespace tapeformer
