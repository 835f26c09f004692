// What a model costs, before or after it is trained.
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <filesystem>

#include "core/sanitizers.h"
#include "core/text/lines.h"
#include "tests/cli/sandbox.h"

using Json = nlohmann::ordered_json;

TEST_CASE("info: parameters by part, of a configuration and of a run") {
  const Sandbox box;
  const Json gpt2 = json_of(box, "info --seconds 0 --json " PROJECT_ROOT "/configs/gpt2-small.toml");
  CHECK(gpt2["vocab"] == 50257);
  CHECK(gpt2["parameters"] == Json{{"embeddings", 50257 * 768},
                                   {"positions", 1024 * 768},
                                   {"blocks", 85054464},
                                   {"final_norm", 2 * 768},
                                   {"head", 0},
                                   {"total", 124439808}});
  CHECK(gpt2["tokens_per_step"] == 4 * 8 * 1024);
  CHECK(gpt2["vocab_from"] == "tokenizer.vocab");
  CHECK(gpt2["layers"].size() == 12);
  CHECK(gpt2["layers"]["blocks.11"] == 85054464 / 12);
  CHECK(gpt2["memory"]["weights"] == 4 * 124439808LL);
  CHECK(gpt2["memory"]["gradients"] == 4 * 124439808LL);
  CHECK(gpt2["memory"]["optimizer"] == 8 * 124439808LL);
  // Muon keeps one number for each element of a hidden matrix, and two of everything else.
  const Json muon =
      json_of(box, "info --seconds 0 --json " PROJECT_ROOT "/configs/gpt2-small.toml --optimizer.name muon");
  CHECK(muon["memory"]["optimizer"] == 8 * 124439808LL - 4 * 12LL * 12 * 768 * 768);
  CHECK(gpt2["memory"]["peak"].is_null());
  CHECK(gpt2["method"] == "computed");
  CHECK(gpt2["flops_per_token"] == 6.0 * (124439808 - 1024 * 768) + 6.0 * 12 * 768 * 1024);

  const Json base = json_of(box, "info --seconds 0 --json " PROJECT_ROOT "/configs/transformer-base.toml");
  CHECK(base["vocab"] == 37000);
  CHECK(base["parameters"] == Json{{"embeddings", 18944000},
                                   {"positions", 0},
                                   {"encoder", 18914304},
                                   {"decoder", 25224192},
                                   {"head", 0},
                                   {"total", 63082496}});
  CHECK(base["tokens_per_step"] == 5 * 5000);

  const Json bert = json_of(box, "info --seconds 0 --json " PROJECT_ROOT "/configs/bert-base.toml");
  CHECK(bert["vocab"] == 30522);
  CHECK(bert["parameters"] == Json{{"embeddings", 30522 * 768},
                                   {"positions", 512 * 768},
                                   {"segments", 2 * 768},
                                   {"embedding_norm", 2 * 768},
                                   {"blocks", 85054464},
                                   {"final_norm", 0},
                                   {"pooler", 768 * 768 + 768},
                                   {"head", 768 * 768 + 768 + 2 * 768 + 30522},
                                   {"next_sentence", 2 * 768 + 2},
                                   {"total", 110106428},
                                   {"without_heads", 109482240}});
  const std::string table = result_of(box, "info --seconds 0 " PROJECT_ROOT "/configs/bert-base.toml");
  CHECK(table.find("without heads                           109,482,240\n") != table.npos);

  box.prepare_tiny_run();
  box.train("run", "--train.steps 2 --model.tie_embeddings none");
  const Json run = json_of(box, "info run --seconds 0 --json");
  std::vector<std::string> keys = keys_of(gpt2);
  keys.push_back("measured");
  CHECK(keys_of(run) == keys);
  CHECK(run["vocab_from"] == "the tokenizer's");
  const Json& parts = run["parameters"];
  const int vocab = run["vocab"];
  CHECK(parts["embeddings"] == vocab * 32);
  CHECK(parts["head"] == vocab * 32);
  CHECK(parts["positions"] == 16 * 32);
  CHECK(parts["blocks"] == 2 * (12 * 32 * 32 + 13 * 32));
  CHECK(parts["total"] == 2 * vocab * 32 + 16 * 32 + 2 * (12 * 32 * 32 + 13 * 32) + 2 * 32);
  const Json tied = json_of(box, "info tiny.toml --seconds 0 --json");  // the vocabulary is learned from the text
  CHECK(tied["vocab"] == vocab);
  CHECK(tied["parameters"]["total"] == parts["total"].get<int>() - vocab * 32);
  box.train("recomputed", "--train.steps 1 --train.recompute true");
  const Json again = json_of(box, "info recomputed --seconds 0 --json");
  // One of the two blocks, forward: its products, and causal attention's.
  CHECK(again["flops_per_token"].get<double>() - tied["flops_per_token"].get<double>() ==
        2 * (12 * 32 * 32 + 13 * 32) + 2 * 32 * 16);
  CHECK(result_of(box, "info run --seconds 0").find("total") != std::string::npos);
}

