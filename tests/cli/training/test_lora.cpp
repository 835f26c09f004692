// Runs with adapters (train.lora.*) from the command line.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include "nn/formats/safetensors.h"
#include "tests/cli/training/resume_support.h"
#include "tests/long_test.h"

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kLora =
    "--train.init_from base --train.lora.rank 2 --train.lora.dropout 0.1 --train.steps 20 --checkpoint.keep 0 "
    "--checkpoint.average 2";

}  // namespace

TEST_CASE("lora: only adapters learn and are saved, a killed run resumes to the same bytes, and all commands read it" *
          long_test()) {
  const Sandbox box("gpt");
  box.train("base", "--train.steps 40");
  const std::string base = box.read("base/checkpoints/step-000040/model.safetensors");
  const Outcome trained = box.succeed("train tiny.toml --out straight " + std::string(kLora));
  CHECK(
      trained.tells(" of which 2304 learn"));  // two layers: qkv 3·2·32 + 96·2, out 2·64, up and down 2·(32 + 128) each
  CHECK(box.read("straight/checkpoints/step-000020/model.safetensors").size() < base.size() / 3);
  check_kills_at_steps(box, "straight", 2, kLora, 7);

  const Json before = json_of(box, "eval base --text text.txt --json");
  const Json after = json_of(box, "eval straight --text text.txt --json");
  CHECK(after["loss"].get<double>() < before["loss"].get<double>());
  const Json first = json_of(box, "eval straight/checkpoints/step-000000 --text text.txt --json");
  CHECK(first["loss"] == before["loss"]);
  for (const char* words : {"generate straight --prompt The --tokens 5", "surprisal straight --text text.txt --json",
                            "heads straight --text text.txt --json", "info straight --seconds 0 --json"}) {
    CAPTURE(words);
    CHECK(box.run(words).exit_code == 0);
  }
  const Json info = json_of(box, "info straight --seconds 0 --json");
  CHECK(info["memory"]["gradients"] == 4 * 2304);
  CHECK(json_of(box, "runs straight --json")[0]["parameters"] == info["parameters"]["total"]);

  const Outcome exploded = box.run(
      "train tiny.toml --out exploded --train.init_from base --train.lora.rank 2 --optimizer.lr 1e30"
      " --schedule.warmup 0 --optimizer.clip 0");
  CHECK(exploded.exit_code == kFailure);
  CHECK(exploded.tells("is of the forward of lora_linear in blocks.0.attention.qkv"));

  // In a new folder, with its own base.
  box.succeed("train --resume straight --out further --train.steps 24");
  CHECK(box.read("further/base.safetensors") == box.read("straight/base.safetensors"));
  std::string damaged = box.read("straight/base.safetensors");
  damaged.back() ^= 1;
  box.write("straight/base.safetensors", damaged);
  check_error(box, kFailure,
              (box / "straight/base.safetensors").string() + " has changed since step-000020 was saved: …",
              "eval straight/checkpoints/step-000020 --text text.txt");
}

TEST_CASE("lora: of a masked language model, too, only adapters learn and are saved" * long_test()) {
  const Sandbox box("bert");
  box.train("base", "--train.steps 4");
  const std::string before = box.read("base/checkpoints/step-000004/model.safetensors");
  CHECK(box.succeed("train tiny.toml --out run " + std::string(kLora)).tells(" learn"));
  CHECK(box.has("run/base.safetensors"));
  CHECK(box.read("run/checkpoints/step-000020/model.safetensors").size() < before.size() / 3);
  const auto loss = [&](const std::string& run) {
    return json_of(box, "eval " + run + " --text text.txt --no-pseudo --json")["masked_loss"].get<double>();
  };
  CHECK(loss("run/checkpoints/step-000000") == loss("base/checkpoints/step-000004"));
  CHECK(loss("run/checkpoints/step-000020") < loss("base/checkpoints/step-000004"));
  // That of the head's transform, which is in no block, leaves and comes back, too.
  box.succeed("export run --format peft --out adapters");
  box.succeed("import adapters --base base --out again");
  CHECK(loss("again") == loss("run"));
}

