// The tokenizers and the sentence pairs that an encoder-decoder's configuration names.
#pragma once

#include <memory>
#include <optional>

#include "data/parallel/pair_batcher.h"
#include "data/parallel/parallel_text.h"
#include "train/config/config.h"
#include "train/run/run_folder.h"

namespace tapeformer {

// Either one vocabulary for both sides, and then both are the same object, or one for each.
struct PairTokenizers {
  std::shared_ptr<const Tokenizer> source, target;
  PairSymbols symbols;

  bool joint() const { return source == target; }
};

// The tokenizers of a run of this configuration. Throws Error as Tokenizer::load() does, and, naming the file, when a
// vocabulary lacks one of the tokens that mark the beginning, the end and the padding of sentences.
PairTokenizers load_pair_tokenizers(const RunFolder& run, const ResolvedConfig& config);

struct TranslationData {
  PairTokenizers tokenizers;
  TokenPairs train;
  std::optional<TokenPairs> valid;         // nothing if there are no pairs for validation
  std::optional<ParallelText> valid_text;  // all pairs for validation
  std::uint64_t hash = 0;                  // of the training text
  TextNotes notes;                         // what was odd about the files

  std::span<const SentencePair> valid_pairs() const {
    return valid_text ? valid_text->pairs() : std::span<const SentencePair>();
  }
};

// The largest number of ids of a source and of a target: one position of the context is for its end or its beginning.
// Where the model has no context, a pair must fit into train.batch_tokens.
PairLimits pair_limits(const ResolvedConfig& config);
// The ids of pairs of a text. Throws Error as encode_pairs() does, naming the text.
TokenPairs encode_text(const ParallelText& text, std::span<const SentencePair> pairs, const PairTokenizers& tokenizers,
                       const ResolvedConfig& config, const ProgressCallback& progress = {});
// The batches of an evaluation, each as large as a micro-step.
PairBatchOptions pair_batch_options(const ResolvedConfig& config);
// The batches of training: the micro-steps of a step are the pieces of train.length_groups buckets.
PairBatchOptions training_batch_options(const ResolvedConfig& config);

// Reads or generates the text, and encodes it. Without tokenizers, they are read from tokenizer.file (and target_file)
// or trained on the usable pairs of the training text; char learns from the validation text too. Throws Error when no
// pair is left for training, or none of the validation text.
TranslationData prepare_translation_data(const ResolvedConfig& config,
                                         std::optional<PairTokenizers> tokenizers = std::nullopt,
                                         const ProgressMaker& progress = {});

}  // namespace tapeformer
