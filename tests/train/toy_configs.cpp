#include "tests/train/toy_configs.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "core/error.h"
#include "data/synthetic/corpora.h"

namespace tapeformer {

namespace {

constexpr std::int64_t kOne = 1, kTwo = 2;

}  // namespace

Config modern_config() {
  Config config = toy_config();
  config.model.options["norm_kind"] = "rms";
  config.model.options["position"] = "rotary";
  config.model.options["activation"] = "swiglu";
  config.model.options["kv_heads"] = kOne;
  config.model.options["qk_norm"] = true;
  config.model.options["bias"] = false;
  config.train.z_loss = 1e-2;
  return config;
}

Config bare_config() {
  Config config = toy_config();
  config.model.options["position"] = "none";
  config.model.options["norm_kind"] = "none";
  config.model.options["feed_forward"] = "none";
  config.model.options.erase("activation");
  config.model.options["attention_scale"] = 1.0;
  return config;
}

Config rnn_config(const std::string& cell) {
  Config config = toy_config_of("rnn", {{"cell", cell}, {"layers", kTwo}, {"dim", std::int64_t{12}}});
  config.train.bptt = 16;
  return config;
}

Config nplm_config() {
  Config config = toy_config_of(
      "nplm",
      {{"order", std::int64_t{4}}, {"embedding_dim", std::int64_t{6}}, {"dim", std::int64_t{10}}, {"dropout", 0.1}});
  config.data.lines = 40;
  return config;
}

Config bilm_config(const std::string& cell) {
  return toy_config_of("bilm",
                       {{"cell", cell}, {"layers", kTwo}, {"dim", std::int64_t{12}}, {"context", std::int64_t{16}}});
}

Config bert_config(bool pairs) {
  Config config = toy_config_of(
      "bert", {{"layers", kTwo}, {"heads", kTwo}, {"dim", std::int64_t{16}}, {"context", std::int64_t{18}}});
  if (pairs) {
    config.model.options["segments"] = kTwo;
    config.model.options["next_sentence"] = true;
  }
  return config;
}

Config word2vec_config() {
  Config config = toy_config_of("word2vec", {{"dim", std::int64_t{12}}, {"context", std::int64_t{8}}});
  config.tokenizer.kind = TokenizerKind::word;
  config.tokenizer.vocab = 200;
  return config;
}

Config glove_config() {
  Config config = word2vec_config();
  config.model.type = "glove";
  config.model.options["x_max"] = 20.0;
  return config;
}

Config caption_config(const std::string& type) {
  Config config = toy_config_of(type, {{"dim", std::int64_t{8}}});
  if (type == "cnn_lstm") {
    config.model.options["channels"] = kTwo;
    config.model.options["attention_penalty"] = 0.5;
  } else {
    config.model.options["layers"] = kOne;
    config.model.options["heads"] = kTwo;
    config.model.options["context"] = std::int64_t{16};
  }
  config.data.corpus = "shapes";
  config.tokenizer.kind = TokenizerKind::word;
  config.eval.bleu_every = 0;
  return config;
}

Config tag_config(const TempFolder& folder, const std::string& type) {
  std::string text;
  for (std::int64_t line = 0; line < 30; ++line) text += labelled_corpus_line("stories", line, 1);
  Config config = toy_config_of(type, {{"layers", kTwo}, {"dim", std::int64_t{16}}});
  if (type == "bert" || type == "gpt") {
    config.model.options["heads"] = kTwo;
    config.model.options["context"] = std::int64_t{24};
  }
  config.tokenizer.kind = TokenizerKind::word;
  remove_corpus(config);
  config.data.labels = folder.write("tag.tsv", text).string();
  config.data.valid_fraction = 0.2;
  config.task.kind = "tag";
  config.optimizer.lr = 1e-2;
  config.train.matmul = MatmulSetting::highest;
  return config;
}

Config classify_config(const TempFolder& folder) {
  Config config = tag_config(folder);
  const char *const colours[] = {"red", "blue", "green"}, *const toys[] = {"ball", "kite", "drum", "old bear"};
  std::string text;
  for (int i = 0; i < 40; ++i) text += str_cat(colours[i % 3], "\tthe ", toys[i % 4], i % 2 ? " is there\n" : "\n");
  config.data.labels = folder.write("classify.tsv", text).string();
  config.task.kind = "classify";
  return config;
}

Config span_config(const TempFolder& folder) {
  Config config = tag_config(folder);
  const char *const colours[] = {"red", "blue", "green"}, *const toys[] = {"ball", "kite", "drum"};
  std::string text;
  for (int i = 0; i < 60; ++i) {
    const std::string colour = colours[i % 3], toy = toys[i / 3 % 3];
    const std::string words = i % 4 < 2 ? "the " + colour + " and old " + toy : "old " + toy + " and the " + colour;
    text += i % 5 < 2 ? "which colour\t" + words + ".\t" + colour + "\n" : "which toy\t" + words + ".\t" + toy + "\n";
  }
  config.data.labels = folder.write("span.tsv", text).string();
  config.task.kind = "span";
  config.task.dropout = 0;
  return config;
}

Config multi_task_config(const TempFolder& folder) {
  Config config = tag_config(folder);
  config.train.steps = 6;
  config.tasks["tags"] = {.kind = "tag", .labels = config.data.labels};
  config.tasks["topic"] = {.kind = "classify", .labels = classify_config(folder).data.labels};
  config.tasks["text"] = {.kind = "masked_language_model", .corpus = "stories"};
  config.data.labels.clear();
  config.data.lines = 20;
  config.task.kind = "multi_task";
  return config;
}

Config instructions_config(const std::string& type) {
  Config config = type == "gpt" ? modern_config() : rnn_config();
  if (type == "gpt") config.model.options["context"] = std::int64_t{96};
  if (type == "rnn") config.train.bptt = 96;
  config.data.corpus = "instructions";
  config.data.lines = 60;
  config.data.valid_fraction = 0.2;
  config.task.kind = "instructions";
  return config;
}

Config sentences_config() {
  Config config = bert_config();
  config.data.corpus = "reverse", config.data.lines = 40;
  config.task.kind = "sentences";
  config.train.matmul = MatmulSetting::highest;  // bf16 would round the parts of a gradient, not its sum
  return config;
}

void learn_quickly(Config& config, const QuickTraining& training) {
  config.data.corpus = training.corpus;
  config.data.lines = training.lines;
  config.optimizer.lr = training.lr;
  config.optimizer.options["weight_decay"] = 0.0;
  config.schedule.kind = ScheduleKind::cosine;
  config.schedule.warmup = training.warmup;
  config.train.steps = training.steps;
  config.train.batch = training.batch;
}

void check_refused(Config config, const std::string& key, const std::string& value, const std::string& message) {
  CAPTURE(key);
  apply_override(config, key, value);
  CHECK_THROWS_WITH_AS(resolve(config), message.c_str(), UsageError);
}

std::vector<NamedConfig> all_toys(const TempFolder& folder) {
  Config recurrent_translation = translation_config();
  recurrent_translation.model = {.type = "rnn_seq2seq", .options = {{"layers", kOne}, {"dim", std::int64_t{12}}}};
  Config weighted = tag_config(folder);
  weighted.task.class_weights = ClassWeights::balanced;
  Config several = multi_task_config(folder);
  several.tasks.at("text").weight = 0.5;
  Config cbow = word2vec_config();
  cbow.model.options["architecture"] = std::string("cbow");
  std::vector<NamedConfig> all{
      {"gpt", toy_config()},
      {"gpt of modern blocks", modern_config()},
      {"gpt of attention alone", bare_config()},
      {"rnn, lstm", rnn_config("lstm")},
      {"rnn, gru", rnn_config("gru")},
      {"rnn, tanh", rnn_config("tanh")},
      {"nplm", nplm_config()},
      {"transformer", translation_config(), false},
      {"rnn_seq2seq", recurrent_translation, false},
      {"bilm, lstm", bilm_config("lstm")},
      {"bilm, gru", bilm_config("gru")},
      {"bert", bert_config(), false},
      {"bert, with next-sentence prediction", bert_config(true), false},
      {"word2vec", word2vec_config()},
      {"word2vec, cbow", cbow},
      {"glove", glove_config()},
      {"cnn_lstm", caption_config("cnn_lstm"), false},
      {"vit", caption_config("vit"), false},
      {"tag by bert", tag_config(folder), false},
      {"tag by bert, weighted", weighted, false},
      {"tag by gpt", tag_config(folder, "gpt"), false},
      {"tag by rnn", tag_config(folder, "rnn"), false},
      {"tag by bilm", tag_config(folder, "bilm"), false},
      {"classify by bert", classify_config(folder), false},
      {"span by bert", span_config(folder), false},
      {"instructions by gpt", instructions_config(), false},
      {"instructions by rnn", instructions_config("rnn"), false},
      {"sentences by bert", sentences_config(), false},
      {"several tasks by bert", several, false},
  };
  for (NamedConfig& toy : all) {
    Config& config = toy.config;
    const bool is_table = config.model.type == "word2vec" || config.model.type == "glove";
    if (!is_table) config.model.options["dropout"] = 0.1;
    if (config.model.type == "bilm") config.model.options["residual"] = true;
    const bool smooths =
        !is_table && config.task.class_weights == ClassWeights::none && config.task.kind != "sentences";
    config.train.label_smoothing = smooths ? 0.1 : 0;
    config.train.steps = 10, config.train.batch = 2, config.train.accumulate = 4;
    config.eval.every = 6;
    config.checkpoint.every = 4;
  }
  return all;
}

Config without_dropout(Config config) {
  if (std::ranges::count(resolve(config).task_row().keys, "dropout") > 0) config.task.dropout = 0;
  const auto dropout = config.model.options.find("dropout");
  if (dropout != config.model.options.end()) dropout->second = 0.0;
  return config;
}

}  // namespace tapeformer