TEST_CASE("lora: a classifier learns beside adapters, and what does not go together is refused" * long_test()) {
  const Sandbox box("bert");
  box.train("base", "--train.steps 20");
  box.prepare_toy("tag");
  const Outcome tagged = box.succeed(
      "train tiny.toml --out tags --train.init_from base --train.lora.rank 2 --train.lora.targets qkv out "
      "--model.context 18");
  CHECK(tagged.tells(" learn"));
  CHECK(json_of(box, "eval tags --labels valid.tsv --json").contains("loss"));
  check_error(box, kUsage, "train.lora.rank: expected train.init_from beside it, since only adapters learn, got none",
              "train tiny.toml --out new --train.lora.rank 2");
  check_error(
      box, kUsage,
      "train.lora.targets: expected train.lora.rank above 0 beside it, since these layers get adapters, got q v",
      "train tiny.toml --out new --train.init_from base --train.lora.targets q v");
  check_error(box, kUsage,
              "task.freeze: expected false beside train.lora.rank, whose adapters are part of the encoder, got true",
              "train tiny.toml --out new --train.init_from base --train.lora.rank 2 --task.freeze true");
  const Outcome wrong =
      box.run("train tiny.toml --out new --train.init_from base --train.lora.rank 2 --train.lora.targets w");
  CHECK(wrong.exit_code == kUsage);
  CHECK(wrong.tells("train.lora.targets: expected linear layers of the model (down, k, out, "));
  box.prepare_toy("gpt");
  box.train("text", "--train.steps 4");
  box.train("adapted", "--train.init_from text --train.lora.rank 2 --train.steps 2");
  check_error(
      box, kFailure,
      "train.init_from: " + (box / "adapted").string() +
          " has adapters (train.lora.rank = 2): expected a run without, such as export --merge and import make of it",
      "train tiny.toml --out new --train.init_from adapted");
}

TEST_CASE("configuration: a key with a dot is read from a section of its own, or with the dot, and written") {
  const Sandbox box("gpt");
  box.train("base", "--train.steps 2");
  const std::string toml = box.read("tiny.toml");
  box.write("dotted.toml", toml + "[train.lora]\nrank = 3\nalpha = 5\n");
  box.succeed("train dotted.toml --out run --train.init_from base --train.steps 2");
  CHECK(box.read("run/config.toml").find("lora.rank = 3") != std::string::npos);
  CHECK(box.read("run/config.toml").find("lora.alpha = 5.0") != std::string::npos);
  box.write("wrong.toml", toml + "[train.lora]\nrang = 3\n");
  check_error(box, kUsage, "wrong.toml:34: unknown key train.lora.rang: did you mean train.lora.rank?",
              "train wrong.toml --out new");
}

