// The images, captions and tokens with which models of images are trained.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autograd/tensor/tensor.h"
#include "data/images/captioned_images.h"
#include "data/parallel/pair_batcher.h"
#include "train/config/config.h"

namespace tapeformer {

// The words of captions.
struct CaptionTokenizer {
  std::shared_ptr<const Tokenizer> tokenizer;
  SentenceSymbols symbols;

  // Returns the symbols for batches of captions. The source symbols have no meaning, since a source is the index of an
  // image.
  PairSymbols pair_symbols() const { return {symbols, symbols}; }
};
// Throws Error that names `origin` if the tokenizer has no begin, end and padding.
CaptionTokenizer caption_tokenizer(std::shared_ptr<const Tokenizer> tokenizer, const std::string& origin);

// Images with the tokens of their captions.
struct EncodedCaptions {
  CaptionedImages images;
  // The source of a pair is one number, the index of the image; the target is the caption.
  TokenPairs pairs;
  std::vector<std::int64_t> captions;  // for each pair, the index of its caption in images.captions()
  SkippedPairs skipped;                // captions that are left out
};
// Encodes the captions that can be used, of at most max_caption_length() tokens. Throws Error, naming the images, if
// none is left.
EncodedCaptions encode_captions(CaptionedImages images, const CaptionTokenizer& tokenizer,
                                const ResolvedConfig& config);
// Returns the largest number of tokens of a caption, not counting its end token.
std::int64_t max_caption_length(const ResolvedConfig& config);

// Returns images as models read them: f32 (count, 3, size, size), with values from −1 to 1.
Tensor image_batch(const CaptionedImages& images, std::span<const std::int64_t> indices);

struct CaptionData {
  CaptionTokenizer tokenizer;
  EncodedCaptions train;
  std::optional<EncodedCaptions> valid;
};

// Reads the images that the configuration names, or makes those of its corpus. If no tokenizer is given, it is read
// from tokenizer.file or learned from the captions of the training images. Throws Error as
// CaptionedImages::from_folder(), caption_tokenizer() and encode_captions() do.
CaptionData prepare_caption_data(const ResolvedConfig& config, std::shared_ptr<const Tokenizer> tokenizer,
                                 const ProgressMaker& progress);

}  // namespace tapeformer
