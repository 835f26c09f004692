// The table of commands. To add a command, write a file in this folder, or in a folder in it, that defines
// NAME_command(), and add a row here.
#pragma once

#include <vector>

#include "cli/options/command.h"

// The rows have the order of --help.
#define TAPEFORMER_COMMANDS(ROW) \
  ROW(train)                     \
  ROW(eval)                      \
  ROW(generate)                  \
  ROW(translate)                 \
  ROW(caption)                   \
  ROW(surprisal)                 \
  ROW(bleu)                      \
  ROW(aer)                       \
  ROW(score)                     \
  ROW(flatten)                   \
  ROW(fill)                      \
  ROW(probe)                     \
  ROW(predict)                   \
  ROW(embed)                     \
  ROW(neighbours)                \
  ROW(attention)                 \
  ROW(heads)                     \
  ROW(import)                    \
  ROW(export)                    \
  ROW(runs)                      \
  ROW(report)                    \
  ROW(study)                     \
  ROW(scaling)                   \
  ROW(explain)                   \
  ROW(info)                      \
  ROW(tokenizer)                 \
  ROW(corpus)                    \
  ROW(gradcheck)

namespace tapeformer::cli {

// Command train_command(); …
#define TAPEFORMER_DECLARE(NAME) Command NAME##_command();
TAPEFORMER_COMMANDS(TAPEFORMER_DECLARE)
#undef TAPEFORMER_DECLARE

#define TAPEFORMER_ADD(NAME) all.push_back(NAME##_command());
inline std::vector<Command> all_commands() {
  std::vector<Command> all;
  TAPEFORMER_COMMANDS(TAPEFORMER_ADD)
  return all;
}
#undef TAPEFORMER_ADD

}  // namespace tapeformer::cli
