// Prepares the tokenizers and the sentence pairs that an encoder-decoder's configuration names.
#pragma once

#include <memory>
#include <optional>

#include "data/parallel/pair_batcher.h"
#include "data/parallel/parallel_text.h"
#include "train/config/config.h"
#include "train/run/run_folder.h"

namespace tapeformer {

// The tokenizers of both sides: the same object if they share one vocabulary, else one for each side.
struct PairTokenizers {
  std::shared_ptr<const Tokenizer> source, target;
  PairSymbols symbols;

  bool joint() const { return source == target; }
};

// Loads the tokenizers of a run of this configuration. Throws Error as Tokenizer::load() does, and, naming the file,
// when a vocabulary lacks one of the special tokens for the beginning, the end and the padding of sentences.
PairTokenizers load_pair_tokenizers(const RunFolder& run, const ResolvedConfig& config);

struct TranslationData {
  PairTokenizers tokenizers;
  TokenPairs train;
  std::optional<TokenPairs> valid;         // nullopt if there are no pairs for validation
  std::optional<ParallelText> valid_text;  // all pairs for validation
  std::uint64_t hash = 0;                  // the hash of the training text
  TextNotes notes;                         // problems of the files

  std::span<const SentencePair> valid_pairs() const {
    return valid_text ? valid_text->pairs() : std::span<const SentencePair>();
  }
};

// Reads or generates the sentence pairs to train on. Throws UsageError for a corpus of plain text.
ParallelText read_training_pairs(const ResolvedConfig& config);
// Reads the pairs for validation; nullopt if no files are named for them.
std::optional<ParallelText> read_validation_pairs(const Config::Data& data);

// The largest number of ids of a source and of a target: one position of the context is kept for the source's end, or
// the target's beginning. Where the model has no context, a pair must fit into train.batch_tokens.
PairLimits pair_limits(const ResolvedConfig& config);
// Encodes pairs of a text. Throws Error as encode_pairs() does, naming the text.
TokenPairs encode_text(const ParallelText& text, std::span<const SentencePair> pairs, const PairTokenizers& tokenizers,
                       const ResolvedConfig& config, const ProgressCallback& progress = {});
// Warnings about pairs that are scored: how many are left out, and how many tokens of their sources, from the file
// `source`, the vocabulary does not have.
std::vector<std::string> pair_notes(const TokenPairs& pairs, const PairTokenizers& tokenizers,
                                    const ResolvedConfig& config, const std::string& source);
// The options for evaluation batches, each as large as a micro-step.
PairBatchOptions pair_batch_options(const ResolvedConfig& config);
// The options for training batches: the micro-steps of a step are the pieces of train.length_groups buckets.
PairBatchOptions training_batch_options(const ResolvedConfig& config);

// Reads or generates the text, and encodes it. If no tokenizers are given, they are read from tokenizer.file (and
// target_file) or learned from the usable pairs of the training text; a character tokenizer learns from the validation
// text too. Throws Error when no pair is left for training, or none of the validation text.
TranslationData prepare_translation_data(const ResolvedConfig& config,
                                         std::optional<PairTokenizers> tokenizers = std::nullopt,
                                         const ProgressMaker& progress = {});

}  // namespace tapeformer
