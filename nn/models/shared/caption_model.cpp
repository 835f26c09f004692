#include "nn/models/shared/caption_model.h"

#include "autograd/tape/tape.h"

namespace tapeformer {

Key image_size_key() {
  return {"image_size", std::int64_t{32}, "width and height of the images in pixels", between(1, kMaxSize)};
}

CaptionModel::CaptionModel(const Config& config)
    : embedding_(config.target_vocab, config.dim, config.embedding_init, config.dtype),
      head_(embedding_, config.tied, config.dim, config.head_bias, config.head_init, config.dtype, config.softcap),
      image_(config.image),
      name_(config.name),
      dtype_(config.dtype) {}

const Variable& CaptionModel::checked(const Variable& images) const {
  check(images.defined() && images.value().rank() == 4 && images.size(1) == kImageChannels &&
            images.size(2) == image_.size && images.size(3) == image_.size,
        name_, ": expected images (B, ", kImageChannels, ", ", image_.size, ", ", image_.size, "), got ",
        images.defined() ? str_cat(images.sizes()) : "none");
  return images;
}

EncoderOutput CaptionModel::encode(Tape& tape, const SourceBatch& source) const {
  check(source.images.defined(), name_, ": expected images, got a batch without");
  return read(checked(Variable::constant(tape, source.images.to(dtype_))), nullptr);
}

std::vector<Variable> CaptionModel::hidden_states(const Batch& batch) const {
  std::vector<Variable> layers;
  read(checked(batch.input_features), &layers);
  return layers;
}

Tensor equal_lengths(std::int64_t batch, std::int64_t length) {
  return Tensor::full({batch}, DType::i32, static_cast<double>(length));
}

}  // namespace tapeformer
