// Files of a run that were damaged, or changed by hand: no command takes them for what they were.
#include <doctest/doctest.h>

#include "core/hash.h"
#include "core/json.h"
#include "tests/cli/training/resume_support.h"

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using tapeformer::hash_bytes;
using tapeformer::to_hex;

namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != text.npos);
  return text.replace(at, from.size(), to);
}

std::string without_first_line(const std::string& text) { return text.substr(text.find('\n') + 1); }

void change(const Sandbox& box, const std::string& file, const std::string& from, const std::string& to) {
  box.write(file, replaced(box.read(file), from, to));
}

}  // namespace

TEST_CASE("damage: a run whose checkpoints are gone begins anew, and says so") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 2");
  std::filesystem::remove_all(box / "run/checkpoints");
  const Outcome outcome = box.succeed("train --resume run");
  CHECK(outcome.tells("warning: run has no checkpoint, though metrics.jsonl has lines: the training begins anew"));
}

TEST_CASE("damage: a run that began with other weights does not begin anew without them") {
  const Sandbox box("gpt");
  box.train("base", "--train.steps 2");
  box.train("run", "--train.steps 2 --train.init_from base");
  std::filesystem::remove_all(box / "run/checkpoints");
  check_error(box, kFailure, "run: no checkpoint is left, and the run began with the weights of …",
              "train --resume run");
}

TEST_CASE("damage: a config.toml that was changed is refused, with every key, until the change is accepted") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 12");
  const std::string good = box.read("run/config.toml"), metrics = box.read("run/metrics.jsonl");
  const std::string asks =
      ": give --accept-changes to go on so; run/checkpoints/step-000012/config.toml is what it was";
  const auto refused = [&](const std::string& message) {
    check_error(box, kUsage, message, "train --resume run --train.steps 16");
    check_error(box, kUsage, message, "train --resume run --train.steps 16 --out new");
    CHECK(box.read("run/metrics.jsonl") == metrics);
  };
  change(box, "run/config.toml", "\nbatch = 8 ", "\nbatch = 4 ");
  change(box, "run/config.toml", "\nlr = 0.01 ", "\nlr = 0.02 ");
  refused(
      "run/config.toml was changed by hand, or damaged: optimizer.lr was 0.01 and is 0.02, train.batch was 8 and is 4" +
      asks);
  box.write("run/config.toml", good.substr(0, good.find("\n[checkpoint]")));
  refused("run/config.toml was changed by hand, or damaged: checkpoint.every was 4 and is …");
  box.write("run/config.toml", good.substr(0, good.find("\nbatch = 8") + 8));
  refused("run/config.toml:…");

  box.write("run/config.toml", good + "# a comment means nothing\n");
  CHECK(box.run("train --resume run --train.steps 13").exit_code == 0);
  change(box, "run/config.toml", "\nbatch = 8 ", "\nbatch = 4 ");
  const Outcome accepted = box.succeed("train --resume run --train.steps 14 --accept-changes");
  INFO(accepted.err);
  CHECK(accepted.tells("train.batch is now 4\n"));
  CHECK(box.run("train --resume run --train.steps 15").exit_code == 0);
  CHECK(box.read("run/config.toml").find("\nbatch = 4 ") != std::string::npos);
}

TEST_CASE("damage: a task that was taken out of config.toml is asked about, and cannot go") {
  const Sandbox box("multi_task");
  box.train("run", "--train.steps 4 --tasks.more.kind masked_language_model --tasks.more.corpus tales");
  std::string rest;
  for (const std::string& line : lines_in(box.read("run/config.toml"))) {
    if (!line.starts_with("more.")) rest += line + "\n";
  }
  box.write("run/config.toml", rest);
  check_error(box, kUsage,
              "run/config.toml was changed by hand, or damaged: tasks.more.kind was masked_language_model and is none, "
              "tasks.more.corpus was tales and is none: give --accept-changes to go on so…",
              "train --resume run --train.steps 5");
  check_error(box, kUsage, "tasks.more.kind: the run has masked_language_model, got none: it says what …",
              "train --resume run --train.steps 5 --accept-changes");
}

