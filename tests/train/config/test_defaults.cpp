// What a configuration has where nothing is given, which depends on the model's family.
#include <doctest/doctest.h>

#include "tests/temp_folder.h"
#include "tests/train/config/config_support.h"
#include "train/config/run_config.h"

using namespace tapeformer;

namespace {

ResolvedConfig default_of(const std::string& type) { return resolved({"model.type=" + type}); }

double optimizer_number(const ResolvedConfig& config, const std::string& key) {
  return optimizer_options(config).number(key);
}

void check_training(const std::string& type, ScheduleKind schedule, double lr, double beta2, double eps,
                    double weight_decay) {
  CAPTURE(type);
  const ResolvedConfig config = default_of(type);
  CHECK(word_of(*config.schedule.kind) == word_of(schedule));
  CHECK(config.optimizer.lr == lr);
  CHECK(optimizer_number(config, "beta2") == beta2);
  CHECK(optimizer_number(config, "eps") == eps);
  CHECK(std::get<double>(config.optimizer.options.at("weight_decay")) == weight_decay);
  CHECK(config.schedule.cooldown == 0.4);
}

void check_blocks(const std::string& type, const std::string& norm, const std::string& norm_kind,
                  const std::string& activation, const std::string& position, bool bias) {
  CAPTURE(type);
  const KeyValues model = default_of(type).model.options;
  CHECK(model.text("norm") == norm);
  CHECK(model.text("norm_kind") == norm_kind);
  CHECK(model.text("activation") == activation);
  CHECK(model.text("position") == position);
  CHECK(model.boolean("bias") == bias);
}

}  // namespace

TEST_CASE("defaults: a gpt has today's blocks; an encoder-decoder and bert have the published ones") {
  CHECK(resolve(Config{}) == default_of("gpt"));
  check_blocks("gpt", "pre", "rms", "swiglu", "rotary", false);
  check_blocks("transformer", "post", "layer", "relu", "sinusoidal", true);
  check_blocks("bert", "post", "layer", "gelu", "learned", true);
  CHECK(default_of("gpt").model.options.integer("ff_dim") == 352);  // as many parameters as 4 dim without a gate
  CHECK(default_of("transformer").model.options.integer("ff_dim") == 512);
  CHECK(default_of("word2vec").model.options.integer("dim") == 64);
}

TEST_CASE("defaults: language models and word vectors train by wsd, the others as published") {
  for (const char* type : {"gpt", "rnn", "bilm", "nplm"})
    check_training(type, ScheduleKind::wsd, 3e-3, 0.99, 1e-9, 0.1);
  check_training("word2vec", ScheduleKind::wsd, 5e-3, 0.99, 1e-8, 0);
  check_training("glove", ScheduleKind::wsd, 5e-3, 0.99, 1e-8, 0);
  const ResolvedConfig vectors = default_of("word2vec");
  CHECK(resolve(vectors.values()) == vectors);
  CHECK(resolve(parse(to_toml(vectors))) == vectors);
  check_training("bert", ScheduleKind::linear, 1e-3, 0.98, 1e-9, 0.1);
  for (const char* type : {"transformer", "rnn_seq2seq"}) {
    check_training(type, ScheduleKind::inverse_sqrt, 1e-3, 0.98, 1e-9, 0.1);
  }
}

TEST_CASE("defaults: fine-tuning has its own, whatever the family") {
  for (const char* type : {"gpt", "bert"}) {
    const ResolvedConfig config = resolved({str_cat("model.type=", type), "task.kind=tag"});
    CHECK(config.schedule.kind == ScheduleKind::inverse_sqrt);
    CHECK(config.optimizer.lr == 1e-3);
    CHECK(optimizer_number(config, "beta2") == 0.98);
  }
}

