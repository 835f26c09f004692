// The subcommands: each function adds one to the application, with its options and what it does when called.
#pragma once

#include <CLI/CLI.hpp>

namespace tapeformer::cli {

void add_train_command(CLI::App& app);
void add_eval_command(CLI::App& app);
void add_generate_command(CLI::App& app);
void add_translate_command(CLI::App& app);
void add_surprisal_command(CLI::App& app);
void add_bleu_command(CLI::App& app);
void add_info_command(CLI::App& app);
void add_tokenizer_command(CLI::App& app);
void add_corpus_command(CLI::App& app);
void add_gradcheck_command(CLI::App& app);

}  // namespace tapeformer::cli
