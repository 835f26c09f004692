#include <doctest/doctest.h>

#include "core/error.h"
#include "tests/cli/sandbox.h"
#include "tests/long_test.h"

using Json = nlohmann::ordered_json;

namespace {

// The JSON objects of lines.
std::vector<Json> objects(const std::string& lines) {
  std::vector<Json> list;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = lines.find('\n', at);
    list.push_back(Json::parse(lines.substr(at, end - at)));
    at = end + 1;
  }
  return list;
}

}  // namespace

TEST_CASE("generate: several samples have seeds that follow each other, and stop strings end a text") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 20");
  const std::string command = "generate run --prompt Once --tokens 80 ";
  const Outcome one = box.run(command + "--seed 4");
  CHECK(one.exit_code == 0);
  CHECK(one.tells("info: 80 tokens, "));
  CHECK(one.err.ends_with(" tokens/s\n"));
  const std::string two = result_of(box, command + "--seed 3 --samples 2");
  CHECK(two == "--- seed 3 ---\n" + result_of(box, command + "--seed 3") + "--- seed 4 ---\n" + one.out);

  const std::vector<Json> texts = objects(result_of(box, command + "--seed 4 --samples 2 --json"));
  REQUIRE(texts.size() == 2);
  CHECK(keys_of(texts[0]) == std::vector<std::string>{"prompt", "text", "tokens", "seed", "end", "tokens_per_s"});
  CHECK(texts[0]["prompt"] == "Once");
  CHECK("Once" + texts[0]["text"].get<std::string>() + "\n" == one.out);
  CHECK(texts[0]["tokens"] == 80);
  CHECK(texts[0]["end"] == "length");
  CHECK(texts[1]["seed"] == 5);

  const std::string text = texts[0]["text"], stop = text.substr(30, 4);
  const Json stopped = json_of(box, command + "--seed 4 --json --stop ?!? --stop", {stop});
  CHECK(stopped["text"] == text.substr(0, text.find(stop)));
  CHECK(stopped["end"] == "stop");
  CHECK(result_of(box, command + "--seed 4 --stop", {stop}) == "Once" + text.substr(0, text.find(stop)) + "\n");
}

TEST_CASE("generate: a beam search prints the best texts with their scores, the same without the cache" * long_test()) {
  const Sandbox box;
  box.prepare_toy("gpt");
  box.train("run", "--train.steps 20");
  const std::string command = "generate run --prompt Once --tokens 12 --beam ";
  const std::string best = result_of(box, command + "4");
  CHECK(result_of(box, command + "4 --no-cache") == best);
  CHECK(result_of(box, command + "1") == result_of(box, "generate run --prompt Once --tokens 12 --temperature 0"));

  const std::vector<Json> texts = objects(result_of(box, command + "4 --n-best 3 --json"));
  REQUIRE(texts.size() == 3);
  CHECK(keys_of(texts[0]) == std::vector<std::string>{"prompt", "text", "tokens", "score", "log_probability", "end"});
  CHECK("Once" + texts[0]["text"].get<std::string>() + "\n" == best);
  CHECK(texts[0]["score"] >= texts[1]["score"]);
  CHECK(texts[1]["score"] >= texts[2]["score"]);
  for (const Json& text : texts) {
    CHECK(text["log_probability"] < 0);
    CHECK((text["tokens"] == 12) == (text["end"] == "length"));
  }
  const std::string several = result_of(box, command + "4 --n-best 3");
  CHECK(several.starts_with("--- score -"));
  CHECK(several.find(" ---\n" + best) < several.find("--- score", 1));

  for (const std::string other :
       {"--temperature 1", "--top-k 3", "--top-p 0.5", "--seed 3", "--samples 2", "--stop x", "--interactive"}) {
    const std::string name = other.substr(0, other.find(' '));
    check_error(box, kUsage, name + " excludes --beam (see --help)", "generate run --tokens 2 --beam 3 " + other);
  }
  check_error(box, kUsage, "--interactive excludes --samples (see --help)", "generate run --interactive --samples 2");
  for (const std::string other : {"--n-best", "--length-penalty"}) {
    check_error(box, kUsage, other + " requires --beam (see --help)", "generate run --tokens 2 " + other + " 1");
  }
  check_error(box, kUsage, "--n-best: expected 1 to 3 (--beam), got 4", "generate run --beam 3 --n-best 4");
  check_error(box, kUsage, "--beam: expected a whole number from 1 to 1000, got 0 (see --help)",
              "generate run --beam 0");
}

