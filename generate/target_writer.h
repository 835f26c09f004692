// Writes the targets of a batch of sources, whatever the sources are.
#pragma once

#include <span>
#include <vector>

#include "generate/translator.h"

namespace tapeformer {

// Returns the largest length of a target, with its end: `wanted` (TranslateOptions::max_length), but at most the
// model's context; where that is 0, the context, or `otherwise` for a model without one.
std::int64_t longest_target(const EncoderDecoder& model, std::int64_t wanted, std::int64_t otherwise);

// Returns the n best targets of each source, best first, by a beam search or by sampling (TranslateOptions; its batch
// and max_length are not read). starts[i] says how long target i may become. A sampled target is a function of
// hashes[i] and the seed. A target that has not ended before its last token gets the end token there; no target
// contains begin or padding tokens.
std::vector<std::vector<Hypothesis>> write_targets(const EncoderDecoder& model, const SourceBatch& sources,
                                                   const std::vector<RowStart>& starts,
                                                   std::span<const std::uint64_t> hashes,
                                                   const SentenceSymbols& symbols, const TranslateOptions& options);

// Returns the n best captions of each image, best first. images(first, count) gives images as SourceBatch has them, f32
// (count, 3, H, W). A caption has at most longest_target(model, options.max_length, kLongestCaption) tokens with its
// end. The caption of an image does not depend on the other images.
inline constexpr std::int64_t kLongestCaption = 100;
std::vector<std::vector<Hypothesis>> write_captions(
    const EncoderDecoder& model, const std::function<Tensor(std::int64_t first, std::int64_t count)>& images,
    std::int64_t count, const SentenceSymbols& symbols, const TranslateOptions& options,
    const ProgressCallback& progress = {});

}  // namespace tapeformer
