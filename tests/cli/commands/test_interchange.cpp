// The commands import and export, and what can be done with an imported run.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "tests/cli/sandbox.h"
#include "tests/long_test.h"

namespace {

namespace fs = std::filesystem;

const fs::path kGolden = fs::path(PROJECT_ROOT) / "tests" / "train" / "interchange" / "golden";

// Copies a model that transformers has written, and its tokenizer.
void place_golden(const Sandbox& box, const std::string& name) {
  fs::copy(kGolden / name, box / name);
  fs::copy_file(kGolden / "tokenizer.json", box / name / "tokenizer.json");
}

// A text of the tokenizer's letters.
std::string letters() {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "abc def a gh kl mno pq";
  return text;
}

}  // namespace

TEST_CASE("interchange: an imported language model is read by every command, trained on, and exported") {
  const Sandbox box;
  place_golden(box, "llama");
  box.write("text.txt", letters());
  const Outcome imported = box.succeed("import llama --out run");
  CHECK(imported.tells("info: run is a run of llama, 31 tokens; train --train.init_from run goes on with its weights"));
  CHECK(imported.out.empty());
  CHECK(json_of(box, "eval run --text text.txt --json --context 16")["context"] == 16);
  CHECK(json_of(box, "generate run --prompt abc --tokens 5 --json")["tokens"] == 5);
  CHECK(result_of(box, "generate run --prompt abc --tokens 70 --temperature 0 --no-cache") ==
        result_of(box, "generate run --prompt abc --tokens 70 --temperature 0"));
  box.succeed("surprisal run --prompt abcd --json");
  box.succeed("attention run --text abc --out page.html");
  CHECK(lines_in(result_of(box, "embed run --text abc")).size() == 1);
  box.succeed("heads run --text text.txt --json");
  check_error(box, kUsage,
              "eval: --by-frequency: expected a run that learned from a text, whose tokens are counted, got run",
              "eval run --text text.txt --by-frequency");
  box.succeed("info run --json --seconds 0");
  const nlohmann::json row = nlohmann::json::parse(result_of(box, "runs run --json"))[0];
  CHECK(row["state"] == "imported");
  CHECK(row["steps"] == 0);
  box.succeed(
      "train --train.init_from run --data.text text.txt --train.steps 2 --model.context 16 --train.threads 1 "
      "--out trained --quiet");
  CHECK(box.read("trained/config.toml").find("position_scaling = \"llama3\"") != std::string::npos);

  box.succeed("export trained --format hf --out again/folder");
  CHECK(nlohmann::json::parse(box.read("again/folder/config.json"))["rope_scaling"]["rope_type"] == "llama3");
  CHECK(box.read("again/folder/model.safetensors").size() % 8 == 0);
  CHECK(nlohmann::json::parse(box.read("again/folder/generation_config.json"))["eos_token_id"] == 24);
  box.succeed("import again/folder --out back");
  CHECK(box.read("back/tokenizer.json") == box.read("run/tokenizer.json"));
}