TEST_CASE("defaults: given values stay, auto and -1 stand for the default") {
  const ResolvedConfig given = resolved({"optimizer.lr=1e-3", "optimizer.beta2=0.98", "schedule.kind=inverse_sqrt",
                                         "model.norm_kind=layer", "model.bias=true"});
  CHECK(given.optimizer.lr == 1e-3);
  CHECK(optimizer_number(given, "beta2") == 0.98);
  CHECK(given.schedule.kind == ScheduleKind::inverse_sqrt);
  CHECK(given.model.options.text("norm_kind") == "layer");
  CHECK(given.model.options.boolean("bias"));
  CHECK(resolved({"optimizer.lr=0"}).optimizer.lr == 0);
  CHECK(resolved({"schedule.factor=1"}).schedule.kind == ScheduleKind::inverse_sqrt);  // of which it is the peak
  CHECK(resolved({"optimizer.lr=-1", "schedule.kind=auto", "model.norm_kind=auto"}) == resolve(Config{}));
  CHECK(parse("[schedule]\nkind = \"auto\"\n") == Config{});
  check_invalid({"optimizer.lr=-0.5"}, "optimizer.lr: expected -1 or value >= 0, got -0.5");
  check_invalid({"schedule.min_lr=4e-3"}, "schedule.min_lr: expected at most optimizer.lr, which is 0.003, got 0.004");
  CHECK_FALSE(resolved({"optimizer.name=sgd"}).optimizer.options.contains("beta2"));
  CHECK(optimizer_number(resolved({"optimizer.name=muon"}), "beta2") == 0.99);
}

TEST_CASE("defaults: a run's file has their values, so that it goes on with them") {
  const std::string text = to_toml(resolve(Config{}));
  for (const char* line : {"\nlr = 0.003 ", "\nkind = \"wsd\" ", "\nbeta2 = 0.99 ", "\nnorm_kind = \"rms\" "}) {
    CHECK_MESSAGE(text.find(line) != text.npos, std::string(line));
  }
  CHECK_FALSE(is_derived(resolve(Config{}), "optimizer.lr"));
  CHECK_FALSE(is_derived(resolve(Config{}), "schedule.kind"));
}

TEST_CASE("defaults: a run that was begun before model.norm_kind was there has layer norms") {
  std::string text = to_toml(resolved({"model.norm_kind=layer"}));
  const std::size_t line = text.find("\nnorm_kind = ");
  text.erase(line, text.find('\n', line + 1) - line);
  const TempFolder folder;
  CHECK(resolve(load_run_config(folder.write("config.toml", text))).model.options.text("norm_kind") == "layer");
}

TEST_CASE("defaults: the help of a key says which family has which default") {
  const auto help_of = [](std::string_view name) {
    const std::vector<ConfigKey> keys = config_keys();
    return std::ranges::find(keys, name, &ConfigKey::name)->help;
  };
  const auto has = [](const std::string& help, std::string_view part) { return help.find(part) != help.npos; };
  CHECK(has(help_of("optimizer.lr"), "(-1 = 0.003 for gpt, rnn, bilm, nplm"));
  CHECK(has(help_of("optimizer.lr"), "; 0.001 for task.kind)"));
  CHECK(
      has(help_of("schedule.kind"),
          "(auto = inverse_sqrt with schedule.factor, else wsd for gpt, rnn, bilm, nplm, word2vec, glove; inverse_sqrt "
          "for"));
  CHECK(has(help_of("schedule.kind"), "linear for bert"));
  CHECK(has(help_of("optimizer.beta2"), "(default of families: 0.99 for gpt, rnn, bilm, nplm, word2vec, glove)"));
  CHECK_FALSE(has(help_of("optimizer.beta1"), "default of families"));
}

TEST_CASE("defaults: the help of keys that follow the evaluations names no loss, since a metric may choose the best") {
  const std::vector<ConfigKey> keys = config_keys();
  for (const std::string_view name : {"schedule.decay", "eval.patience"}) {
    CAPTURE(name);
    const std::string& help = std::ranges::find(keys, name, &ConfigKey::name)->help;
    CHECK(help.find("loss") == std::string::npos);
    CHECK(help.find("better") != std::string::npos);
  }
}
