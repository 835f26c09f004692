// Tiny configurations of every task and family, and a table of them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/temp_folder.h"
#include "train/config/config.h"

namespace tapeformer {

// A tiny GPT-2 on a few lines of stories, a character a token. What it is and how it trains does not depend on
// defaults.
inline Config toy_config() {
  Config config;
  config.model.options = {{"layers", std::int64_t{2}},
                          {"heads", std::int64_t{2}},
                          {"dim", std::int64_t{16}},
                          {"context", std::int64_t{16}},
                          {"position", std::string("learned")},
                          {"norm_kind", std::string("layer")},
                          {"activation", std::string("gelu")},
                          {"bias", true}};
  config.tokenizer.kind = TokenizerKind::character;
  config.data.corpus = "stories";
  config.data.lines = 20;
  config.optimizer.lr = 1e-3;
  config.optimizer.options["beta2"] = 0.98;
  config.schedule.kind = ScheduleKind::inverse_sqrt;
  config.schedule.warmup = 2;
  config.train.steps = 6;
  config.train.batch = 4;
  return config;
}

// Removes the generated corpus, so that other data can be named.
inline void remove_corpus(Config& config) {
  config.data.corpus = "";
  config.data.lines = Config().data.lines;
}

// A tiny model of another family on the same lines.
inline Config toy_config_of(const std::string& type, decltype(Config::Model::options) options) {
  Config config = toy_config();
  config.model.type = type;
  config.model.options = std::move(options);
  config.train.steps = 20;
  return config;
}

// A tiny model that reverses words, a character a token: 36 pairs to train on, 4 for validation.
inline Config translation_config() {
  Config config = toy_config_of("transformer", {{"layers", std::int64_t{1}},
                                                {"heads", std::int64_t{2}},
                                                {"dim", std::int64_t{16}},
                                                {"context", std::int64_t{16}}});
  config.train.steps = 6;
  config.data.corpus = "reverse";
  config.data.lines = 40;
  config.train.batch = 8;
  config.eval.bleu_every = 0;
  return config;
}

// A Llama-like gpt.
Config modern_config();
// A gpt of attention alone: no positions, norms, feed-forward layers and scale.
Config bare_config();
Config rnn_config(const std::string& cell = "lstm");
Config nplm_config();
Config bilm_config(const std::string& cell = "lstm");
// With `pairs`, a row has two segments, and the next-sentence prediction.
Config bert_config(bool pairs = false);
// By words.
Config word2vec_config();
Config glove_config();
// Captions of a few generated images by a model of images, with the attention penalty if it has one; small.
Config caption_config(const std::string& type);
// Fine-tuning on labels, which are written to a file of the folder: tag says what each word of a story is; classify
// says the first word of a short text; span finds the one of two words that a question asks for.
Config tag_config(const TempFolder& folder, const std::string& type = "bert");
Config classify_config(const TempFolder& folder);
Config span_config(const TempFolder& folder);
// Tunes a bert on words and their reverse.
Config sentences_config();

// A bert that learns its own task on a text and two tasks with labels, those of tag_config() and classify_config().
Config multi_task_config(const TempFolder& folder);

// Conversations, a character a token.
Config instructions_config(const std::string& type = "gpt");

// How a toy learns a generated corpus well in a short time: without weight decay, by a rate that falls to 0.
struct QuickTraining {
  std::string corpus = "markov";
  std::int64_t lines = 2000, steps = 300, batch = 16, warmup = 20;
  double lr = 0.01;
};
void learn_quickly(Config& config, const QuickTraining& training);

// Checks that the configuration is refused with this message when the key has this value.
void check_refused(Config config, const std::string& key, const std::string& value, const std::string& message);

struct NamedConfig {
  std::string name;
  Config config;
  bool fixed_shapes = true;  // whether all steps have tensors of the same sizes
};

// A toy of every task and family, with dropout and label smoothing where there may be some. Their micro-steps have
// unequal numbers of targets where that is possible.
std::vector<NamedConfig> all_toys(const TempFolder& folder);
Config without_dropout(Config config);

}  // namespace tapeformer