TEST_CASE("info: encoder-decoders, with vocabularies learned, given, or one for each side") {
  const Sandbox box;
  box.prepare_tiny_translation();
  box.write("pairs.tsv", "ab\txyz\nba\tzyx\n");
  const auto info = [&](const std::string& target) { return json_of(box, "info --seconds 0 --json " + target); };
  const auto config = [&](const std::string& name, std::string_view tokenizer) {
    std::string text = box.read("tiny.toml");
    const std::string_view kind = "kind = \"char\"\n";
    box.write(name, text.replace(text.find(kind), kind.size(), tokenizer));
    return info(name);
  };
  const Json joint = info("tiny.toml");
  CHECK(joint["vocab"] == 5 + 4);
  CHECK(joint["parameters"]["embeddings"] == (5 + 4) * 32);
  CHECK(joint["tokens_per_step"] == 2 * 96);
  const Json apart = config("apart.toml", "kind = \"char\"\njoint = false\n");
  CHECK(apart["vocab"] == 3 + 4);
  CHECK(apart["parameters"]["embeddings"] == (2 + 4 + 3 + 4) * 32);
  CHECK(apart["parameters"]["head"] == 0);
  for (const char* part : {"encoder", "decoder"}) CHECK(apart["parameters"][part] == joint["parameters"][part]);

  box.train("run", "--train.steps 1 --tokenizer.joint false");
  CHECK(info("run")["parameters"] == apart["parameters"]);
  // A file for one side alone: the other one is learned.
  const Json given =
      config("given.toml", "kind = \"bpe\"\nvocab = 300\njoint = false\nfile = \"run/tokenizer.json\"\n");
  CHECK(given["vocab"] == 261);  // the text has no more pairs to merge
  CHECK(given["parameters"]["embeddings"] == (2 + 4 + 261) * 32);
  const Json target = config(
      "target.toml", "kind = \"bpe\"\nvocab = 300\njoint = false\ntarget_file = \"run/tokenizer-target.json\"\n");
  CHECK(target["vocab"] == 3 + 4);
  CHECK(target["parameters"]["embeddings"] == (260 + 3 + 4) * 32);
}

TEST_CASE("info: a model of any size takes no memory, and options change it as they change training") {
  const Sandbox box;
  box.prepare_tiny_run();
  // 96 layers, 12288 wide: the matrices of the blocks are 12·96·12288² = 173,946,175,488 weights, 650 GiB.
  const Json huge = json_of(box,
                            "info tiny.toml --json --model.layers 96 --model.heads 96 --model.dim 12288 "
                            "--model.bias false --tokenizer.kind bpe --tokenizer.vocab 300");
  CHECK(huge["parameters"]["blocks"] == 12LL * 96 * 12288 * 12288 + 2LL * 96 * 12288);
  CHECK(huge["fits"] == false);
  CHECK(huge["method"] == "computed");
  CHECK(huge["step_seconds"].get<double>() > 0);
}