TEST_CASE("generate: a prompt longer than the context is continued from its end, and a warning says so" * long_test()) {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 1");
  const std::string command = "generate run --tokens 5 --samples 2 -q --prompt";
  const Outcome whole = box.run(command, {"Once upon a time"}), more = box.run(command, {"The Once upon a time"});
  CHECK(whole.err == "");
  CHECK(more.err == "warning: the prompt has 20 tokens: the model sees only the last 16\n");
  std::string expected = whole.out;
  for (std::size_t at = 0; (at = expected.find("Once upon", at)) != expected.npos; at += 8) expected.insert(at, "The ");
  CHECK(more.out == expected);
  const Outcome talk = box.run("generate run --tokens 5 -q --interactive", {}, "Once\n\nThe Once upon a time\n");
  CHECK(talk.err == "warning: the conversation has 20 tokens: the model sees only the last 16\n");

  // The document token that a prompt begins with takes a place of the context.
  box.train("lines",
            "--train.steps 1 --tokenizer.kind bpe --tokenizer.vocab 260 --data.document line"
            " --data.within_document true");
  const std::string limit = "generate lines --tokens 1 -q --prompt";
  CHECK(box.run(limit, {"zzzzzzzzzzzzzzz"}).err == "");
  CHECK(box.run(limit, {"zzzzzzzzzzzzzzzz"}).err ==
        "warning: the prompt has 17 tokens: the model sees only the last 16\n");
}

TEST_CASE("generate: its speed stands behind the text, where both go to one file too") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 1");
  box.run_on_terminal(80, "tapeformer generate run --prompt Once --tokens 5 > both.txt 2>&1");
  const std::string both = box.read("both.txt");
  const std::size_t begin = both.find('\n') + 1;  // behind the line that says which weights are read
  CHECK(both.find("\ninfo: 5 tokens, ", begin) == begin + 4 + 5);
}

TEST_CASE("generate: a text without a prompt begins as a document does" * long_test()) {
  const Sandbox box("gpt");
  box.train("letters", "--train.steps 5");  // no token ends a text: after a line's end
  const std::string text = result_of(box, "generate letters --tokens 40");
  CHECK(text == result_of(box, "generate letters --tokens 40 --prompt", {""}));
  CHECK("\n" + text == result_of(box, "generate letters --tokens 40 --prompt", {"\n"}));

  box.train("pieces", "--train.steps 5 --tokenizer.kind bpe --tokenizer.vocab 300 --data.document line");
  const Json json = json_of(box, "generate pieces --tokens 300 --seed 2 --json");
  CHECK(json["prompt"] == "");
  CHECK(json["tokens"].get<int>() > 0);
}

TEST_CASE("generate: a conversation continues each line with those before it, until an empty line begins anew") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 5");
  const std::string options = "generate run --tokens 20 --seed ";
  const std::string first = result_of(box, options + "1 --prompt Once");  // with a line's end
  const std::string both = result_of(box, options + "2 --prompt", {first + "The"});
  const Outcome talk = box.run(options + "1 --interactive -q", {}, "Once\nThe\n\nThe\n");
  CHECK(talk.out == first + both.substr(first.size()) + result_of(box, options + "3 --prompt The"));
  CHECK(both.substr(first.size()) != result_of(box, options + "2 --prompt The"));
  // The model reads 16 tokens: the answer to "The" was found without the beginning, which is said.
  CHECK(talk.err == tapeformer::str_cat("warning: the conversation has ", first.size() + 3,
                                        " tokens: the model sees only the last 16\n"));

  // An answer that --stop has ended is remembered as it was shown.
  const std::vector<Json> texts = objects(result_of(box, options + "1 --interactive --json", {}, "Once\nThe\n"));
  REQUIRE(texts.size() == 2);
  CHECK(texts[1]["prompt"] == "The");
  CHECK("Once" + texts[0]["text"].get<std::string>() + "\n" == first);
  CHECK("The" + texts[1]["text"].get<std::string>() + "\n" == both.substr(first.size()));
  const std::string stop = first.substr(9, 2);
  const std::string stopped = result_of(box, options + "1 --prompt Once --stop", {stop});
  const std::string after = result_of(box, options + "2 --prompt", {stopped + "The", "--stop", stop});
  CHECK(result_of(box, options + "1 --interactive --stop", {stop}, "Once\nThe\n") ==
        stopped + after.substr(stopped.size()));

  // What is typed ahead is echoed before the first "> ".
  const std::string shown = box.run_on_terminal(80, "tapeformer " + options + "1 --interactive -q", "Once\n\x04");
  CHECK(shown.find("> " + result_of(box, options + "1 --prompt Once") + "> ") != shown.npos);
}

