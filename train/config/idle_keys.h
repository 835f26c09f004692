// Keys that are given though they have no effect.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "train/config/config_table.h"

namespace tapeformer {

struct IdleKey {
  ConfigEntry entry;
  std::string ruler;  // the key because of whose value nothing reads it: "schedule.kind"
  KeyValue expected;  // the value of a key that is not given, or for eval.bleu_every "never"
};

// Returns the keys with values that nothing reads because of another key's value: those of [task] beside a task that
// does not read them, task.layer_decay of a family without model.layers, those of [model] that say so
// (Key::read_beside), those of [schedule] beside a kind that has no use for them (any, while schedule.kind is auto),
// optimizer.lr beside schedule.factor, factors of rates where no embedding or no head with weights of its own learns,
// optimizer.state of an optimizer that keeps nothing, data.lines and data.seed beside data that is not generated,
// train.batch beside train.batch_tokens, train.outer_* where train.sync_every is 0, train.lora.* where train.lora.rank
// is 0, eval.bleu_* beside a task without BLEU, train.sample_* beside a task that continues no text, train.bptt beside
// a task that does not train the family's head, a second tokenizer beside a task that has one, and what says how text
// is cut, learned from, masked and evaluated beside a task whose rows are examples. Values that resolve() derives are
// not among them. Throws Error for an unknown task or model family, and as optimizer_options() does.
std::vector<IdleKey> idle_keys(const Config& config);

// Returns the key of the same family or optimizer beside whose value nothing reads this one (Key::read_beside); "" if
// something may read it.
std::string ruler_of_own_key(const ConfigEntry& entry, const Config& config);

// Throws UsageError that names the first such key.
void require_no_idle_keys(const Config& config);

// Gives each such key its expected value. Returns a text about each: "task.mix = true has no effect beside task.kind =
// tag".
std::vector<std::string> reset_idle_keys(Config& config);

}  // namespace tapeformer
