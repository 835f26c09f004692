// What the commands do with a trained model: load it with its warnings shown, and read texts as it reads them.
#pragma once

#include <CLI/CLI.hpp>

#include "data/text/encode_text.h"
#include "train/evaluation/evaluation.h"
#include "train/trained_model.h"

namespace tapeformer::cli {

// load_language_model() and those beside it, with the warnings on standard error.
TrainedLanguageModel open_language_model(const std::filesystem::path& run, const LoadOptions& options);
TrainedTextEncoder open_text_encoder(const std::filesystem::path& run, const LoadOptions& options);
TrainedBidirectionalLanguageModel open_bidirectional_language_model(const std::filesystem::path& run,
                                                                    const LoadOptions& options);
TrainedMaskedLanguageModel open_masked_language_model(const std::filesystem::path& run, const LoadOptions& options);
TrainedSkipGramModel open_skip_gram_model(const std::filesystem::path& run, const LoadOptions& options);
TrainedLabeller open_labeller(const std::filesystem::path& run, const LoadOptions& options);
TrainedTranslator open_translator(const std::filesystem::path& run, const LoadOptions& options);
TrainedEmbedder open_embedder(const std::filesystem::path& run, const LoadOptions& options);

// "step 500", or "average of the last checkpoints up to step 500".
std::string checkpoint_text(const TrainedModel& run);

// The option --matmul of a command.
void add_matmul_option(CLI::App& command, std::optional<MatmulSetting>& matmul);

// The ids of a prompt; after <|endoftext|>, which begins every document, for a model that keeps to documents.
std::vector<std::int32_t> prompt_tokens(const TrainedLanguageModel& run, std::string_view prompt);

// The text of a file, folder or glob as the run's training reads it (encode_inputs()).
EncodedText read_tokens(const ResolvedConfig& config, const Tokenizer& tokenizer, const std::string& input);

}  // namespace tapeformer::cli