TEST_CASE("interchange: what the tokenizer of a published model puts before a text stands before it here too" *
          long_test()) {
  constexpr int kBegin = 26;  // [CLS], as the token that begins a text
  const Sandbox box;
  place_golden(box, "llama-tied");
  auto tokenizer = nlohmann::json::parse(box.read("llama-tied/tokenizer.json"));
  tokenizer["post_processor"] = nlohmann::json::parse(R"({"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
      "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
      "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [26], "tokens": ["[CLS]"]}}})");
  box.write("llama-tied/tokenizer.json", tokenizer.dump());
  box.write("text.txt", letters());
  box.succeed("import llama-tied --out run");
  const auto tokens_of = [&](const std::string& run) {
    return json_of(box, "surprisal " + run + " --prompt abcd --json")["tokens"];
  };
  const auto tokens = tokens_of("run");
  REQUIRE(tokens.size() == 5);
  CHECK(tokens[0]["id"] == kBegin);
  CHECK(json_of(box, "eval run --text text.txt --json")["tokens"] == letters().size());
  const auto scores = json_of(box, "score run --prompt a --options b c --json");
  CHECK(scores["options"][0]["log_likelihood"].get<double>() == doctest::Approx(-tokens[2]["nats"].get<double>()));
  CHECK(json_of(box, "surprisal run --text text.txt --total --json")["after"] == "[CLS]");
  CHECK(json_of(box, "embed run --text abcd --pool none")["tokens"] ==
        nlohmann::ordered_json{"[CLS]", "a", "b", "c", "d"});
  box.write("words.tsv", std::string(64, 'a') + "\tx\n");
  CHECK(box.run("probe run --train words.tsv --valid words.tsv")
            .tells("words.tsv:1: the sentence has 65 tokens, special ones included: the model reads at most 64"));
  CHECK(json_of(box, "generate run --temperature 0 --tokens 3 --json")["text"] ==
        json_of(box, "generate run --beam 1 --tokens 3 --json")["text"]);

  for (const std::string format : {"hf", "gguf"}) {
    box.succeed("export run --format " + format + " --out " + format);
    box.succeed("import " + format + " --out from-" + format);
    CHECK(tokens_of("from-" + format)[0]["id"] == kBegin);
  }
  CHECK(nlohmann::json::parse(box.read("hf/config.json"))["bos_token_id"] == kBegin);

  const std::string train = "train --data.text text.txt --train.steps 1 --train.threads 1 --eval.every 0 --quiet ";
  box.succeed(train + "--train.init_from run --model.context 16 --out tuned");
  CHECK(tokens_of("tuned")[0]["id"] == kBegin);
  box.succeed(train +
              "--tokenizer.file llama-tied/tokenizer.json --model.context 16 --model.dim 8 --model.heads 1 "
              "--model.layers 1 --out scratch");
  CHECK(tokens_of("scratch").size() == 4);
  // Sentences are tuned without it.
  box.write("pairs.tsv", "abc\tcba\nde\ted\nf\ta\ngh\thg\n");
  box.succeed(
      "train --train.init_from run --task.kind sentences --data.pairs pairs.tsv --train.steps 1 --train.batch 2 "
      "--train.threads 1 --eval.every 0 --quiet --out sentences");
  CHECK(json_of(box, "embed sentences --text ab --pool none")["tokens"].size() == 2);
  // Whatever comes of that run has learned of no such token either.
  box.succeed(train + "--train.init_from scratch --out after");
  CHECK(tokens_of("after").size() == 4);
  for (const std::string format : {"hf", "gguf"}) {
    box.succeed("export scratch --format " + format + " --out scratch-" + format);
    box.succeed("import scratch-" + format + " --out of-" + format);
    CHECK(tokens_of("of-" + format).size() == 4);
  }
}

TEST_CASE(
    "interchange: a text that is generated from its beginning has no space before it that SentencePiece puts there") {
  const Sandbox box;
  place_golden(box, "llama-tied");
  nlohmann::json vocab{{"<unk>", 0}, {"<s>", 1}, {"</s>", 2}, {"\u2581", 3}};
  for (char c = 'A'; vocab.size() < 31; ++c) vocab.emplace("\u2581" + std::string(1, c), vocab.size());
  auto tokenizer = nlohmann::json::parse(R"({"added_tokens": [
      {"id": 0, "content": "<unk>", "special": true}, {"id": 1, "content": "<s>", "special": true},
      {"id": 2, "content": "</s>", "special": true}],
      "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"},
          {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]},
      "pre_tokenizer": null,
      "post_processor": {"type": "TemplateProcessing",
          "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
          "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}},
      "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
          {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
      "model": {"type": "BPE", "unk_token": "<unk>", "byte_fallback": false, "merges": []}})");
  tokenizer["model"]["vocab"] = vocab;
  box.write("llama-tied/tokenizer.json", tokenizer.dump());
  box.succeed("import llama-tied --out run");
  const auto texts_of = [&](const std::string& more) {
    std::vector<std::string> texts;
    for (const std::string& line : lines_in(result_of(box, "generate run --samples 8 --tokens 4 --json" + more))) {
      texts.push_back(nlohmann::json::parse(line)["text"]);
    }
    return texts;
  };
  const auto begins_with_space = [](const std::string& text) { return text.starts_with(' '); };
  const auto has_space = [](const std::string& text) { return text.find(' ') != text.npos; };
  CHECK(std::ranges::none_of(texts_of(""), begins_with_space));
  CHECK(std::ranges::any_of(texts_of(""), has_space));
  CHECK(std::ranges::any_of(texts_of(" --prompt A"), begins_with_space));  // a text that goes on
  CHECK(json_of(box, "generate run --temperature 0 --tokens 4 --json")["text"] ==
        json_of(box, "generate run --beam 1 --tokens 4 --json")["text"]);

  // A sample of a training is what generate makes.
  std::string text;
  for (int i = 0; i < 400; ++i) text += "  A  B ";
  box.write("letters.txt", text);
  box.succeed(
      "train --train.init_from run --data.text letters.txt --train.steps 20 --train.batch 2 --train.matmul highest "
      "--optimizer.lr 0.02 --eval.every 20 --train.sample_every 20 --train.sample_tokens 6 --out tuned");
  const auto lines = box.metrics("tuned");
  const auto sampled = std::ranges::find_if(lines, [](const auto& line) { return line.contains("samples"); });
  REQUIRE(sampled != lines.end());
  const std::string sample = (*sampled)["samples"][0]["output"],
                    generated = json_of(box, "generate tuned --tokens 6 --json --matmul highest --weights f32")["text"];
  CHECK_FALSE(sample.empty());
  CHECK(sample == generated);
}

