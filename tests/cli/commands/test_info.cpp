// What a model costs, before or after it is trained.
#include <doctest/doctest.h>

#include "core/text/lines.h"
#include "tests/cli/sandbox.h"
#include "tests/long_test.h"

using Json = nlohmann::ordered_json;

TEST_CASE("info: parameters by part, of a configuration and of a run" * long_test()) {
  const Sandbox box;
  const Json gpt2 = json_of(box, "info --seconds 0 --json " PROJECT_ROOT "/configs/gpt2-small.toml");
  CHECK(gpt2["vocab"] == 50257);
  CHECK(gpt2["parameters"] == Json{{"embeddings", 50257 * 768},
                                   {"positions", 1024 * 768},
                                   {"blocks", 85054464},
                                   {"final_norm", 2 * 768},
                                   {"head", 0},
                                   {"total", 124439808}});
  CHECK(gpt2["non_embedding"] == 85056000);
  CHECK(gpt2["matrices"] == 84934656);  // 12 · 12 · 768²
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
  const std::string of_base = result_of(box, "info --seconds 0 " PROJECT_ROOT "/configs/transformer-base.toml");
  CHECK(of_base.find("tokens of a step, at most ") != of_base.npos);

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
  CHECK(table.find("tokens of a step  ") != table.npos);

  box.prepare_toy("gpt");
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

TEST_CASE("info: GPT-3's shape, exact and by the formula 12 · layers · dim²") {
  const Sandbox box;
  const std::string shape = "info " PROJECT_ROOT
                            "/configs/gpt2-small.toml --seconds 0 --model.layers 96 --model.heads 96 --model.dim 12288"
                            " --model.context 2048";
  const Json gpt3 = json_of(box, shape + " --json");
  CHECK(gpt3["parameters"]["blocks"] == 173961510912);
  CHECK(gpt3["matrices"] == 173946175488);
  CHECK(gpt3["non_embedding"] == 173961510912 + 2 * 12288);
  CHECK(result_of(box, shape).find("of these in matrices              173,946,175,488   12 · 96 · 12288²\n") !=
        std::string::npos);
  // Keys and values of fewer heads have narrower matrices: the formula is not theirs.
  CHECK(result_of(box, shape + " --model.kv_heads 8").find("12 ·") == std::string::npos);
}

TEST_CASE("info: encoder-decoders, with vocabularies learned, given, or one for each side") {
  const Sandbox box("transformer");
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

TEST_CASE("info: a token costs the same in batches by tokens, an image that its caption shares too") {
  const Sandbox box;
  for (const char* config : {"captions-vit", "captions-lstm"}) {
    CAPTURE(config);
    const std::string info = "info --seconds 0 --json --data.lines 100 " PROJECT_ROOT "/configs/";
    const Json counted = json_of(box, info + config + ".toml");
    const Json by_tokens = json_of(box, info + config + ".toml --train.batch_tokens 200");
    CHECK(by_tokens["tokens_per_step"] == 200);
    CHECK(by_tokens["flops_per_token"] == counted["flops_per_token"]);
  }
}

TEST_CASE("info: a step on pairs of sentences reads both sentences of each") {
  const Sandbox box;
  box.write("pairs.tsv", "abc\tcba\nacb\tbca\nbac\tcab\nbbb\tccc\n");
  box.write(
      "bert.toml",
      "[model]\ntype = \"bert\"\nlayers = 1\ndim = 16\n[tokenizer]\nkind = \"char\"\n[task]\nkind = \"sentences\"\n"
      "[data]\npairs = \"pairs.tsv\"\nvalid_pairs = \"pairs.tsv\"\n[train]\nbatch = 2\naccumulate = 2\nthreads = 1\n");
  box.succeed("train bert.toml --train.steps 1 --out run -q");
  const std::string metrics = box.read("run/metrics.jsonl");
  const auto step = Json::parse(metrics.substr(0, metrics.find('\n')));
  CHECK(json_of(box, "info bert.toml --seconds 0 --json")["tokens_per_step"] == step["tokens"]);
}

TEST_CASE("info: a smaller micro-step that it times holds the longest sentence") {
  const Sandbox box("transformer");
  std::string pairs;
  for (int i = 0; i < 40; ++i) pairs += std::string(100, 'a') + "\tb\n";
  box.write("pairs.tsv", pairs);
  const Json told = json_of(box, "info tiny.toml --json --seconds 1e-6 --model.context 128 --train.batch_tokens 2048");
  CHECK(told["method"] == "scaled");
  CHECK(told["memory"]["peak"].get<std::int64_t>() > 0);
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
  CHECK(rnn["non_embedding"] == rnn["parameters"]["layers"]);  // neither head counts, nor its bias
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

TEST_CASE("info: without the data it runs on random tokens, and says so" * long_test()) {
  const Sandbox box;
  for (const char* config : {"shakespeare-char", "lstm-char", "bert-stories", "multi30k-tiny", "tag-stories"}) {
    CAPTURE(config);
    const std::string name = config, lines = name == "bert-stories" ? " --data.lines 2000000" : "";
    const Json told = json_of(
        box, "info " PROJECT_ROOT "/configs/" + name + ".toml" + lines + " --train.threads 1 --json --seconds 0.1");
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

TEST_CASE("info: a text that is named twice is read, as training reads it, if it is not large" * long_test()) {
  const Sandbox box;
  std::string text;
  for (int line = 0; line < 850'000; ++line) text += "thirty-nine bytes of a text of one line\n";
  REQUIRE(text.size() == 34'000'000);
  box.write("text.txt", text);
  const std::string info = "info " PROJECT_ROOT "/configs/shakespeare-char.toml --json --seconds 0 --data.text ";
  CHECK(json_of(box, info + "text.txt text.txt")["data"] == "read");
  box.write("other.txt", text);
  CHECK(json_of(box, info + "text.txt other.txt")["data"] == "made up");
}

TEST_CASE("info: a training without validation data has no evaluations") {
  const Sandbox box("gpt");
  const std::string info = "info tiny.toml --train.steps 6 --eval.every 2 --json --seconds 0.2 --data.valid_fraction ";
  CHECK(json_of(box, info + "0.1")["evaluations"] == 3);
  const Json none = json_of(box, info + "0");
  CHECK(none["evaluations"] == 0);
  CHECK(none["evaluation_seconds"].is_null());
}

TEST_CASE("info: a checkpoint may be named in place of its run") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 4");
  const Json run = json_of(box, "info run --seconds 0 --json");
  for (const std::string checkpoint : {"best", "latest", "step-000004"}) {
    const Json named = json_of(box, "info run/checkpoints/" + checkpoint + " --seconds 0 --json");
    CHECK(named["parameters"] == run["parameters"]);
    CHECK(named["measured"] == run["measured"]);
  }
}

TEST_CASE("info: the parts of a layer, once for all layers that are alike" * long_test()) {
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

TEST_CASE("info: the parameters of an adapter belong to the matrix that it changes") {
  const Sandbox box("gpt");
  const std::string model = " --model.kv_heads 1 --model.bias false";
  box.train("base", "--train.steps 1" + model);
  const Json told = json_of(box,
                            "info tiny.toml --seconds 0 --json --train.init_from base --train.lora.rank 3 "
                            "--train.lora.targets q v" +
                                model);
  const Json& parts = told["layer_parts"]["blocks.0"];
  CHECK(parts["attention.q"] == 32 * 32 + 3 * 32 + 32 * 3);  // W, A (3, 32) and B (rows, 3)
  CHECK(parts["attention.k"] == 16 * 32);
  CHECK(parts["attention.v"] == 16 * 32 + 3 * 32 + 16 * 3);
  std::int64_t sum = 0;
  for (const auto& [part, count] : parts.items()) sum += count.get<std::int64_t>();
  CHECK(told["layers"]["blocks.0"] == sum);
}

TEST_CASE("info: its text is at most 80 columns wide" * long_test()) {
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
