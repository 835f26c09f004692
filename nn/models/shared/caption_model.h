// What the models that write captions of images share: the embedding of words, the head, and the keys of images.
#pragma once

#include "core/keys.h"
#include "nn/interfaces/encoder_decoder.h"
#include "nn/layers/layers.h"
#include "nn/layers/lm_head.h"

namespace tapeformer {

// Square images of `size` · `size` pixels with kImageChannels channels, which are read as cells · cells cells.
struct ImageShape {
  std::int64_t size = 32, cells = 4;
};
inline constexpr std::int64_t kImageChannels = 3;

// Returns the key image_size, the width and height of the images.
Key image_size_key();

// An encoder-decoder whose sources are images. It reads cells · cells vectors of an image, in reading order. A subclass
// registers embedding_ and head_, in its own order.
class CaptionModel : public EncoderDecoder {
 public:
  std::int64_t vocab() const override { return 0; }
  std::int64_t target_vocab() const override { return embedding_.weight.size(0); }
  Variable logits(const Variable& features) const override { return head_.logits(features); }
  EncoderOutput encode(Tape& tape, const SourceBatch& source) const final;
  // Returns the vectors of the encoder's layers, (B, P, F) each, for batch.input_features (B, 3, size, size). P is the
  // number of places of the image that a layer has a vector for, and may differ between layers like F.
  std::vector<Variable> hidden_states(const Batch& batch) const final;

 protected:
  struct Config {
    ImageShape image;
    const char* name;  // of the model, in error messages
    std::int64_t target_vocab, dim;
    bool tied;  // whether the head has the weights of the embedding
    Init embedding_init, head_init;
    bool head_bias;
    double softcap = 0;
    DType dtype = DType::f32;
  };
  explicit CaptionModel(const Config& config);

  Embedding embedding_;
  LMHead head_;

 private:
  // Reads images (B, 3, size, size); appends the vectors of each layer to `layers` if it is given.
  virtual EncoderOutput read(const Variable& images, std::vector<Variable>* layers) const = 0;
  const Variable& checked(const Variable& images) const;

  ImageShape image_;
  const char* name_;
  DType dtype_;
};

// Returns i32 (B) for sources that are all of the same length.
Tensor equal_lengths(std::int64_t batch, std::int64_t length);

}  // namespace tapeformer
