// The tokenizers and the sentence pairs that an encoder-decoder's configuration names.
#pragma once

#include <memory>
#include <optional>

#include "data/parallel/pair_batcher.h"
#include "data/parallel/parallel_text.h"
#include "train/config/config.h"
#include "train/run/run_folder.h"

namespace tapeformer {

// One vocabulary for both sides (then both are the same object), or one each.
struct PairTokenizers {
  std::shared_ptr<const Tokenizer> source, target;
  PairSymbols symbols;

  bool joint() const { return source == target; }
};

// Those of a run of this configuration. Throws Error as Tokenizer::load() does, and, naming the file, when a vocabulary
// lacks one of the tokens that frame sentences.
PairTokenizers load_pair_tokenizers(const RunFolder& run, const ResolvedConfig& config);

struct TranslationData {
  PairTokenizers tokenizers;
  TokenPairs train;
  std::optional<TokenPairs> valid;           // nothing where no pair is left for validation
  std::span<const SentencePair> valid_text;  // of all pairs for validation
  std::uint64_t hash = 0;                    // of the text to train on
  std::vector<ParallelText> texts;           // which the above looks at
};

// The most ids of a source and of a target: their end, or their beginning, fills the context.
PairLimits pair_limits(const ResolvedConfig& config);
// The ids of some pairs of a text. Throws Error as encode_pairs() does, naming the text.
TokenPairs encode_text(const ParallelText& text, std::span<const SentencePair> pairs, const PairTokenizers& tokenizers,
                       const ResolvedConfig& config);
// How a configuration's batches are made.
PairBatchOptions pair_batch_options(const ResolvedConfig& config);

// Reads or generates the text, and encodes it. Without tokenizers, they are read from tokenizer.file (and target_file)
// or trained: on the training text, by characters on the validation text too, of pairs that can be used alone. Throws
// Error when no pair is left to train on, or of validation data.
TranslationData prepare_translation_data(const ResolvedConfig& config,
                                         std::optional<PairTokenizers> tokenizers = std::nullopt);

}  // namespace tapeformer
