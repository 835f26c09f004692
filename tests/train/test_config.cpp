#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "core/error.h"
#include "tests/temp_folder.h"
#include "train/config/config.h"

using namespace tapeformer;

namespace {

Config parse(const std::string& text) { return parse_config(text, "x.toml"); }

// A resolved configuration after overrides of "key=value".
Config resolved(std::initializer_list<std::string> overrides) {
  Config config;
  for (const std::string& text : overrides) {
    const std::size_t equals = text.find('=');
    apply_override(config, text.substr(0, equals), text.substr(equals + 1));
  }
  return resolve(config);
}

void check_parse_error(const std::string& text, const std::string& message) {
  CAPTURE(text);
  CHECK_THROWS_WITH_AS(parse(text), message.c_str(), UsageError);
}

void check_override_error(const std::string& name, const std::string& value, const std::string& message) {
  Config config;
  CHECK_THROWS_WITH_AS(apply_override(config, name, value), message.c_str(), UsageError);
  CHECK(config == Config{});
}

void check_invalid(std::initializer_list<std::string> overrides, const std::string& message) {
  CHECK_THROWS_WITH_AS(validate(resolved(overrides)), message.c_str(), UsageError);
}

}  // namespace

TEST_CASE("config: a file sets its keys and leaves the defaults of the others") {
  const Config config = parse(R"(
[model]
layers = 6
dropout = 0.25
bias = false
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
  CHECK(config.model.layers == 6);
  CHECK(config.model.dropout == 0.25);
  CHECK(config.model.bias == false);
  CHECK(config.model.heads == Config{}.model.heads);
  CHECK(config.data.text == std::vector<std::string>{"a.txt", "b/*.txt"});
  CHECK(config.data.valid == std::vector<std::string>{"c.txt"});
  CHECK(config.optimizer.lr == 1.0);
  CHECK(config.schedule.kind == "cosine");
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
  check_parse_error("[model]\ntype = \"bert\"\n", "x.toml:2: model.type: expected gpt or transformer, got \"bert\"");
  check_override_error("optimizer.beta1", "1.5", "optimizer.beta1: expected 0 <= value < 1, got 1.5");
  check_override_error("optimizer.eps", "0", "optimizer.eps: expected value > 0, got 0.0");
  check_override_error("optimizer.lr", "nan", "optimizer.lr: expected a finite number, got nan");
  check_override_error("model.layers", "0", "model.layers: expected 1 <= value <= 1048576, got 0");
  check_override_error("train.steps", "0", "train.steps: expected value >= 1, got 0");
  check_override_error("data.document", "page", "data.document: expected none, file, line or mark, got \"page\"");
  check_override_error("tokenizer.sample", "-1", "tokenizer.sample: expected value >= 0, got -1");
  check_override_error("model.norm", "rms", "model.norm: expected auto, pre or post, got \"rms\"");
  check_override_error("model.attention_dropout", "-2", "model.attention_dropout: expected -1 <= value < 1, got -2.0");
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
  CHECK(load_config(folder.write("good.toml", "[model]\nlayers = 7\n")).model.layers == 7);
}

TEST_CASE("config: overrides of every type, lists by commas and by repetition") {
  Config config;
  apply_override(config, "model.layers", "12");
  apply_override(config, "optimizer.lr", "3e-4");
  apply_override(config, "model.bias", "false");
  apply_override(config, "model.type", "transformer");
  apply_override(config, "data.text", "a.txt,b.txt");
  CHECK(config.model.layers == 12);
  CHECK(config.optimizer.lr == 3e-4);
  CHECK(config.model.bias == false);
  CHECK(config.model.type == "transformer");
  CHECK(config.data.text == std::vector<std::string>{"a.txt", "b.txt"});
  apply_override(config, "data.text", std::vector<std::string>{"a.txt", "b.txt,c.txt"});
  CHECK(config.data.text == std::vector<std::string>{"a.txt", "b.txt", "c.txt"});
  apply_override(config, "data.text", "");
  CHECK(config.data.text.empty());
  CHECK_THROWS_WITH_AS(apply_override(config, "train.seed", std::vector<std::string>{"1", "2"}),
                       "train.seed: expected one value, got 2", UsageError);
}

TEST_CASE("config: to_toml reads back to an equal configuration, to the last bit") {
  Config config;
  config.model.bias = false;
  config.data.text = {"a \"quoted\" name.txt", "tab\there", "back\\slash", "line\nbreak", "del\x7f", "größe.txt"};
  config.data.corpus = std::string(1, '\x01');
  config.data.within_document = true;
  config.optimizer.lr = 0.1 + 0.2;
  config.optimizer.eps = std::numeric_limits<double>::denorm_min();
  config.optimizer.clip = 1e22;
  config.schedule.factor = std::nextafter(1.0, 2.0);
  config.train.seed = std::numeric_limits<std::int64_t>::max();
  const std::string text = to_toml(config);
  CHECK(parse(text) == config);
  CHECK(to_toml(parse(text)) == text);
  CHECK(parse(to_toml(Config{})) == Config{});
  CHECK(text.find("\nbias = false                # biases in linear layers") != std::string::npos);
  CHECK(text.find("# model family: gpt, transformer\n") != std::string::npos);

  config.data.corpus = std::string(1, '\xff');
  CHECK_THROWS_WITH_AS(to_toml(config), "configuration: expected text in UTF-8, got \"\xEF\xBF\xBD\"", UsageError);
}

TEST_CASE("config: the list of keys has every key once, with a default that can be given back") {
  std::set<std::string> names;
  Config config;
  for (const ConfigKey& key : config_keys()) {
    CAPTURE(key.name);
    CHECK(names.insert(key.name).second);
    CHECK(!key.help.empty());
    CHECK(key.help.find('\n') == std::string::npos);
    apply_override(config, key.name, key.default_value);
  }
  CHECK(config == Config{});
  CHECK(parse(to_toml(config)) == config);
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
  const auto& type = config_keys().front();
  CHECK(type.name == "model.type");
  CHECK(type.allowed == std::vector<std::string>{"gpt", "transformer"});
  CHECK(type.default_value == "gpt");
  CHECK(type.type == ConfigType::string);
}

TEST_CASE("config: resolve works out the defaults that depend on other keys") {
  const Config gpt = resolved({"model.dim=64", "train.steps=700", "model.context=32"});
  CHECK(gpt.model.norm == "pre");
  CHECK(gpt.model.activation == "gelu");
  CHECK(gpt.model.position == "learned");
  CHECK(gpt.model.tie_embeddings == "output");
  CHECK(gpt.model.ff_dim == 256);
  CHECK(gpt.optimizer.weight_decay == 0.1);
  CHECK(gpt.schedule.warmup == 200);
  CHECK(gpt.schedule.total == 700);
  CHECK(gpt.eval.stride == 32);
  CHECK(gpt.checkpoint.keep == 3);
  CHECK(gpt.model.attention_dropout == 0);
  CHECK(gpt.model.init_std == 0.02);

  const Config transformer = resolved({"model.type=transformer", "optimizer.name=adam", "schedule.factor=1"});
  CHECK(transformer.model.norm == "post");
  CHECK(transformer.model.activation == "relu");
  CHECK(transformer.model.position == "sinusoidal");
  CHECK(transformer.model.tie_embeddings == "all");
  CHECK(transformer.optimizer.weight_decay == 0);
  CHECK(transformer.schedule.warmup == 4000);
  CHECK(transformer.model.init_std == 0);  // Xavier's
  CHECK(transformer.eval.patience == 0);
  CHECK(transformer.eval.bleu_every == 1000);
  CHECK(transformer.eval.bleu_sentences == 1000);
  CHECK(transformer.eval.bleu_tokenize == "13a");
  CHECK(resolved({"model.type=transformer", "tokenizer.joint=false"}).model.tie_embeddings == "output");
  CHECK(resolved({"model.dropout=0.3"}).model.attention_dropout == 0.3);
  CHECK(resolved({"model.dropout=0.3", "model.attention_dropout=0"}).model.attention_dropout == 0);
  CHECK(resolved({"model.init_std=0.1"}).model.init_std == 0.1);

  const Config given = resolved({"model.norm=post", "model.ff_dim=10", "schedule.warmup=0", "schedule.total=9",
                                 "eval.stride=5", "checkpoint.average=10", "model.tie_embeddings=all"});
  CHECK(given.model.norm == "post");
  CHECK(given.model.ff_dim == 10);
  CHECK(given.schedule.warmup == 0);
  CHECK(given.schedule.total == 9);
  CHECK(given.eval.stride == 5);
  CHECK(given.checkpoint.keep == 10);
  CHECK(given.model.tie_embeddings == "output");
  CHECK(resolved({"checkpoint.keep=0", "checkpoint.average=10"}).checkpoint.keep == 0);

  for (const Config& config : {gpt, transformer, given}) {
    CHECK(resolve(config) == config);
    CHECK(to_toml(config).find("\"auto\"") == std::string::npos);
    CHECK_NOTHROW(validate(config));
  }
}

TEST_CASE("config: rules across keys") {
  CHECK_NOTHROW(validate(resolved({})));
  check_invalid({"model.heads=5"}, "model.heads: expected a divisor of model.dim, which is 128, got 5");
  check_invalid({"model.position=sinusoidal", "model.dim=5", "model.heads=1"},
                "model.dim: expected an even width for sinusoidal positions, got 5");
  check_invalid({"tokenizer.vocab=256"},
                "tokenizer.vocab: expected at least 257 for bpe (256 bytes and the end of a text), got 256");
  CHECK_NOTHROW(validate(resolved({"tokenizer.vocab=256", "tokenizer.kind=word"})));
  CHECK_NOTHROW(validate(resolved({"tokenizer.vocab=256", "tokenizer.file=t.json"})));
  check_invalid({"schedule.kind=cosine", "schedule.min_lr=0.01"},
                "schedule.min_lr: expected at most optimizer.lr, which is 0.001, got 0.01");
  check_invalid({"schedule.kind=linear", "schedule.min_lr=0.01"},
                "schedule.min_lr: expected at most optimizer.lr, which is 0.001, got 0.01");
  CHECK_NOTHROW(validate(resolved({"schedule.kind=constant", "schedule.min_lr=0.01"})));
  check_invalid({"eval.patience=3", "eval.every=0"},
                "eval.patience: expected eval.every above 0 beside it, since patience counts evaluations, got 0");
  check_invalid({"eval.stride=129"}, "eval.stride: expected at most model.context, which is 128, got 129");
  check_invalid({"train.batch_tokens=4096"},
                "train.batch_tokens: expected 0 for gpt, whose sequences are all as long as model.context, got 4096");
  // Each key is checked again, for a configuration that was made by hand.
  Config config = resolve(Config{});
  config.optimizer.beta2 = 1;
  CHECK_THROWS_WITH_AS(validate(config), "optimizer.beta2: expected 0 <= value < 1, got 1.0", UsageError);
}

TEST_CASE("config: training data is of one kind, whole, and right for the model") {
  const std::string seq2seq = "model.type=transformer";
  CHECK_NOTHROW(validate(resolved({"data.text=a", "data.valid=b"})));
  CHECK_NOTHROW(validate(resolved({"data.corpus=stories"})));
  CHECK_NOTHROW(validate(resolved({seq2seq, "data.source=a", "data.target=b", "train.batch_tokens=4096"})));
  CHECK_NOTHROW(
      validate(resolved({seq2seq, "data.source=a", "data.target=b", "data.valid_source=c", "data.valid_target=d"})));
  CHECK_NOTHROW(validate(resolved({seq2seq, "data.pairs=a", "data.valid_pairs=b"})));
  CHECK_NOTHROW(validate(resolved({seq2seq, "data.pairs=a", "tokenizer.joint=false", "tokenizer.target_file=t"})));
  check_invalid({seq2seq, "data.pairs=a", "tokenizer.target_file=t"},
                "tokenizer.target_file: expected tokenizer.joint = false beside it, since a joint vocabulary has one "
                "file");
  check_invalid({seq2seq, "data.pairs=a", "tokenizer.joint=false", "model.tie_embeddings=all"},
                "model.tie_embeddings: all needs tokenizer.joint = true, expected none or output");
  check_invalid({"data.text=a", "data.corpus=stories"},
                "data: expected one kind of training data, got data.text and data.corpus");
  check_invalid({"data.pairs=a", "data.source=a", "data.target=b"},
                "data: expected one kind of training data, got data.source and data.target and data.pairs");
  check_invalid({seq2seq, "data.source=a"}, "data.target: expected a file, since data.source is given");
  check_invalid({seq2seq, "data.target=a"}, "data.source: expected a file, since data.target is given");
  check_invalid({seq2seq, "data.source=a", "data.target=b", "data.valid_target=c"},
                "data.valid_source: expected a file, since data.valid_target is given");
  check_invalid({seq2seq, "data.pairs=a", "data.valid=b"}, "data.valid: expected data.text beside it, got none");
  check_invalid({seq2seq, "data.pairs=a", "data.valid_source=b", "data.valid_target=c"},
                "data.valid_source: expected data.source beside it, got none");
  check_invalid({"data.text=a", "data.valid_pairs=b"}, "data.valid_pairs: expected data.pairs beside it, got none");
  check_invalid({"data.pairs=a"}, "model.type: gpt trains on data.text or data.corpus, got data.pairs");
  check_invalid(
      {seq2seq, "data.text=a"},
      "model.type: transformer trains on data.source and data.target, data.pairs or data.corpus, got data.text");

  CHECK_NOTHROW(validate(resolved({"data.text=a", "data.within_document=true"})));
  check_invalid({seq2seq, "data.pairs=a", "data.within_document=true"},
                "data.within_document: expected model.type = gpt beside it, got transformer");
  CHECK_FALSE(parse("[data]\ndocument = \"line\"\n").data.within_document);  // of before there was the key

  CHECK_NOTHROW(require_data(resolved({"data.text=a"})));
  CHECK_THROWS_WITH_AS(
      require_data(resolved({})),
      "data: expected one of data.text, data.source and data.target, data.pairs, data.corpus; got none", UsageError);
}

TEST_CASE("config: the files in configs/ are valid") {
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator(PROJECT_ROOT "/configs")) {
    CAPTURE(file.path());
    ++files;
    const Config config = resolve(load_config(file.path()));
    CHECK_NOTHROW(validate(config));
    CHECK(resolve(parse(to_toml(config))) == config);
  }
  CHECK(files >= 4);
  const Config gpt2 = load_config(PROJECT_ROOT "/configs/gpt2-small.toml");
  CHECK(gpt2.model.layers == 12);
  CHECK(gpt2.model.dim == 768);
  CHECK(gpt2.tokenizer.vocab == 50257);
}
