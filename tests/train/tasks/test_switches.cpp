// The switches of the model, the optimizer and the schedule, alone and all together.
#include <map>
#include <set>

#include "core/files.h"
#include "core/parallel.h"
#include "tests/train/config/config_support.h"
#include "tests/train/thread_ranks.h"
#include "tests/train/toy.h"
#include "train/loop/run_summary.h"

using namespace tapeformer;

namespace {

// Everything that can be switched on at once.
Config switched_config() {
  Config config = toy_config();
  config.model.options["layers"] = 3;
  config.model.options["activation"] = std::string("relu2");
  config.model.options["qk_norm"] = true;
  config.model.options["zero_init"] = true;
  config.model.options["value_residual"] = true;
  config.model.options["logit_softcap"] = 15.0;
  config.model.options["attention_scale"] = 0.5;
  config.model.options["embedding_scale"] = 2.0;
  config.model.options["attention_bias"] = std::string("false");
  config.model.options["final_norm"] = std::string("false");
  config.model.options["attention_window"] = 5;
  config.model.options["tie_embeddings"] = std::string("none");
  config.model.options["dropout"] = 0.1;
  config.optimizer.name = "muon";
  config.optimizer.lr = 0.02;
  config.optimizer.embedding_lr = 4;
  config.optimizer.head_lr = 0.5;
  config.schedule.kind = ScheduleKind::wsd;
  config.schedule.cooldown = 0.5;
  config.schedule.cooldown_shape = CooldownShape::sqrt;
  config.train.steps = 12;
  config.train.ema = -1;
  config.train.accumulate = 2;
  config.eval.every = 4;
  return config;
}

std::map<std::string, std::vector<double>> values_of(const Module& model) {
  std::map<std::string, std::vector<double>> values;
  for (const auto& [name, tensor] : model.state_dict()) values.emplace(name, tensor.to(DType::f64).to_vector<double>());
  return values;
}

// The largest change of a parameter's elements by one step.
std::map<std::string, double> changes_by_a_step(const Config& config) {
  Toy toy(config);
  const auto before = values_of(toy.model);
  toy.step(1);
  std::map<std::string, double> changes;
  for (const auto& [name, values] : values_of(toy.model)) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      changes[name] = std::max(changes[name], std::abs(values[i] - before.at(name)[i]));
    }
  }
  return changes;
}

}  // namespace

TEST_CASE("switches: all together, a run that was cut in two ends with the same bytes, recomputed or not") {
  for (const std::string kind : {"softmax", "linear"}) {
    const CacheFolder folder;
    Config config = switched_config();
    config.model.options["attention_kind"] = kind;
    if (kind == "linear") config.model.options["attention_window"] = 0, config.model.options["attention_scale"] = 0.0;
    const RunFolder whole{folder.path / "whole"}, cut{folder.path / "cut"}, again{folder.path / "again"};
    const auto toy = trained<Toy>(config, whole.root);
    CHECK(toy->resolved.train.ema == 0.5);
    trained<Toy>(config, cut.root, 7);
    config.train.recompute = true;
    trained<Toy>(config, again.root, 3);
    for (const std::string file :
         {"step-000012/model.safetensors", "step-000012/optimizer.safetensors", "average/model.safetensors"}) {
      CAPTURE(file);
      const std::string bytes = read_file(whole.root / "checkpoints" / file);
      CHECK(bytes == read_file(cut.root / "checkpoints" / file));
      CHECK(bytes == read_file(again.root / "checkpoints" / file));
    }
  }
}

