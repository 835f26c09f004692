// Evaluates models that write captions of images.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "generate/alignment/aligner.h"
#include "generate/target_writer.h"
#include "nn/interfaces/encoder_decoder.h"
#include "tasks/captioning/caption_data.h"
#include "train/loop/evaluation.h"

namespace tapeformer {

// A batch of captions and their images on a tape.
struct CaptionTensors {
  SourceBatch source;
  Variable inputs, targets;  // i32 (rows, caption length) each, as PairBatch has them

  CaptionTensors(Tape& tape, const PairBatch& batch, const CaptionedImages& images);
};

// Sums −ln P(token | image, earlier tokens) over all tokens of all captions, including the end of each. With
// max_batches above 0, only that many batches are scored. Ranks share the batches, and all return the whole result.
Evaluation evaluate_captions(const EncoderDecoder& model, const EncodedCaptions& captions,
                             const SentenceSymbols& symbols, const PairBatchOptions& batches,
                             std::int64_t max_batches = 0, const ProgressCallback& progress = {},
                             Communicator& ranks = Communicator::alone());

// A caption that a model has written, or a given one: its tokens and its text. Tokens with <unk> do not determine the
// text.
struct TokenizedCaption {
  std::vector<std::int32_t> ids;
  std::string text;
};
// Writes captions of the images with these indices.
std::vector<TokenizedCaption> captions_of(const EncoderDecoder& model, const CaptionedImages& images,
                                          std::span<const std::int64_t> indices, const CaptionTokenizer& tokenizer,
                                          const TranslateOptions& options, const ProgressCallback& progress = {});

// Where a model looks while it reads a caption.
struct CaptionAttention {
  std::vector<std::string> words;
  // For each word, the weights of the cells (side · side, in reading order), the mean over its tokens, layers and
  // heads.
  std::vector<std::vector<double>> weights;
  std::int64_t side = 0;
};
// Returns where the model looks in `image` while it reads the tokens of `caption` (teacher forcing), by these heads of
// cross-attention. Throws UsageError for a layer or head that the model does not have.
CaptionAttention caption_attention(const EncoderDecoder& model, const Tensor& image, const TokenizedCaption& caption,
                                   const CaptionTokenizer& tokenizer, const AlignmentHeads& heads = {});

// The number of words that name an object whose place in the image is known, and how many of these words have their
// largest weight on the object's cell.
struct LookedAt {
  std::int64_t words = 0, right = 0;
};
// Counts the words of one caption of an image of `size` × `size` pixels.
LookedAt looked_at(const CaptionAttention& attention, const std::vector<std::optional<Place>>& places,
                   std::int64_t size);

}  // namespace tapeformer