namespace {

// What happens in training is what info has said before: the peak of the process within a tenth, and all else that is
// not a matter of time.
void check_prediction(const Sandbox& box, const std::string& arguments) {
  CAPTURE(arguments);
  const Json told = json_of(box, "info " + arguments + " --json --seconds 0.3");
  REQUIRE(box.run("train " + arguments + " --out run").exit_code == 0);
  const Json run = json_of(box, "info run --json --seconds 0");
  std::filesystem::remove_all(box / "run");
  CHECK(told["method"] == "measured");
  CHECK(told["data"] == "read");
  CHECK(told["fits"] == true);
  for (const char* same : {"parameters", "learning", "vocab", "flops_per_token", "tokens_per_step", "evaluations"}) {
    CHECK(told[same] == run[same]);
  }
  const Json& memory = told["memory"];
  const double parts = memory["weights"].get<double>() + memory["gradients"].get<double>() +
                       memory["optimizer"].get<double>() + memory["activations"].get<double>() +
                       memory["other"].get<double>();
  CHECK(memory["peak"].get<double>() == parts);
  CHECK(memory["activations"].get<double>() > 4e6);
#if !defined(TAPEFORMER_ADDRESS_SANITIZER)  // which keeps freed memory
  CHECK(memory["peak"].get<double>() == doctest::Approx(run["measured"]["peak"].get<double>()).epsilon(0.1));
#endif
  const double step = told["step_seconds"], evaluation = told["evaluation_seconds"];
  CHECK(step > 0);
  CHECK(evaluation > 0);
  CHECK(told["training_seconds"].get<double>() == doctest::Approx(3 * step + 2 * evaluation));
  CHECK(run["measured"]["steps"] == 3);
  CHECK(run["measured"]["step_seconds"].get<double>() > 0);
  CHECK(run["measured"]["training_seconds"].get<double>() > run["measured"]["step_seconds"].get<double>());
}

const std::string kShort = " --train.steps 3 --train.log_every 1 --eval.every 2 --train.threads 1 --checkpoint.every 0";

}  // namespace

#if !defined(TAPEFORMER_ADDRESS_SANITIZER)  // which keeps freed memory
TEST_CASE("info: the memory of a training is what it says before, for every family") {
  const Sandbox box;
  const std::string configs = PROJECT_ROOT "/configs/", text = " --data.lines 300" + kShort;
  check_prediction(box, configs + "stories.toml --model.dim 64" + text);
  check_prediction(box, configs + "stories.toml --model.dim 64 --train.batch 32 --train.recompute true" + text);
  check_prediction(box, configs + "lstm-char.toml --data.corpus stories" + text);
  check_prediction(box, configs + "bilm-stories.toml --model.dim 64" + text);
  check_prediction(box, configs + "bert-stories.toml --model.dim 64" + text);
  check_prediction(box, configs + "word2vec-stories.toml" + text);
  check_prediction(box, configs + "nplm-markov.toml --train.accumulate 2" + text);
  check_prediction(box, configs + "dates.toml --train.batch_tokens 1024 --data.valid_fraction 0.1" + text);
  check_prediction(box, configs + "rnn-dates.toml --train.batch_tokens 1024 --data.valid_fraction 0.1" + text);
}
#endif

TEST_CASE("info: fine-tuning counts its classifier, and what is frozen has no gradient") {
  const Sandbox box;
  box.write("labels.tsv", result_of(box, "corpus stories --labels --lines 100"));
  const std::string tag = PROJECT_ROOT "/configs/tag-stories.toml --data.labels labels.tsv --train.batch 64" + kShort;
  check_prediction(box, tag);
  const Json all = json_of(box, "info " + tag + " --seconds 0 --json");
  const std::int64_t classifier = all["parameters"]["task"];
  CHECK(classifier > 0);
  CHECK(classifier % 129 == 0);  // 128 weights and a bias for each label
  CHECK(all["learning"] == all["parameters"]["without_heads"]);
  const Json frozen = json_of(box, "info " + tag + " --task.freeze true --seconds 0 --json");
  CHECK(frozen["parameters"] == all["parameters"]);
  CHECK(frozen["learning"] == classifier);
  CHECK(frozen["memory"]["gradients"] == 4 * classifier);
  CHECK(frozen["memory"]["optimizer"] == 8 * classifier);
  CHECK(frozen["memory"]["weights"] == all["memory"]["weights"]);
}