TEST_CASE(
    "generate: a line with an unknown character gets a warning where it was typed, else an error with its number") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 5");
  const std::string options = "generate run --tokens 20 --seed ", unknown = "character 'ß' (U+00DF) at byte ";
  const std::string first = result_of(box, options + "1 --prompt Once");
  const std::string both = result_of(box, options + "2 --prompt", {first + "The"});
  const std::string shown =
      box.run_on_terminal(80, "tapeformer " + options + "1 --interactive -q 2>errors.txt", "Once\nOnce ß\nThe\n\x04");
  CHECK(shown.find("> " + first + "> > " + both.substr(first.size()) + "> ") != shown.npos);
  CHECK(box.read("errors.txt").starts_with("warning: not continued: char tokenizer: " + unknown));
  const Outcome piped = box.run(options + "1 --interactive -q", {}, "Once\nß\nThe\n");
  CHECK(piped.exit_code == kFailure);
  CHECK(piped.out == first);
  CHECK(piped.tells("tapeformer: line 2: char tokenizer: " + unknown));
}

TEST_CASE("generate: a line of a conversation that has no tokens gets a warning where it was typed, else an error") {
  const Sandbox box("gpt");
  box.write("words.json", R"({"version":"1.0","added_tokens":[],"pre_tokenizer":{"type":"BertPreTokenizer"},
      "decoder":{"type":"WordPiece","prefix":"##","cleanup":true},"model":{"type":"WordPiece","unk_token":"[UNK]",
      "continuing_subword_prefix":"##","max_input_chars_per_word":100,"vocab":{"[UNK]":0,"Once":1,"the":2,"a":3}}})");
  box.train("run", "--train.steps 1 --tokenizer.file words.json");
  const std::string command = "generate run --tokens 2 -q --interactive";
  const std::string once = result_of(box, command, {}, "Once\n");
  const std::string shown = box.run_on_terminal(80, "tapeformer " + command + " 2>errors.txt", "  \nOnce\n\x04");
  CHECK(shown.find("> > " + once + "> ") != shown.npos);
  CHECK(box.read("errors.txt") == "warning: not continued: the line has no tokens\n");
  const Outcome piped = box.run(command, {}, "Once\n\n  \n");
  CHECK(piped.exit_code == kFailure);
  CHECK(piped.out == once);
  CHECK(piped.err == "tapeformer: line 3: the line has no tokens\n");
}

TEST_CASE("generate: a warning counts the words of a prompt that the vocabulary does not have") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 1 --tokenizer.kind word --tokenizer.vocab 300");
  const std::string words =
      " are words or characters that the vocabulary does not have: the model reads <unk>\nwarning: ";
  const std::string command = "generate run --tokens 2 -q ";
  CHECK(box.run(command + "--prompt", {"Once"}).err == "");
  CHECK(box.run(command + "--prompt", {"Once xyzzy"}).err + "warning: " ==
        "warning: 1 of 2 tokens of the prompt" + words);
  CHECK(box.run(command + "--beam 2 --prompt", {"Once xyzzy"}).err + "warning: " ==
        "warning: 1 of 2 tokens of the prompt" + words);
  CHECK(box.run(command + "--interactive", {}, "xyzzy\nOnce\n").err + "warning: " ==
        "warning: 1 of 1 tokens of the line" + words);
}
