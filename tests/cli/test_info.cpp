// What a model costs, before or after it is trained.
#include <doctest/doctest.h>

#include "tests/cli/sandbox.h"

using Json = nlohmann::ordered_json;

TEST_CASE("info: parameters by part, of a configuration and of a run") {
  const Sandbox box;
  const Json gpt2 = json_of(box, "info --json " PROJECT_ROOT "/configs/gpt2-small.toml");
  CHECK(gpt2["vocab"] == 50257);
  CHECK(gpt2["parameters"] == Json{{"embeddings", 50257 * 768},
                                   {"positions", 1024 * 768},
                                   {"blocks", 85054464},
                                   {"final_norm", 2 * 768},
                                   {"head", 0},
                                   {"total", 124439808}});
  CHECK(gpt2["tokens_per_step"] == 4 * 8 * 1024);
  CHECK(gpt2["state_bytes"] == 16 * 124439808LL);
  CHECK(gpt2["flops_per_token"] == 6.0 * (124439808 - 1024 * 768) + 6.0 * 12 * 768 * 1024);

  const Json base = json_of(box, "info --json " PROJECT_ROOT "/configs/transformer-base.toml");
  CHECK(base["vocab"] == 37000);
  CHECK(base["parameters"] == Json{{"embeddings", 18944000},
                                   {"positions", 0},
                                   {"encoder", 18914304},
                                   {"decoder", 25224192},
                                   {"head", 0},
                                   {"total", 63082496}});
  CHECK(base["tokens_per_step"] == 5 * 5000);

  const Json bert = json_of(box, "info --json " PROJECT_ROOT "/configs/bert-base.toml");
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
  const std::string table = result_of(box, "info " PROJECT_ROOT "/configs/bert-base.toml");
  CHECK(table.find("without heads            109,482,240\n") != table.npos);

  box.prepare_tiny_run();
  box.train("run", "--train.steps 2 --model.tie_embeddings none");
  const Json run = json_of(box, "info run --json");
  CHECK(keys_of(run) == keys_of(gpt2));
  const Json& parts = run["parameters"];
  const int vocab = run["vocab"];
  CHECK(parts["embeddings"] == vocab * 32);
  CHECK(parts["head"] == vocab * 32);
  CHECK(parts["positions"] == 16 * 32);
  CHECK(parts["blocks"] == 2 * (12 * 32 * 32 + 13 * 32));
  CHECK(parts["total"] == 2 * vocab * 32 + 16 * 32 + 2 * (12 * 32 * 32 + 13 * 32) + 2 * 32);
  const Json tied = json_of(box, "info tiny.toml --json");  // the vocabulary is learned from the text
  CHECK(tied["vocab"] == vocab);
  CHECK(tied["parameters"]["total"] == parts["total"].get<int>() - vocab * 32);
  box.train("recomputed", "--train.steps 1 --train.recompute true");
  const Json again = json_of(box, "info recomputed --json");
  // One of the two blocks, forward: its products, and causal attention's.
  CHECK(again["flops_per_token"].get<double>() - tied["flops_per_token"].get<double>() ==
        2 * (12 * 32 * 32 + 13 * 32) + 2 * 32 * 16);
  CHECK(result_of(box, "info run").find("total") != std::string::npos);
}

TEST_CASE("info: encoder-decoders, with vocabularies learned, given, or one for each side") {
  const Sandbox box;
  box.prepare_tiny_translation();
  box.write("pairs.tsv", "ab\txyz\nba\tzyx\n");
  const auto info = [&](const std::string& target) { return json_of(box, "info --json " + target); };
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
  CHECK(given["vocab"] == 300);
  CHECK(given["parameters"]["embeddings"] == (2 + 4 + 300) * 32);
  const Json target = config(
      "target.toml", "kind = \"bpe\"\nvocab = 300\njoint = false\ntarget_file = \"run/tokenizer-target.json\"\n");
  CHECK(target["vocab"] == 3 + 4);
  CHECK(target["parameters"]["embeddings"] == (300 + 3 + 4) * 32);
}

TEST_CASE("info: a model of any size takes no memory, and options change it as they change training") {
  const Sandbox box;
  box.prepare_tiny_run();
  // 96 layers, 12288 wide: the matrices of the blocks are 12·96·12288² = 173,946,175,488 weights, 650 GiB.
  const Json huge = json_of(box,
                            "info tiny.toml --json --model.layers 96 --model.heads 96 --model.dim 12288 "
                            "--model.bias false --tokenizer.kind bpe --tokenizer.vocab 300");
  CHECK(huge["parameters"]["blocks"] == 12LL * 96 * 12288 * 12288 + 2LL * 96 * 12288);
}
