// What train writes beside its losses: norms of layers, samples, the machine. And that all of it is documented.
#include <doctest/doctest.h>

#include <set>

#include "core/text/lines.h"
#include "tests/cli/training/resume_support.h"
#include "tests/long_test.h"

using Json = nlohmann::ordered_json;

namespace {

std::vector<Json> lines_with(const Sandbox& box, const std::string& run, const char* key) {
  std::vector<Json> lines;
  for (const Json& line : box.metrics(run)) {
    if (line.contains(key)) lines.push_back(line);
  }
  return lines;
}

std::string weights(const Sandbox& box, const std::string& run) {
  return box.read(run + "/checkpoints/step-000012/model.safetensors");
}

constexpr const char* kAll = " --train.watch 3 --train.sample_every 4 --train.sample_tokens 20 --train.trace_nan true";

// tiny.toml with another section [model].
void write_model(const Sandbox& box, const std::string& model) {
  const std::string config = box.read("tiny.toml");
  box.write("tiny.toml", "[model]\n" + model + config.substr(config.find("[tokenizer]")));
}

// The keys in the first column of the table of metrics.jsonl.
std::set<std::string> documented_keys() {
  const std::string text = read_all(std::filesystem::path(PROJECT_ROOT) / "docs/usage.md");
  const std::size_t begin = text.find("### The keys of metrics.jsonl"), end = text.find("\n### ", begin);
  std::set<std::string> keys;
  for (const std::string_view line : tapeformer::split_lines(std::string_view(text).substr(begin, end - begin))) {
    if (!line.starts_with("| `")) continue;
    const std::string_view cell = line.substr(2, line.find(" |", 2) - 2);
    for (std::size_t at = cell.find('`'); at != cell.npos; at = cell.find('`', at + 1)) {
      const std::size_t close = cell.find('`', at + 1);
      keys.emplace(cell.substr(at + 1, close - at - 1));
      at = close;
    }
  }
  return keys;
}

}  // namespace

TEST_CASE("watch: norms, samples and the search for NaN change no bit of the training, and a resume writes them again" *
          long_test()) {
  for (const std::string family : {"gpt", "rnn"}) {
    const Sandbox box;
    box.prepare_toy("gpt");
    if (family == "rnn") write_model(box, "type = \"rnn\"\ndim = 32\ndropout = 0.1\n");
    const std::string options = "--train.steps 12 --checkpoint.every 6";
    box.train("plain", options + " --train.trace_nan false");
    box.train("watched", options + kAll);
    CHECK_MESSAGE(weights(box, "plain") == weights(box, "watched"), family);
    std::vector<std::int64_t> watched, sampled;
    for (const Json& line : lines_with(box, "watched", "watch")) {
      watched.push_back(line["step"].get<std::int64_t>());
      CHECK(line.contains("loss"));
      CHECK(line["watch"][family == "gpt" ? "blocks.1" : "layers.0"]["grad"].get<double>() > 0);
    }
    CHECK(watched == std::vector<std::int64_t>{3, 6, 9, 12});
    for (const Json& line : lines_with(box, "watched", "samples")) {
      sampled.push_back(line["step"].get<std::int64_t>());
      CHECK(line["samples"][0]["input"] == "\n");
      CHECK(line["samples"][0]["output"].get<std::string>().size() == 20);
    }
    CHECK(sampled == std::vector<std::int64_t>{4, 8, 12});
    // In two parts.
    box.train("resumed", options + kAll + std::string(" --train.max_minutes 0.00001"));
    for (int i = 0; i < 20 && !box.has("resumed/checkpoints/step-000012"); ++i) {
      REQUIRE(box.run("train --resume resumed --train.max_minutes 0.0005").exit_code == 0);
    }
    CHECK_MESSAGE(weights(box, "resumed") == weights(box, "watched"), family);
    const auto lines = box.metrics("watched"), resumed = box.metrics("resumed");
    REQUIRE(lines.size() == resumed.size());
    for (std::size_t i = 0; i < lines.size(); ++i) CHECK(without_times(lines[i]) == without_times(resumed[i]));
    CHECK(Json::parse(box.read("resumed/machine.json")).size() == 1);
  }
}

