#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "tests/temp_folder.h"
#include "tests/train/config/config_support.h"
#include "train/config/other_names.h"

using namespace tapeformer;

TEST_CASE("config: a file sets its keys and leaves the defaults of the others") {
  const Config config = parse(R"(
[model]
layers = 6
dropout = 0.25
bias = true
[data]
text = ["a.txt", "b/*.txt"]
valid = "c.txt"          # one string stands for a list of one
[optimizer]
lr = 1                   # a whole number is a number
[schedule]
kind = "cosine"
[train]
seed = 9_000_000_000
)");
  const KeyValues model = resolve(config).model.options;
  CHECK(model.integer("layers") == 6);
  CHECK(model.number("dropout") == 0.25);
  CHECK(model.boolean("bias") == true);
  CHECK(model.integer("heads") == 4);
  CHECK(config.data.text == std::vector<std::string>{"a.txt", "b/*.txt"});
  CHECK(config.data.valid == std::vector<std::string>{"c.txt"});
  CHECK(config.optimizer.lr == 1.0);
  CHECK(config.schedule.kind == ScheduleKind::cosine);
  CHECK(config.train.seed == 9'000'000'000);
  CHECK(parse("model.layers = 6\nmodel.bias = false\n") == parse("[model]\nbias = false\nlayers = 6\n"));
  CHECK(parse("") == Config{});
}

TEST_CASE("config: unknown keys and sections name the nearest known ones") {
  check_parse_error("[model]\nlayer = 4\n", "x.toml:2: unknown key model.layer: did you mean model.layers?");
  check_parse_error("[train]\n\nlr = 4\n", "x.toml:3: unknown key train.lr: did you mean optimizer.lr?");
  check_parse_error("[model.layers]\nx = 1\n", "x.toml:1: model.layers: expected a whole number, got a section");
  check_parse_error("[modle]\nlayers = 4\n", "x.toml:1: unknown section [modle]: did you mean [model]?");
  check_parse_error("[optim]\n", "x.toml:1: unknown section [optim]: did you mean [optimizer]?");
  check_parse_error("layers = 4\n", "x.toml:1: unknown key layers: did you mean model.layers?");
  check_parse_error("model = 4\n", "x.toml:1: expected a section [model], got the whole number 4");
  check_parse_error("[[model]]\nlayers = 4\n", "x.toml:1: expected a section [model], got a list");
  check_override_error("model.layer", "4", "unknown key model.layer: did you mean model.layers?");
  check_override_error("modle.layers", "4", "unknown key modle.layers: did you mean model.layers?");
  check_override_error("optimizer.beta", "4", "unknown key optimizer.beta: did you mean optimizer.beta1?");
  check_override_error("chekpoint.evry", "4", "unknown key chekpoint.evry: did you mean checkpoint.every?");
  check_override_error("eval.evry", "4", "unknown key eval.evry: did you mean eval.every?");
  check_parse_error("[model]\nn_layer = 4\n", "x.toml:2: unknown key model.n_layer: did you mean model.layers?");
  check_parse_error("max_iters = 4\n", "x.toml:1: unknown key max_iters: did you mean train.steps?");
  check_override_error("num-hidden-layers", "4", "unknown key num-hidden-layers: did you mean model.layers?");
  check_override_error("warmup", "4", "unknown key warmup: did you mean schedule.warmup?");
}

TEST_CASE("config: a wrong type says what was expected, what came, and where") {
  check_parse_error("[model]\nheads = 2\nlayers = \"four\"\n",
                    "x.toml:3: model.layers: expected a whole number, got the string \"four\"");
  check_parse_error("[model]\nlayers = 4.0\n", "x.toml:2: model.layers: expected a whole number, got the number 4.0");
  check_parse_error("[model]\ndropout = true\n", "x.toml:2: model.dropout: expected a number, got the boolean true");
  check_parse_error("[model]\nbias = 1\n", "x.toml:2: model.bias: expected true or false, got the whole number 1");
  check_parse_error("[model]\ntype = 1979-05-27\n", "x.toml:2: model.type: expected a string, got a date or time");
  check_parse_error("[model]\ntype = [\"gpt\"]\n", "x.toml:2: model.type: expected a string, got a list");
  check_parse_error("[data]\ntext = [\"a\", 1]\n",
                    "x.toml:2: data.text: expected a string or a list of strings, got a list");
  check_parse_error("[data]\ntext = false\n",
                    "x.toml:2: data.text: expected a string or a list of strings, got the boolean false");
  check_override_error("model.layers", "four", "model.layers: expected a whole number, got \"four\"");
  check_override_error("model.layers", "4.5", "model.layers: expected a whole number, got \"4.5\"");
  check_override_error("model.layers", "", "model.layers: expected a whole number, got \"\"");
  check_override_error("train.seed", "99999999999999999999",
                       "train.seed: expected a whole number, got \"99999999999999999999\"");
  check_override_error("optimizer.lr", "1e-3x", "optimizer.lr: expected a number, got \"1e-3x\"");
  check_override_error("model.bias", "yes", "model.bias: expected true or false, got \"yes\"");
}

TEST_CASE("config: a value out of range says what the range is") {
  check_parse_error("[optimizer]\nbeta1 = 1.5\n", "x.toml:2: optimizer.beta1: expected 0 <= value < 1, got 1.5");
  check_parse_error("[optimizer]\nlr = inf\n", "x.toml:2: optimizer.lr: expected a finite number, got inf");
  check_parse_error("[model]\ntype = \"perceptron\"\n",
                    "x.toml:2: model.type: expected " + choice_of_families() + ", got \"perceptron\"");
  check_override_error("optimizer.beta1", "1.5", "optimizer.beta1: expected 0 <= value < 1, got 1.5");
  check_override_error("model.norm_eps", "0", "model.norm_eps: expected value > 0, got 0.0");
  check_override_error("optimizer.eps", "0", "optimizer.eps: expected value >= 1e-20, got 0.0");
  check_override_error("optimizer.eps", "1e-46", "optimizer.eps: expected value >= 1e-20, got 1e-46");
  check_override_error("optimizer.lr", "nan", "optimizer.lr: expected a finite number, got nan");
  check_override_error("model.layers", "0", "model.layers: expected 1 <= value <= 8192, got 0");
  check_override_error("train.steps", "0", "train.steps: expected value >= 1, got 0");
  check_override_error("data.document", "page", "data.document: expected none, file, line or mark, got \"page\"");
  check_override_error("tokenizer.sample", "-1", "tokenizer.sample: expected value >= 0, got -1");
  check_override_error("model.norm", "rms", "model.norm: expected auto, pre or post, got \"rms\"");
  check_override_error("model.attention_dropout", "-0.5",
                       "model.attention_dropout: expected -1 or 0 <= value < 1, got -0.5");
  check_override_error("optimizer.weight_decay", "-0.5", "optimizer.weight_decay: expected -1 or value >= 0, got -0.5");
  check_override_error("model.init_std", "-1", "model.init_std: expected value >= 0, got -1.0");
  check_override_error("tokenizer.joint", "no", "tokenizer.joint: expected true or false, got \"no\"");
  check_override_error("eval.patience", "-1", "eval.patience: expected value >= 0, got -1");
  check_override_error("eval.bleu_tokenize", "zh", "eval.bleu_tokenize: expected 13a or none, got \"zh\"");
}

TEST_CASE("config: syntax errors and unreadable files") {
  CHECK_THROWS_WITH_AS(parse("[model]\nlayers = \n"), doctest::Contains("x.toml:2: "), UsageError);
  CHECK_THROWS_WITH_AS(parse("[model]\nlayers = 1\nlayers = 2\n"), doctest::Contains("x.toml:3: "), UsageError);
  CHECK_THROWS_WITH_AS(parse("[model\n"), doctest::Contains("x.toml:1: "), UsageError);
  CHECK_THROWS_WITH_AS(parse("[data]\ncorpus = \"\xff\"\n"), doctest::Contains("x.toml:2: "), UsageError);
  for (const char* text : {"[model]\nlayers = \n", "[model]\nlayers = 1\nlayers = 2\n", "[model\n", "a = \"\n\""}) {
    try {
      parse(text);
      FAIL("accepted: ", text);
    } catch (const UsageError& error) {
      CHECK(std::string(error.what()).find('\n') == std::string::npos);
    }
  }
  CHECK_THROWS_WITH_AS(load_config("no/such.toml"), "cannot open no/such.toml: No such file or directory", Error);
  const TempFolder folder;
  CHECK_THROWS_WITH_AS(load_config(folder.path), (folder.path.string() + " is a folder, expected a file").c_str(),
                       Error);
  CHECK(resolve(load_config(folder.write("good.toml", "[model]\nlayers = 7\n"))).model.options.integer("layers") == 7);
}

TEST_CASE("config: overrides of every type, lists by commas and by repetition") {
  Config config;
  apply_override(config, "model.layers", "12");
  apply_override(config, "optimizer.lr", "3e-4");
  apply_override(config, "model.bias", "true");
  apply_override(config, "model.type", "transformer");
  CHECK(resolve(config).model.options.integer("layers") == 12);
  apply_override(config, "data.text", "a.txt,b.txt");
  CHECK(config.optimizer.lr == 3e-4);
  CHECK_FALSE(resolve(Config{}).model.options.boolean("bias"));
  CHECK(std::get<bool>(config.model.options.at("bias")));
  CHECK(config.model.type == "transformer");
  CHECK(config.data.text == std::vector<std::string>{"a.txt", "b.txt"});
  apply_override(config, "data.text", std::vector<std::string>{"a.txt", "b.txt,c.txt"});
  CHECK(config.data.text == std::vector<std::string>{"a.txt", "b.txt", "c.txt"});
  apply_override(config, "data.text", "");
  CHECK(config.data.text.empty());
  CHECK_THROWS_WITH_AS(apply_override(config, "train.seed", std::vector<std::string>{"1", "2"}),
                       "train.seed: expected one value, got 2", UsageError);
}

TEST_CASE("config: keys of very many parts are refused, and only those") {
  const auto refused = [](const std::string& text, int line) {
    CHECK_THROWS_WITH_AS(parse(text), doctest::Contains(str_cat(":", line, ": a key has more than 16 parts").c_str()),
                         UsageError);
  };
  std::string key = "a";
  for (int i = 0; i < 100'000; ++i) key += ".a";
  refused("[" + key + "]\n", 1);
  refused("# a comment with 'a quote\n\n" + key + " = 1\n", 3);
  refused("[model]\nx = \"\"\"\n\n\"\"\"\ny = {" + key + " = 1}\n", 5);
  refused("\"a\" . 'b'" + key.substr(1) + " = 1", 1);
  const std::string dots(100, '.');
  const Config config = parse("# " + dots + "\n[data]\ntext = [\"" + dots + "\", '" + dots + "\\', \"\\\"" + dots +
                              "\"] # " + dots + "\n");
  CHECK(config.data.text == std::vector<std::string>{dots, dots + "\\", "\"" + dots});
}

TEST_CASE("config: its text tells whether it was changed since to_toml wrote it") {
  const std::string text = to_toml(resolve(Config{}));
  CHECK(is_unchanged(text));
  const std::size_t batch = text.find("\nbatch = ") + 9;
  for (std::string changed : {text.substr(0, text.size() / 2), text + " ", std::string(text).replace(batch, 1, "7"),
                              text.substr(text.find('\n') + 1), std::string()}) {
    CHECK_FALSE(is_unchanged(changed));
  }
  CHECK(has_checksum(text));
  CHECK_FALSE(has_checksum(text.substr(1)));
}

TEST_CASE("config: to_toml reads back to an equal configuration, to the last bit") {
  Config config;
  config.model.options["bias"] = false;
  config.data.text = {"a \"quoted\" name.txt", "tab\there", "back\\slash", "line\nbreak", "del\x7f", "größe.txt"};
  config.tokenizer.file = std::string(1, '\x01');
  config.data.within_document = true;
  config.optimizer.lr = 0.1 + 0.2;
  config.optimizer.options["weight_decay"] = std::numeric_limits<double>::denorm_min();
  config.optimizer.clip = 1e22;
  config.train.z_loss = std::nextafter(1.0, 2.0);
  config.train.seed = std::numeric_limits<std::int64_t>::max();
  const std::string text = to_toml(resolve(config));
  CHECK(resolve(parse(text)) == resolve(config));
  CHECK(to_toml(resolve(parse(text))) == text);
  CHECK(resolve(parse(to_toml(resolve(Config{})))) == resolve(Config{}));
  CHECK(text.find("\nbias = false                # biases in linear layers") != std::string::npos);
  CHECK(text.find("# model family: gpt, transformer, rnn") != std::string::npos);

  config.tokenizer.file = std::string(1, '\xff');
  CHECK_THROWS_WITH_AS(to_toml(resolve(config)), "configuration: expected text in UTF-8, got \"\xEF\xBF\xBD\"",
                       UsageError);
}

TEST_CASE("config: the list of keys has every key once, with a default that can be given back") {
  std::set<std::string> names;
  Config config;
  for (const ConfigKey& key : config_keys()) {
    CAPTURE(key.name);
    CHECK(names.insert(key.name).second);
    CHECK(!key.help.empty());
    CHECK(key.help.find('\n') == std::string::npos);
    const bool of_gpt = key.owners.empty() || std::ranges::count(key.owners, "gpt");
    const bool of_task = key.name.starts_with("tasks.");  // it would add a task
    if (of_gpt && !of_task) apply_override(config, key.name, key.default_value);
  }
  CHECK(resolve(config) == resolve(Config{}));
  for (const char* name : {"model.type",
                           "model.ff_dim",
                           "model.position_base",
                           "model.tie_embeddings",
                           "model.attention_dropout",
                           "model.init_std",
                           "tokenizer.sample",
                           "tokenizer.file",
                           "tokenizer.joint",
                           "tokenizer.target_file",
                           "data.valid_fraction",
                           "data.document",
                           "data.text_field",
                           "data.within_document",
                           "data.valid_target",
                           "data.valid_pairs",
                           "data.lines",
                           "optimizer.weight_decay",
                           "schedule.factor",
                           "train.batch_tokens",
                           "train.recompute",
                           "train.minutes",
                           "train.max_minutes",
                           "eval.batches",
                           "eval.patience",
                           "eval.bleu_every",
                           "eval.bleu_sentences",
                           "eval.bleu_tokenize",
                           "checkpoint.average"}) {
    CAPTURE(name);
    CHECK(names.contains(name));
  }
  const ConfigKey type = config_keys().front();
  CHECK(type.name == "model.type");
  REQUIRE(type.allowed.size() >= 2);
  CHECK(type.allowed[0] == "gpt");
  CHECK(type.allowed[1] == "transformer");
  CHECK(type.default_value == "gpt");
  CHECK(type.type == KeyType::string);
  for (const ConfigKey& key : config_keys()) {
    if (key.name != "model.norm") continue;
    CHECK(key.help.find("(auto = pre for gpt, post for transformer") != std::string::npos);
    CHECK(key.default_value == "auto");
  }
}

TEST_CASE("config: the files in configs/ are valid") {
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator(PROJECT_ROOT "/configs")) {
    if (file.is_directory()) continue;  // studies
    CAPTURE(file.path());
    ++files;
    const ResolvedConfig config = resolve(load_config(file.path()));
    CHECK(resolve(parse(to_toml(config))) == config);
  }
  CHECK(files >= 4);
  const ResolvedConfig gpt2 = resolve(load_config(PROJECT_ROOT "/configs/gpt2-small.toml"));
  CHECK(gpt2.model.options.integer("layers") == 12);
  CHECK(gpt2.model_dim() == 768);
  CHECK(gpt2.tokenizer.vocab == 50257);
}

TEST_CASE("config: what other programs call a key leads to a key that there is") {
  std::vector<std::string> names;
  for (const ConfigKey& key : config_keys()) names.push_back(key.name);
  for (const char* name : {"n_layer",
                           "n_head",
                           "n_embd",
                           "block_size",
                           "max_iters",
                           "batch_size",
                           "gradient_accumulation_steps",
                           "learning_rate",
                           "grad_clip",
                           "warmup_iters",
                           "lr_decay_iters",
                           "decay_lr",
                           "eval_interval",
                           "eval_iters",
                           "log_interval",
                           "dataset",
                           "dtype",
                           "num_hidden_layers",
                           "num_attention_heads",
                           "num_key_value_heads",
                           "hidden_size",
                           "intermediate_size",
                           "max_position_embeddings",
                           "hidden_act",
                           "tie_word_embeddings",
                           "scale_attn_weights",
                           "scale_embedding",
                           "mlp_bias",
                           "vocab_size",
                           "max_steps",
                           "per_device_train_batch_size",
                           "max_grad_norm",
                           "warmup_steps",
                           "lr_scheduler_type",
                           "eval_steps",
                           "save_steps",
                           "save_total_limit",
                           "logging_steps",
                           "gradient_checkpointing",
                           "adam_beta1",
                           "adam_beta2",
                           "adam_epsilon"}) {
    CHECK_MESSAGE(std::ranges::find(names, key_of_other_name(name)) != names.end(), std::string(name));
  }
  CHECK(key_of_other_name("learning-rate") == "optimizer.lr");
  CHECK(key_of_other_name("layers").empty());
}

TEST_CASE("config: a key's former name is read, and the new one is written") {
  const Config config = parse_config("[model]\ntype = \"bert\"\n[train]\nmask_rate = 0.25\n", "x.toml");
  CHECK(config.train.mlm_probability == 0.25);
  Config changed;
  apply_override(changed, "train.mask_rate", "0.5");
  CHECK(changed.train.mlm_probability == 0.5);
  const std::string written = to_toml(resolve(config));
  CHECK(written.find("\nmlm_probability = 0.25 ") != written.npos);
  CHECK(written.find("mask_rate") == written.npos);
  const TempFolder folder;
  write_file_atomically(folder.path / "x.toml", "[train]\nmask_rate = 0.25\n");
  CHECK(keys_given_in(folder.path / "x.toml") == std::set<std::string>{"train.mlm_probability"});
  const std::string twice = ": expected one value, got two, by two ways to write the name";
  check_parse_error("[train]\nmask_rate = 0.3\nmlm_probability = 0.2\n", "x.toml:3: train.mlm_probability" + twice);
  check_parse_error("[train]\nlora.rank = 4\n\"lora.rank\" = 8\n", "x.toml:3: train.lora.rank" + twice);
}