TEST_CASE("switches: all together, the same bits for any number of threads") {
  const CacheFolder folder;
  const int threads = thread_count();
  std::vector<std::vector<float>> weights, averages;
  for (const int count : {1, 3}) {
    set_thread_count(count);
    Toy toy(switched_config());
    for (std::int64_t step = 1; step <= 4; ++step) toy.step(step);
    weights.push_back(toy.weights());
    for (const auto& [name, tensor] : toy.optimizer.state()) {
      if (name.starts_with("ema.")) averages.push_back(tensor.to_vector<float>());
    }
  }
  set_thread_count(threads);
  CHECK(weights[0] == weights[1]);
  const auto half = static_cast<std::ptrdiff_t>(averages.size() / 2);
  CHECK(std::equal(averages.begin(), averages.begin() + half, averages.begin() + half, averages.end()));
}

TEST_CASE("switches: embeddings and heads have rates of their own under every optimizer") {
  const CacheFolder folder;
  for (const std::string optimizer : {"adamw", "adam", "sgd", "muon"}) {
    for (const bool tied : {false, true}) {
      CAPTURE(optimizer);
      CAPTURE(tied);
      Config config = toy_config();
      config.model.options["tie_embeddings"] = std::string(tied ? "output" : "none");
      apply_overrides(config, {{"optimizer.name", {optimizer}}});
      config.optimizer.options["weight_decay"] = 0.0;
      config.optimizer.lr = 0.01;
      config.schedule.warmup = 0;
      const auto plain = changes_by_a_step(config);
      config.optimizer.embedding_lr = 3;
      if (!tied) config.optimizer.head_lr = 0.25;
      const auto switched = changes_by_a_step(config);
      CHECK(switched.contains("head.weight") == !tied);
      for (const auto& entry : switched) {
        const std::string& name = entry.first;
        const double change = entry.second;
        CAPTURE(name);
        const double factor = name.find("embedding") != name.npos ? 3 : name == "head.weight" ? 0.25 : 1;
        if (factor == 1) {
          CHECK(change == plain.at(name));
        } else {
          CHECK(plain.at(name) > 1e-5);
          CHECK(change == doctest::Approx(factor * plain.at(name)).epsilon(1e-2));
        }
      }
    }
  }
  Config config = toy_config();
  CHECK_THROWS_WITH_AS(apply_override(config, "optimizer.head_lr", "0"),
                       "optimizer.head_lr: expected value > 0, got 0.0", UsageError);
}

TEST_CASE("switches: in fine-tuning the rates of embeddings and heads come on top of those of the layers") {
  const CacheFolder folder;
  const TempFolder data;
  write_file_atomically(data.path / "labels.tsv", "a\tone two\nb\ttwo one\na\tone one\nb\ttwo two\n");
  Config config = toy_config();
  config.model.type = "bert";
  remove_corpus(config);
  config.data.labels = data.path / "labels.tsv";
  config.data.valid_fraction = 0;
  config.task.kind = "classify";
  config.task.layer_decay = 0.5;
  const TaskToy plain(config);
  config.optimizer.embedding_lr = 3;
  config.optimizer.head_lr = 5;
  const TaskToy switched(config);
  const ParameterRates before = plain.objective.rates(), after = switched.objective.rates();
  std::set<double> factors;
  for (const NamedParameter& parameter : switched.model.named_parameters()) {
    if (before(parameter.name) == 0) continue;
    const double factor = after(parameter.name) / before(parameter.name);
    factors.insert(factor);
    const ParameterKind kind = parameter.role.kind;
    CHECK(factor == (kind == ParameterKind::embedding ? 3 : kind == ParameterKind::head ? 5 : 1));
  }
  CHECK(factors == std::set<double>{1, 3, 5});
}

namespace {

// A toy of the type, with dropout, whose norms have running statistics.
Config batch_norm_config(const std::string& type) {
  Config config = type == "transformer" ? translation_config() : type == "bert" ? bert_config() : toy_config();
  config.model.options["norm_kind"] = std::string("batch");
  config.model.options["dropout"] = 0.1;
  config.train.steps = 6;
  config.train.accumulate = 2;
  config.eval.every = 3;
  return config;
}

std::string final_weights(const RunFolder& run) {
  return read_file(run.root / "checkpoints" / "step-000006" / "model.safetensors");
}

}  // namespace