TEST_CASE("lora: adapters leave for PEFT and come back, alone or merged with the weights, with the same losses") {
  struct Layout {
    std::string name, options, first;
    int tensors;
  };
  const Layout layouts[] = {
      {"gpt2", "", "base_model.model.transformer.h.0.attn.c_attn.lora_A.weight", 2 * 4 * 2},
      {"llama",
       "--model.position rotary --model.norm_kind rms --model.activation swiglu --model.bias false"
       " --model.kv_heads 1 ",
       "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight", 2 * 7 * 2}};
  for (const Layout& layout : layouts) {
    CAPTURE(layout.name);
    const Sandbox box("gpt");
    box.train("base", layout.options + "--train.steps 6 --optimizer.embedding_lr 0.5");
    box.train("run", layout.options + "--train.init_from base --train.lora.rank 2 --train.steps 10");
    const auto loss = [&](const std::string& run) {
      return json_of(box, "eval " + run + " --text text.txt --matmul highest --json")["loss"].get<double>();
    };
    const double expected = loss("run");
    CHECK(std::abs(loss("base") - expected) > 1e-3);

    box.succeed("export run --format peft --out adapters");
    const auto tensors = tapeformer::read_safetensors(box / "adapters/adapter_model.safetensors");
    CHECK(tensors.size() == static_cast<std::size_t>(layout.tensors));
    CHECK(tensors.contains(layout.first));
    const Json config = Json::parse(box.read("adapters/adapter_config.json"));
    CHECK(config["peft_type"] == "LORA");
    CHECK(config["r"] == 2);
    const std::string chat = R"({"chat_template": "{% for m in messages %}{{ m.content }};{% endfor %}"})";
    box.write("base/tokenizer_config.json", chat);
    box.succeed("import adapters --base base --out back");
    CHECK(box.read("back/tokenizer_config.json") == chat);
    const std::string own = "{% for m in messages %}{{ m.content }}!{% endfor %}";
    box.write("adapters/chat_template.jinja", own);
    box.succeed("import adapters --base base --out chats");
    CHECK(Json::parse(box.read("chats/tokenizer_config.json"))["chat_template"] == own);
    box.write("base/tokenizer_config.json", R"({"eos_token": "<|endoftext|>", "chat_template": "{{ eos_token }}"})");
    box.succeed("import adapters --base base --out ends");
    CHECK(Json::parse(box.read("ends/tokenizer_config.json"))["chat_template"] == own);
    CHECK(Json::parse(box.read("ends/tokenizer_config.json"))["eos_token"] == "<|endoftext|>");
    CHECK(loss("back") == doctest::Approx(expected).epsilon(1e-6));
    CHECK_FALSE(box.succeed("train --resume back --train.steps 40").tells("training data is another"));
    CHECK(loss("back") < expected);
    // The first end of a path that fits counts.
    Json several = config;
    several["alpha_pattern"]["self_attn.q_proj"] = 16.0;
    several["alpha_pattern"].update({{"q_proj", 1.0}, {"c_attn", 1.0}});
    box.write("adapters/adapter_config.json", several.dump());
    box.succeed("import adapters --base base --out several");
    CHECK(loss("several") == doctest::Approx(expected).epsilon(1e-6));
    box.write("adapters/adapter_config.json", config.dump(2));
    // Twice the scale is not the same model.
    std::string twice = box.read("adapters/adapter_config.json");
    const std::string alpha = "\"lora_alpha\": 16.0";
    REQUIRE(twice.find(alpha) != twice.npos);
    box.write("adapters/adapter_config.json", twice.replace(twice.find(alpha), alpha.size(), "\"lora_alpha\": 64.0"));
    box.succeed("import adapters --base base --out scaled");
    CHECK(std::abs(loss("scaled") - expected) > 1e-4);

    check_error(box, kUsage, "export: run has adapters: give --merge to add them to the weights, or --format peft …",
                "export run --format hf --out new");
    check_error(box, kUsage, "export: --merge: expected none beside --format peft, which writes the adapters alone",
                "export run --format peft --merge --out new");
    check_error(box, kUsage, "export: --merge: expected none, since base has no adapters",
                "export base --format hf --merge --out new");
    box.succeed("export run --format hf --merge --out merged");
    box.succeed("import merged --out whole");
    CHECK(loss("whole") == doctest::Approx(expected).epsilon(1e-6));
    check_error(box, kUsage,
                "import: adapters has adapters alone: give the run of the model that they change by --base",
                "import adapters --out new");
  }
}

TEST_CASE("lora: of two modules that PEFT would take for one another, the one with an adapter has its whole path" *
          long_test()) {
  const Sandbox box("bert");
  box.train("base", "--train.steps 1");
  const auto targets = [&](const std::string& layers) {
    box.train(layers, "--train.init_from base --train.lora.rank 2 --train.steps 1 --train.lora.targets " + layers);
    box.succeed("export " + layers + " --format peft --out peft-" + layers);
    return Json::parse(box.read("peft-" + layers + "/adapter_config.json"))["target_modules"];
  };
  for (const auto& path : targets("out")) {
    CHECK(path.get<std::string>().starts_with("bert.encoder.layer."));
    CHECK(path.get<std::string>().ends_with(".attention.output.dense"));
  }
  CHECK(targets("out,down,v") == Json{"output.dense", "self.value"});
}