TEST_CASE("damage: a config.toml that a killed resume has written, or an older version, is no change by hand") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 12");
  REQUIRE(box.run("train --resume run --train.steps 16 --train.max_minutes 1e-9").exit_code == 0);
  const std::string longer = box.read("run/config.toml");
  fs::remove_all(box / "run/checkpoints/step-000013");  // killed before it was saved
  fs::remove(box / "run/checkpoints/latest");
  CHECK(box.run("train --resume run --train.max_minutes 0").tells("step 16/16  100%"));

  // An older version: no checksum in config.toml, and no hashes in state.json.
  const std::string newest = "run/checkpoints/step-000016/";
  const std::string config = without_first_line(box.read(newest + "config.toml"));
  box.write(newest + "config.toml", config);
  box.write("run/config.toml", replaced(config, "\nbatch = 8 ", "\nbatch = 4 "));
  Json state = Json::parse(box.read(newest + "state.json"));
  for (const char* key : {"run_files", "metrics", "xxh3"}) CHECK(state.erase(key) == 1);
  state["files"]["config.toml"] = {{"bytes", config.size()}, {"xxh3", to_hex(hash_bytes(config))}};
  tapeformer::seal_json(state);
  box.write(newest + "state.json", state.dump(2));
  const Outcome older = box.succeed("train --resume run --train.steps 17");
  INFO(older.err);
  CHECK(older.tells("resumed at step 16\n"));
  CHECK(Json::parse(box.read("run/checkpoints/step-000017/state.json"))["run_files"].size() == 1);
}

TEST_CASE("damage: every command that reads a run refuses another tokenizer than it was trained with") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 8");
  Json tokenizer = Json::parse(box.read("run/tokenizer.json"));
  Json& vocabulary = tokenizer["model"]["vocab"];
  auto first = vocabulary.end(), second = vocabulary.end();
  --first, second = first, --second;
  std::swap(*first, *second);
  box.write("run/tokenizer.json", tokenizer.dump());
  for (const std::string words :
       {"eval run --text text.txt", "generate run --prompt a", "surprisal run --text text.txt", "embed run --text a",
        "train --resume run --train.steps 9", "train --resume run --train.steps 9 --out new",
        "attention run --text text.txt --out new.html"}) {
    CAPTURE(words);
    check_error(box, kFailure, "run/tokenizer.json has changed since step-000008 was saved: …", words);
  }
  check_error(box, kFailure, (box / "run/tokenizer.json").string() + " has changed since step-000008 was saved: …",
              "train tiny.toml --train.init_from run --out new");
}

TEST_CASE("damage: metrics that have changed are told and kept") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 8");
  const std::string damaged = "nonsense" + box.read("run/metrics.jsonl").substr(8);
  box.write("run/metrics.jsonl", damaged);
  const Outcome outcome = box.run("train --resume run --train.steps 9");
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.tells(
      "run/metrics.jsonl has changed since step 8 was saved, and 1 lines that cannot be read are left out"));
  CHECK(box.read("run/metrics.jsonl.damaged") == damaged);
  CHECK(box.metrics("run").back()["step"] == 9);
}

TEST_CASE("damage: a run that cannot be read does not hide the others of its folder") {
  const Sandbox box("gpt");
  box.train("runs/good", "--train.steps 8");
  fs::copy(box / "runs/good", box / "runs/bad", fs::copy_options::recursive);
  box.write("runs/bad/metrics.jsonl", "nonsense\n");
  const Outcome outcome = box.run("report runs --out page.html");
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.tells("runs/bad: runs/bad/metrics.jsonl:1: expected an object"));
  const std::string page = box.read("page.html");
  CHECK(page.find(R"("name":"good")") != page.npos);
  CHECK(page.find(R"("name":"bad")") == page.npos);
  check_error(box, kFailure, "runs/bad/metrics.jsonl:1: expected an object…", "report runs/bad --out other.html");
  fs::remove_all(box / "runs/good");
  const Outcome none = box.run("report runs --out other.html");
  CHECK(none.exit_code == kFailure);
  CHECK(none.tells("tapeformer: runs has no run that can be read\n"));
  CHECK_FALSE(box.has("other.html"));
}
