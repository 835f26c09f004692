// Keys that are given though they have no effect.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "train/config/config_table.h"

namespace tapeformer {

struct IdleKey {
  ConfigEntry entry;
  std::string switch_key;  // the key because of whose value nothing reads it: "schedule.kind"
  KeyValue expected;       // the value of a key that is not given, or for eval.bleu_every and data.valid_fraction 0
};

// Returns the keys with values that nothing reads because of another key's value. These are:
// - the keys of [task] that the task does not read, and task.layer_decay for a family without model.layers;
// - the keys of [model] that another key switches off (Key::read_beside), and model.position_scaling by a factor of 1;
// - the keys of [schedule] that schedule.kind does not use (none while it is auto);
// - optimizer.lr beside schedule.factor; optimizer.embedding_lr where no embedding learns, and optimizer.head_lr where
//   no head with weights of its own learns; optimizer.state for an optimizer without moments;
// - data.lines and data.seed for data that is not generated (data.seed also draws validation examples with labels where
//   none are named); data.valid_fraction beside validation data; the keys that say how labelled text is written for
//   data of another kind;
// - train.batch beside train.batch_tokens; train.outer_* without train.sync_every; train.lora.* without a rank;
//   train.bptt for a task that does not train the family's head; train.sample_prompt and train.sample_tokens for a task
//   that does not use them;
// - eval.bleu_* for a task without BLEU, and the keys of a second tokenizer for a task with one;
// - the keys that say how text is cut, sampled for the tokenizer, masked and evaluated, for a task whose rows are
//   examples.
//
// Values that resolve() derives are not among them. Throws Error for an unknown task or model family, and as
// optimizer_options() does.
std::vector<IdleKey> idle_keys(const Config& config);

// Returns the key of the same family or optimizer whose value switches this one off (Key::read_beside); "" if something
// may read it.
std::string switch_of_own_key(const ConfigEntry& entry, const Config& config);

// Throws UsageError that names the first such key.
void require_no_idle_keys(const Config& config);

// Gives each such key its expected value. Returns a text about each: "task.mix = true has no effect beside task.kind =
// tag".
std::vector<std::string> reset_idle_keys(Config& config);

}  // namespace tapeformer