TEST_CASE("lora: running statistics, which change beside adapters, are refused in PEFT's files") {
  const Sandbox box("bert");
  box.train("base", "--model.norm_kind batch --train.steps 1");
  box.train("run", "--train.init_from base --train.lora.rank 2 --train.steps 1");
  check_error(box, kFailure,
              "export: embedding_norm.running_mean, which training has changed, has no place in PEFT's files",
              "export run --format peft --out adapters");
  CHECK_FALSE(std::filesystem::exists(box / "adapters"));
}

TEST_CASE("lora: adapters of PEFT that do not fit, or are of another kind, are refused in one line") {
  const Sandbox box("gpt");
  box.train("base", "--train.steps 2");
  box.train("run", "--train.init_from base --train.lora.rank 2 --train.steps 2");
  box.succeed("export run --format peft --out adapters");
  const std::string config = box.read("adapters/adapter_config.json");
  const auto refuses = [&](const std::string& was, const std::string& is, const std::string& message) {
    std::string changed = config;
    REQUIRE(changed.find(was) != changed.npos);
    box.write("adapters/adapter_config.json", changed.replace(changed.find(was), was.size(), is));
    check_error(box, kFailure, message, "import adapters --base base --out new");
    box.write("adapters/adapter_config.json", config);
  };
  refuses("\"LORA\"", "\"IA3\"", R"(adapters/adapter_config.json: peft_type: expected "LORA", got "IA3")");
  refuses("\"bias\": \"none\"", "\"bias\": \"all\"",
          R"(adapters/adapter_config.json: bias: expected "none", got "all")");
  refuses("\"bias\"", "\"use_dora\": true, \"bias\"",
          "adapters/adapter_config.json: use_dora: expected false, got true");
  refuses("\"bias\"", "\"init_lora_weights\": \"pissa_niter_4\", \"bias\"",
          "adapters/adapter_config.json: init_lora_weights: expected true, false, gaussian, eva or orthogonal, …");
  refuses("\"bias\"", "\"alora_invocation_tokens\": [5], \"bias\"",
          "adapters/adapter_config.json: alora_invocation_tokens: expected null, got [5]");
  refuses("\"alpha_pattern\": {", "\"alpha_pattern\": {\"q\": \"x\",",
          R"(adapters/adapter_config.json: alpha_pattern: q: expected a number, got "x")");
  refuses("\"alpha_pattern\": {", "\"alpha_pattern\": {\"h.[0-3].attn.c_attn\": 4,",
          "adapters/adapter_config.json: alpha_pattern: expected ends of the modules' paths, got the regular "
          "expression h.[0-3].attn.c_attn");
  refuses("\"lora_alpha\": 16.0", "\"lora_alpha\": \"x\"",
          R"(adapters/adapter_config.json: lora_alpha: expected a number, got "x")");
  refuses("\"bias\"", "\"use_rslora\": 1, \"bias\"",
          "adapters/adapter_config.json: use_rslora: expected true or false, got 1");
  auto tensors = tapeformer::read_safetensors(box / "adapters/adapter_model.safetensors");
  const auto refuses_tensors = [&](const std::string& message) {
    tapeformer::write_safetensors(box / "adapters/adapter_model.safetensors", {tensors.begin(), tensors.end()});
    check_error(box, kFailure, message, "import adapters --base base --out new");
  };
  const std::string first = tensors.begin()->first;
  const tapeformer::Tensor a = tensors.begin()->second;
  tensors.erase(first);
  tensors.emplace("base_model.model.transformer.h.7.attn.c_attn.lora_A.weight", a);
  refuses_tensors("adapters/adapter_model.safetensors: the tensor …");
  tensors.erase("base_model.model.transformer.h.7.attn.c_attn.lora_A.weight");
  tensors.emplace(first, a.slice(1, 0, 5).contiguous());
  refuses_tensors(
      "adapters/adapter_model.safetensors: transformer.h.0.attn.c_attn: expected A (r, 32) and B (96, r), got …");
}