TEST_CASE("info: fine-tuning a model that predicted tokens counts what its rows compute, and what learns") {
  const Sandbox box;
  box.write("labels.tsv", result_of(box, "corpus stories --labels --lines 100"));
  const std::string all =
      " --tokenizer.kind word --task.kind tag --data.labels labels.tsv --train.batch 4 --json --seconds 0";
  const auto info = [&](const std::string& model, const std::string& keys) {
    box.write(model + ".toml", "[model]\ntype = \"" + model + "\"\n");
    return json_of(box, "info " + model + ".toml" + all + keys);
  };
  const Json rnn = info("rnn", " --model.layers 2 --model.dim 16");
  const std::int64_t head = rnn["parameters"]["head"], labels = rnn["parameters"]["task"].get<int>() / 17;
  CHECK(rnn["learning"] == rnn["parameters"]["total"].get<std::int64_t>() - head);
  CHECK(rnn["memory"]["gradients"] == 4 * rnn["learning"].get<std::int64_t>());
  CHECK(rnn["memory"]["optimizer"] == 8 * rnn["learning"].get<std::int64_t>());
  // The layers read every token, and the classifier those that have a label.
  const auto layers = rnn["parameters"]["layers"].get<double>(), flops = rnn["flops_per_token"].get<double>();
  CHECK(flops > 6 * layers);
  CHECK(flops <= 6 * (layers + static_cast<double>(17 * labels)));
  CHECK(rnn["tokens_per_step"].get<int>() > 4 * 20);
  CHECK(rnn["tokens_per_step"].get<int>() < 4 * 64);  // lines are shorter than train.bptt
  const Json frozen = info("rnn", " --model.layers 2 --model.dim 16 --task.freeze true");
  CHECK(flops - frozen["flops_per_token"].get<double>() == doctest::Approx(4 * layers));
  for (const char* model : {"bilm", "nplm", "word2vec"}) {
    CAPTURE(model);
    const Json told = info(model, " --model.dim 16");
    const Json& parameters = told["parameters"];
    const std::int64_t unread = parameters[parameters.contains("head") ? "head" : "contexts"];
    CHECK(unread > 0);
    CHECK(told["learning"] == parameters["total"].get<std::int64_t>() - unread);
    CHECK(told["flops_per_token"].get<double>() > 0);
    const std::string text = result_of(
        box, "info " + std::string(model) + ".toml --model.dim 16 --seconds 0 " + all.substr(0, all.find(" --json")));
    CHECK(text.find("nan") == text.npos);
    CHECK(text.find(" 0 GFLOP") == text.npos);
  }
}

TEST_CASE("info: rare communication keeps a copy of the weights and a momentum") {
  const Sandbox box;
  const std::string config = PROJECT_ROOT "/configs/stories.toml --model.dim 192 --data.lines 300" + kShort;
  const std::string rare = " --train.sync_every 3 --eval.every 3";
  const std::int64_t weights = json_of(box, "info --json --seconds 0 " + config)["memory"]["weights"];
  const Json told = json_of(box, "info --json --seconds 0 " + config + rare);
  CHECK(told["memory"]["optimizer"] == 4 * weights);
  const Json plain = json_of(box, "info --json --seconds 0 " + config + rare + " --train.outer_momentum 0");
  CHECK(plain["memory"]["optimizer"] == 3 * weights);
#if !defined(TAPEFORMER_ADDRESS_SANITIZER)  // which keeps freed memory
  const Json measured = json_of(box, "info --json --seconds 0.2 " + config + rare);
  REQUIRE(box.run("train " + config + rare + " --out run").exit_code == 0);
  const Json run = json_of(box, "info run --json --seconds 0");
  CHECK(measured["memory"]["peak"].get<double>() ==
        doctest::Approx(run["measured"]["peak"].get<double>()).epsilon(0.1));
#endif
}