TEST_CASE("interchange: an imported BERT fills in, is fine-tuned on labels, and says which tokens a text has") {
  const Sandbox box;
  place_golden(box, "bert");
  box.succeed("import bert --out run");
  box.succeed("fill run --text a[MASK]c --json");
  box.write("text.txt", letters());
  box.succeed("eval run --text text.txt --json --no-pseudo");
  std::string table = "label\ttext\n";
  for (int i = 0; i < 30; ++i) table += i % 2 ? "x\tabc\n" : "y\tdef\n";
  box.write("labels.tsv", table);
  box.succeed(
      "train --train.init_from run --task.kind classify --data.labels labels.tsv --data.valid_labels labels.tsv "
      "--train.steps 2 --train.threads 1 --out tuned --quiet");
  box.succeed("export run --format hf --out out");
  const auto tokenizer = nlohmann::json::parse(box.read("out/tokenizer.json"));
  CHECK(tokenizer["post_processor"]["single"][0]["SpecialToken"]["id"] == "[CLS]");
  CHECK(tokenizer["post_processor"]["special_tokens"]["[SEP]"]["ids"][0] == 27);
  CHECK(nlohmann::json::parse(box.read("out/config.json"))["architectures"][0] == "BertForPreTraining");
  check_error(box, kFailure, "tuned: the model is fine-tuned to classify, expected a model of plain text; …",
              "export tuned --format hf --out new");
}

TEST_CASE("interchange: wrong uses of import and export are refused in one line, and leave nothing") {
  const Sandbox box;
  place_golden(box, "gpt2");
  box.succeed("import gpt2 --out run");
  box.write("file.txt", "abc");
  box.write("text.txt", letters());
  fs::create_directory(box / "there");
  check_errors(
      box, kFailure,
      {{"import gpt2 --out run", "run already holds a run: …"},
       {"import none --out new", "none: no such file or folder"},
       {"import file.txt --out new", "file.txt: expected a folder of Hugging Face: config.json, …"},
       {"export run --format hf --out there", "there exists already: expected a new place for the model"},
       {"export none --format hf --out new", "none: no such run or checkpoint"},
       {"train --resume run",
        "run/checkpoints/step-000000 has weights without an optimizer's state: train.init_from begins a new run "
        "with them"},
       {"train --resume run --data.text text.txt --train.threads 1",
        "run/checkpoints/step-000000 has weights without an optimizer's state: train.init_from begins a new run "
        "with them"}});
  check_errors(box, kUsage,
               {{"export run --format onnx --out new", "--format: …"}, {"import gpt2", "expected --out, g…"}});
  CHECK_FALSE(box.has(".new.partial"));
  box.prepare_toy("gpt");
  box.train("toy", "--train.steps 2 --data.within_document true --data.document line --eval.every 0");
  for (const std::string format : {"hf", "gguf"}) {
    CHECK(box.succeed("export toy --format " + format + " --out toy-" + format)
              .tells("warning: the model was trained on documents that begin"));
  }
  fs::create_directories(box / ".killed.partial" / "x");  // what a killed process has left
  box.succeed("export run --format hf --out killed");
  CHECK_FALSE(box.has(".killed.partial"));
  CHECK_FALSE(box.has("killed/x"));
}

TEST_CASE("interchange: a chat template comes with a model, from either of its two files, and leaves with it") {
  const Sandbox box;
  place_golden(box, "llama");
  const std::string chat = "{% for message in messages %}{{ message.content }}{% endfor %}";
  box.write("llama/chat_template.jinja", chat);
  box.succeed("import llama --out run");
  CHECK(nlohmann::json::parse(box.read("run/tokenizer_config.json"))["chat_template"] == chat);
  box.succeed("export run --format hf --out folder");
  const auto written = nlohmann::json::parse(box.read("folder/tokenizer_config.json"));
  CHECK(written["chat_template"] == chat);
  CHECK(written["tokenizer_class"] == "PreTrainedTokenizerFast");
  box.succeed("import folder --out back");
  CHECK(nlohmann::json::parse(box.read("back/tokenizer_config.json"))["chat_template"] == chat);
  std::filesystem::remove(box / "llama/chat_template.jinja");
  box.succeed("import llama --out without");
  CHECK(!box.has("without/tokenizer_config.json"));
}