TEST_CASE("batch norm: a run that was cut in two ends with the same running statistics, recomputed or not") {
  const CacheFolder folder;
  for (const std::string type : {"gpt", "bert", "transformer"}) {
    CAPTURE(type);
    Config config = batch_norm_config(type);
    const RunFolder whole{folder.path / type / "whole"}, cut{folder.path / type / "cut"},
        again{folder.path / type / "again"};
    const auto toy = trained(config, whole.root);
    for (const auto& buffer : toy->model.named_buffers()) {
      const double initial = buffer.first.ends_with("running_var") ? 1 : 0;
      for (const float value : buffer.second.to_vector<float>()) CHECK(value != initial);
    }
    CHECK(summarize_run(whole).parameters == toy->model.parameter_count());  // statistics are none
    trained(config, cut.root, 4);
    config.train.recompute = true;
    trained(config, again.root, 2);
    CHECK(final_weights(cut) == final_weights(whole));
    CHECK(final_weights(again) == final_weights(whole));
  }
}

TEST_CASE("batch norm: a step that is given up leaves the running statistics as they were, and so does evaluation") {
  const CacheFolder folder;
  Toy toy(batch_norm_config("gpt"));
  toy.step(1);
  const auto before = values_of(toy.model);
  const StepHooks stop{.stop = [](std::int64_t) { return true; }};
  CHECK(train_step(toy.objective, toy.slab, toy.optimizer, toy.resolved, 2, 1e-3, stop).given_up);
  CHECK(values_of(toy.model) == before);
  toy.objective.evaluate({});
  CHECK(values_of(toy.model) == before);
  toy.step(2);
  CHECK(values_of(toy.model) != before);
}

TEST_CASE("batch norm: several ranks are refused, since running statistics are those of one") {
  const CacheFolder folder;
  std::vector<std::unique_ptr<AnyToy>> toys;
  for (int rank = 0; rank < 2; ++rank) toys.push_back(std::make_unique<AnyToy>(batch_norm_config("gpt")));
  run_ranks(2, [&](Communicator& ranks) {
    CHECK_THROWS_WITH_AS(
        toys[ranks.rank()]->objective.share_with(ranks),
        "mpirun: expected one rank for a model with running statistics, which belong to one rank, such "
        "as blocks.0.attention_norm.running_mean, got 2",
        UsageError);
  });
}

TEST_CASE("switches: a family that has no use for one refuses it by its name") {
  const auto refused = [](const std::string& type, const std::string& key) {
    try {
      resolved({"model.type=" + type, key});
    } catch (const UsageError& error) {
      return std::string(error.what()).starts_with(key.substr(0, key.find('=')) + ": " + type + " has no such key");
    }
    return false;
  };
  CHECK(refused("bert", "model.value_residual=true"));
  CHECK(refused("transformer", "model.value_residual=true"));
  CHECK(refused("bert", "model.attention_window=8"));
  CHECK(refused("transformer", "model.attention_kind=linear"));
  CHECK(refused("rnn", "model.logit_softcap=15"));
  CHECK(refused("nplm", "model.zero_init=true"));
  CHECK(refused("rnn", "model.attention_scale=none"));
  CHECK(refused("nplm", "model.feed_forward=none"));
  CHECK(refused("rnn_seq2seq", "model.final_norm=true"));
  CHECK_FALSE(refused("gpt", "model.value_residual=true"));
  CHECK_FALSE(refused("bert", "model.logit_softcap=15"));
}