TEST_CASE("info: without the data it runs on random tokens, and says so") {
  const Sandbox box;
  for (const char* config : {"shakespeare-char", "lstm-char", "bert-stories", "multi30k-tiny", "tag-stories"}) {
    CAPTURE(config);
    const Json told = json_of(box, "info " PROJECT_ROOT "/configs/" + std::string(config) +
                                       ".toml --data.lines 2000000 --train.threads 1 --json --seconds 0.1");
    CHECK(told["data"] == "made up");
    CHECK(told["method"] != "computed");
    CHECK(told["memory"]["activations"].get<double>() > 1e6);
    CHECK(told["step_seconds"].get<double>() > 0);
    CHECK(told["evaluation_seconds"].is_null());
  }
  const std::string shakespeare = "info --seconds 0 " PROJECT_ROOT "/configs/shakespeare-char.toml";
  CHECK(result_of(box, shakespeare).starts_with("gpt, vocabulary of 100 (assumed)\nno data is read (none is named)"));
  CHECK(result_of(box, shakespeare + " --data.text gone.txt").find("gone.txt is not there") != std::string::npos);
}

TEST_CASE("info: what does not fit in memory is said before, with settings that do") {
#if !defined(TAPEFORMER_ADDRESS_SANITIZER)  // whose address space has no limit
  const Sandbox box;
  const std::string wide =
      PROJECT_ROOT "/configs/stories.toml --data.lines 300 --model.dim 64 --train.threads 1 --train.batch 512";
  const Json whole = json_of(box, "info --json --seconds 8 " + wide);
  CHECK(whole["method"] == "measured");
  CHECK(whole["fits"] == true);
  CHECK(whole["advice"].empty());
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  rlimit bound = before;
  bound.rlim_cur = whole["memory"]["peak"].get<rlim_t>() * 3 / 4;
  setrlimit(RLIMIT_AS, &bound);  // of the commands
  const Json told = json_of(box, "info --json --seconds 0.3 " + wide);
  const std::string text = result_of(box, "info --seconds 0.3 " + wide);
  setrlimit(RLIMIT_AS, &before);
  CHECK(told["fits"] == false);
  CHECK(told["memory"]["machine"] == bound.rlim_cur);
  CHECK(told["method"] == "scaled");
  CHECK(told["memory"]["peak"].get<double>() == doctest::Approx(whole["memory"]["peak"].get<double>()).epsilon(0.1));
  REQUIRE(told["advice"].size() == 2);
  CHECK(told["advice"][0]["set"] == Json{{"train.accumulate", "2"}, {"train.batch", "256"}});
  CHECK(told["advice"][1]["set"] == Json{{"train.recompute", "true"}});
  for (const Json& advice : told["advice"]) {
    CHECK(advice["fits"] == true);
    CHECK(advice["peak_bytes"].get<double>() < static_cast<double>(bound.rlim_cur));
    std::string arguments = "info --json --seconds 0.3 " + wide.substr(0, wide.find("--train.batch"));
    if (!advice["set"].contains("train.batch")) arguments += " --train.batch 512";
    for (const auto& [key, value] : advice["set"].items()) arguments += " --" + key + " " + value.get<std::string>();
    CHECK(json_of(box, arguments)["memory"]["peak"].get<double>() ==
          doctest::Approx(advice["peak_bytes"].get<double>()).epsilon(0.1));
  }
  CHECK(text.find("IT DOES NOT FIT\n  what helps: --train.accumulate 2 --train.batch 256\n") != text.npos);
#endif
}

