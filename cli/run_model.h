// What the commands do with a trained model: load it with its warnings shown, and read texts as it reads them.
#pragma once

#include <CLI/CLI.hpp>

#include "data/text/encode_text.h"
#include "train/evaluation/evaluation.h"
#include "train/trained_model.h"

namespace tapeformer::cli {

// load_language_model() and those beside it, with the warnings and the checkpoint that is read on standard error.
TrainedLanguageModel open_language_model(const ModelSource& run, const LoadOptions& options);
TrainedTextEncoder open_text_encoder(const ModelSource& run, const LoadOptions& options);
TrainedBidirectionalLanguageModel open_bidirectional_language_model(const ModelSource& run, const LoadOptions& options);
TrainedMaskedLanguageModel open_masked_language_model(const ModelSource& run, const LoadOptions& options);
TrainedSkipGramModel open_skip_gram_model(const ModelSource& run, const LoadOptions& options);
TrainedLabeller open_labeller(const ModelSource& run, const LoadOptions& options);
TrainedTranslator open_translator(const ModelSource& run, const LoadOptions& options);
TrainedEmbedder open_embedder(const ModelSource& run, const LoadOptions& options);

// The argument RUN of a command, with the option --checkpoint.
void add_run_argument(CLI::App& command, ModelSource& run);
// The option --matmul of a command.
void add_matmul_option(CLI::App& command, std::optional<MatmulSetting>& matmul);

// The ids of a prompt; after <|endoftext|>, which begins every document, for a model that keeps to documents.
std::vector<std::int32_t> prompt_tokens(const TrainedLanguageModel& run, std::string_view prompt);

// The text of a file, folder or glob as the run's training reads it (encode_inputs()).
EncodedText read_tokens(const ResolvedConfig& config, const Tokenizer& tokenizer, const std::string& input);

}  // namespace tapeformer::cli