TEST_CASE("samples: a language model's are what generate makes, and an encoder-decoder's are of validation pairs") {
  const Sandbox box("gpt");
  box.train("run",
            "--train.steps 8 --train.matmul highest --train.sample_every 8 --train.sample_tokens 30 "
            "--train.sample_prompt the");
  const Json sample = lines_with(box, "run", "samples").at(0)["samples"][0];
  CHECK(sample["input"] == "the");
  CHECK(result_of(box, "generate run --prompt the --tokens 30") == "the" + sample["output"].get<std::string>() + "\n");
  CHECK(box.read("run/report.html").find(sample["output"].dump()) != std::string::npos);
  // Without a prompt, a sample begins as the documents do, if there are any.
  std::string lines;
  for (int i = 0; i < 60; ++i)
    lines += R"({"text": "Once upon a time a cat sat here."})"
             "\n";
  box.write("text.jsonl", lines);
  const std::string stories = "--data.corpus stories --data.lines 60 ";
  const std::pair<std::string, std::string> documents[] = {
      {"lines", stories},
      {"documents", stories + "--data.document line"},
      {"alone", stories + "--data.document line --data.within_document true"},
      {"json", "--data.text text.jsonl"}};
  for (const auto& each : documents) {
    CAPTURE(each.first);
    box.train(each.first, "--train.steps 8 --train.sample_every 8 " + each.second);
    const Json text = json_of(box, "generate " + each.first + " --json --tokens 100")["text"];
    CHECK(lines_with(box, each.first, "samples").at(0)["samples"][0]["output"] == text);
  }
  check_error(box, kUsage, "train.sample_every: expected 0 for bert, which makes no text, got 8",
              "train tiny.toml --out new --train.sample_every 8 --model.type bert");

  const Sandbox pairs;
  pairs.prepare_toy("transformer");
  pairs.train("run", "--train.steps 8 --train.sample_every 8");
  const Json samples = lines_with(pairs, "run", "samples").at(0)["samples"];
  CHECK(samples.size() == 4);
  for (const Json& one : samples) {
    const std::string source = one["input"], reference = one["reference"];
    CHECK(reference == std::string(source.rbegin(), source.rend()));
    CHECK(one["output"].is_string());
  }
}

TEST_CASE("numbers: a training that blows up says in its one line where the first bad number came from") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 4");
  const std::string blow_up = "train --resume run --train.steps 9 --optimizer.lr 1e30 --schedule.warmup 0";
  CHECK(box.run(blow_up).tells("; the first value that is not finite is of the forward of "));
  CHECK(box.run(blow_up + " --train.trace_nan false").tells("; train.trace_nan = true names the op that made it; "));
}

TEST_CASE("metrics: every key that a training writes is in the table of docs/usage.md") {
  const std::set<std::string> documented = documented_keys();
  CHECK(documented.size() > 20);
  std::set<std::string> written;
  const auto add = [&](const Sandbox& box, const std::string& run, const std::string& options) {
    box.train(run, "--train.steps 6 --eval.every 3 " + options);
    for (const Json& line : box.metrics(run)) {
      for (const auto& entry : line.items()) written.insert(entry.key());
    }
  };
  const Sandbox box("gpt");
  add(box, "gpt", "--eval.batches 0 --train.label_smoothing 0.1 --train.watch 2 --train.sample_every 3");
  add(box, "bert", "--model.type bert --model.segments 2 --model.next_sentence true --data.document line");
  write_model(box, "type = \"bilm\"\ndim = 16\n");
  add(box, "bilm", "");
  const Sandbox pairs;
  pairs.prepare_toy("transformer");
  add(pairs, "run", "--eval.bleu_every 3");
  const Sandbox labels;
  labels.prepare_toy("gpt");
  labels.write("train.tsv", result_of(labels, "corpus stories --labels --lines 40 --seed 2"));
  labels.write("tiny.toml",
               "[model]\ntype = \"bert\"\nlayers = 1\nheads = 2\ndim = 16\n[data]\nlabels = "
               "\"train.tsv\"\n[task]\nkind = \"tag\"\n[tokenizer]\nkind = \"word\"\n[train]\nbatch = 4\n");
  add(labels, "run", "");
  for (const std::string& key : written) {
    const std::string_view prefix = "average_";  // the table says that the average's keys are those of evaluations
    const std::string in_table = key.starts_with(prefix) ? "eval_" + key.substr(prefix.size()) : key;
    CHECK_MESSAGE(documented.contains(in_table), key);
  }
  for (const char* const key : {"unsmoothed_loss", "watch", "samples", "eval_bits_per_byte", "eval_bleu",
                                "eval_forward_loss", "eval_next_sentence_loss", "eval_span_f1", "average_loss"}) {
    CHECK_MESSAGE(written.contains(key), key);
  }
}