TEST_CASE("info: a peak that was measured too low is measured again") {
  const Sandbox box;
  box.prepare_tiny_run();
  const std::string info = "info tiny.toml --train.threads 1 --train.matmul highest --seconds 0.2";
  const double peak = json_of(box, info + " --json")["machine_flops"];
  Json machine;
  std::string path;
  for (const auto& file : std::filesystem::recursive_directory_iterator(box / "")) {
    if (file.path().filename() == "machine.json") path = std::filesystem::relative(file.path(), box / "").string();
  }
  machine = Json::parse(box.read(path));
  for (auto& [cpu, settings] : machine.items()) settings["highest, threads: 1"] = 1e6;
  box.write(path, machine.dump());
  const Json again = json_of(box, info + " --json");
  CHECK(again["machine_flops"].get<double>() > peak / 100);
  CHECK(Json::parse(box.read(path)).front()["highest, threads: 1"] == again["machine_flops"]);
  // Whatever is kept, no share is above the whole.
  box.write(path, machine.dump());
  const std::string text = result_of(box, info);
  const std::size_t share = text.find(" % of that");
  REQUIRE(share != text.npos);
  CHECK(std::stoi(text.substr(text.rfind(' ', share - 1) + 1)) <= 100);
}

TEST_CASE("info: the parts of a layer, once for all layers that are alike") {
  const Sandbox box;
  const Json gpt2 = json_of(box, "info --seconds 0 --json " PROJECT_ROOT "/configs/gpt2-small.toml");
  CHECK(gpt2["layer_parts"] == Json{{"blocks.0",
                                     {{"attention_norm", 2 * 768},
                                      {"attention.q", 768 * 768 + 768},
                                      {"attention.k", 768 * 768 + 768},
                                      {"attention.v", 768 * 768 + 768},
                                      {"attention.out", 768 * 768 + 768},
                                      {"feed_forward_norm", 2 * 768},
                                      {"feed_forward.up", 4 * 768 * 768 + 4 * 768},
                                      {"feed_forward.down", 4 * 768 * 768 + 768}}}});
  const std::string text = result_of(box, "info --seconds 0 " PROJECT_ROOT "/configs/gpt2-small.toml");
  CHECK(text.find("\n  each of blocks.0 to 11                    7,087,872\n    attention_norm ") != text.npos);
  REQUIRE(text.find("\n    attention.k ") != text.npos);
  CHECK(text.find("attention.k") == text.rfind("attention.k"));

  // Two heads of keys and values, of another width.
  const Json wide = json_of(box, "info --seconds 0 --json " PROJECT_ROOT
                                 "/configs/gpt2-small.toml --model.kv_heads 2 --model.value_dim 48 --model.bias false "
                                 "--model.activation swiglu --model.ff_dim 100");
  const Json& parts = wide["layer_parts"]["blocks.0"];
  CHECK(parts["attention.q"] == 768 * 768);
  CHECK(parts["attention.k"] == 768 * 2 * 64);
  CHECK(parts["attention.v"] == 768 * 2 * 48);
  CHECK(parts["attention.out"] == 768 * 12 * 48);
  CHECK(parts["feed_forward.gate_up"] == 2 * 768 * 100);
  for (const char* config : {"transformer-base", "bert-base", "rnn-multi30k", "bilm-stories", "lstm-char"}) {
    CAPTURE(config);
    const Json told = json_of(box, "info --seconds 0 --json " PROJECT_ROOT "/configs/" + std::string(config) + ".toml");
    CHECK_FALSE(told["layer_parts"].empty());
    for (const auto& [layer, of_layer] : told["layer_parts"].items()) {
      std::int64_t sum = 0;
      for (const auto& [part, count] : of_layer.items()) sum += count.get<std::int64_t>();
      CHECK(told["layers"][layer] == sum);
    }
  }
  const Json base = json_of(box, "info --seconds 0 --json " PROJECT_ROOT "/configs/transformer-base.toml");
  CHECK(base["layer_parts"].size() == 2);
  CHECK(base["layer_parts"]["decoder.blocks.0"]["cross_attention.v"] == 512 * 512 + 512);
}

TEST_CASE("info: its text is at most 80 columns wide") {
  const Sandbox box;
  for (const char* config : {"gpt2-small", "bert-base", "rnn-multi30k", "bilm-stories"}) {
    const std::string text =
        result_of(box, "info --seconds 0 " PROJECT_ROOT "/configs/" + std::string(config) + ".toml");
    for (const std::string_view line : tapeformer::split_lines(text)) {
      CAPTURE(line);
      CHECK(line.size() <= 80);
    }
  }
}
