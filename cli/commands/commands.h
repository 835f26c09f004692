// The table of subcommands. Each function adds one to the application: its options, and its callback.
#pragma once

#include <CLI/CLI.hpp>

namespace tapeformer::cli {

void add_train_command(CLI::App& app);
void add_eval_command(CLI::App& app);
void add_generate_command(CLI::App& app);
void add_translate_command(CLI::App& app);
void add_surprisal_command(CLI::App& app);
void add_bleu_command(CLI::App& app);
void add_aer_command(CLI::App& app);
void add_fill_command(CLI::App& app);
void add_probe_command(CLI::App& app);
void add_predict_command(CLI::App& app);
void add_embed_command(CLI::App& app);
void add_neighbours_command(CLI::App& app);
void add_attention_command(CLI::App& app);
void add_runs_command(CLI::App& app);
void add_report_command(CLI::App& app);
void add_info_command(CLI::App& app);
void add_tokenizer_command(CLI::App& app);
void add_corpus_command(CLI::App& app);
void add_gradcheck_command(CLI::App& app);

// They are in the order in which --help lists them.
inline constexpr void (*kCommands[])(CLI::App&) = {
    add_train_command, add_eval_command,       add_generate_command,  add_translate_command, add_surprisal_command,
    add_bleu_command,  add_aer_command,        add_fill_command,      add_probe_command,     add_predict_command,
    add_embed_command, add_neighbours_command, add_attention_command, add_runs_command,      add_report_command,
    add_info_command,  add_tokenizer_command,  add_corpus_command,    add_gradcheck_command};

}  // namespace tapeformer::cli