TEST_CASE("switches: scales are numbers or words, and biases and the final norm are true, false or as other keys say") {
  const auto option = [](std::initializer_list<std::string> overrides, const char* name) {
    return resolved(overrides).model.options.get(name);
  };
  const auto in_file = [](const std::string& line, const char* name) {
    return resolve(parse("[model]\n" + line + "\n")).model.options.get(name);
  };
  CHECK(option({}, "attention_scale") == KeyValue(0.0));
  CHECK(option({"model.attention_scale=none"}, "attention_scale") == KeyValue(1.0));
  CHECK(option({"model.attention_scale=0.25"}, "attention_scale") == KeyValue(0.25));
  CHECK(in_file("attention_scale = \"none\"", "attention_scale") == KeyValue(1.0));
  CHECK(in_file("attention_scale = \"auto\"", "attention_scale") == KeyValue(0.0));
  CHECK(in_file("attention_scale = 0.25", "attention_scale") == KeyValue(0.25));
  CHECK(option({"model.embedding_scale=auto"}, "embedding_scale") == KeyValue(0.0));
  CHECK(in_file("final_norm = false", "final_norm") == KeyValue("false"));
  CHECK(option({}, "final_norm") == KeyValue("true"));
  CHECK(option({"model.norm=post"}, "final_norm") == KeyValue("false"));
  CHECK(option({"model.norm_kind=none"}, "final_norm") == KeyValue("false"));
  CHECK(option({"model.bias=true"}, "ff_bias") == KeyValue("true"));
  CHECK(option({"model.bias=true", "model.attention_bias=false"}, "attention_bias") == KeyValue("false"));
  CHECK(option({"model.type=bert"}, "norm_bias") == KeyValue("true"));
  CHECK(is_derived(resolved({"model.bias=true"}), "model.norm_bias"));
  CHECK(option({"model.type=bert", "model.tie_embeddings=all"}, "tie_embeddings") == KeyValue("output"));

  Config config = toy_config();
  const auto refused = [&](const std::string& key, const std::string& value, const std::string& message) {
    CHECK_THROWS_WITH_AS(apply_override(config, key, value), message.c_str(), UsageError);
  };
  refused("model.attention_scale", "half", "model.attention_scale: expected a number, auto or none, got \"half\"");
  refused("model.attention_scale", "-1", "model.attention_scale: expected value >= 0, got -1.0");
  refused("model.embedding_scale", "none", "model.embedding_scale: expected a number or auto, got \"none\"");
  refused("model.ff_bias", "yes", "model.ff_bias: expected auto, true or false, got \"yes\"");
  check_parse_error("[model]\nattention_scale = true\n",
                    "x.toml:2: model.attention_scale: expected a number, auto or none, got the boolean true");
  check_parse_error("[model]\nattention_scale = \"half\"\n",
                    "x.toml:2: model.attention_scale: expected a number, auto or none, got the string \"half\"");
}

TEST_CASE("switches: a bert with a head of its own costs as much as with the embedding, and has more weights") {
  const ModelVocabulary vocabulary{.source = 50, .target = 50};
  const auto costs = [&](const std::string& tied) {
    const ResolvedConfig config = resolved({"model.type=bert", "model.tie_embeddings=" + tied});
    const TaskHeads& heads = config.task_row().heads;
    const std::unique_ptr<Module> model = heads.make(config, vocabulary);
    return std::pair{heads.flops(config, *model, vocabulary), model->parameter_count()};
  };
  const auto [tied_flops, tied_count] = costs("output");
  const auto [own_flops, own_count] = costs("none");
  CHECK(own_flops == tied_flops);
  const ResolvedConfig twice = resolved({"model.type=bert", "train.mlm_probability=0.3"});
  const TaskHeads& heads = twice.task_row().heads;
  const std::unique_ptr<Module> model = heads.make(twice, vocabulary);
  CHECK(heads.flops(twice, *model, vocabulary) == doctest::Approx(2 * tied_flops));
  CHECK(own_count == tied_count + 50 * 128);
  const ResolvedConfig bare = resolved({"model.type=bert", "model.norm_kind=none", "model.ff_bias=false"});
  for (const auto& entry : bare.task_row().heads.make(bare, vocabulary)->state_dict()) {
    CHECK(entry.first.find("norm") == std::string::npos);
    CHECK(entry.first != "head.transform.bias");
  }
}
