// Conversations, from a file to the answers in a terminal.
#include <doctest/doctest.h>

#include <algorithm>

#include "nn/formats/gguf.h"
#include "tests/cli/sandbox.h"

using Json = nlohmann::ordered_json;

TEST_CASE("instructions: a run on conversations is evaluated, talked with, resumed and trained on from") {
  const Sandbox box("instructions");
  box.write("any.toml", box.read("tiny.toml").substr(0, box.read("tiny.toml").find("[task]")) +
                            "[train]\nsteps = 4\nthreads = 1\n");
  const Outcome trained = box.succeed("train any.toml --train.sample_every 4 --out run");
  CHECK(trained.tells("task.kind = instructions, since data.conversations is given\n"));
  CHECK(trained.tells(" are answers, which alone are scored\n"));
  CHECK(trained.tells("next: tapeformer generate run --chat\n"));
  CHECK(trained.out.find("\n  reference:  ") != std::string::npos);
  CHECK(Json::parse(box.read("run/tokenizer_config.json"))["eos_token"] == "<|im_end|>");

  const Json result = json_of(box, "eval run --conversations chat.jsonl --batch 7 --json");
  CHECK(keys_of(result) == std::vector<std::string>{"tokens", "bytes", "loss", "perplexity", "bits_per_byte",
                                                    "conversations", "skipped", "answers", "right", "accuracy",
                                                    "checkpoint", "matmul"});
  CHECK(json_of(box, "runs run --json")[0]["data"] == "chat.jsonl");
  CHECK(result["conversations"].get<int>() + result["skipped"].get<int>() == 80);
  CHECK(result["answers"] >= result["conversations"]);
  CHECK(json_of(box, "eval run --conversations chat.jsonl --batch 16 --matmul highest --json")["loss"].get<double>() ==
        doctest::Approx(
            json_of(box, "eval run --conversations chat.jsonl --batch 3 --matmul highest --json")["loss"].get<double>())
            .epsilon(1e-5));
  // The other commands of language models take it as well.
  box.write("text.txt", "Sort the letters of abc.\n");
  CHECK(json_of(box, "eval run --text text.txt --json")["tokens"] > 10);
  CHECK(box.succeed("generate run --prompt Sort --tokens 3").exit_code == 0);

  const Outcome talk = box.succeed("generate run --chat --system be --temperature 0 --tokens 5 --json", {},
                                   "Sort the letters of b.\nNow copy it.\n\nReverse c.\n");
  const std::vector<std::string> lines = lines_in(talk.out);
  REQUIRE(lines.size() == 3);
  CHECK(keys_of(Json::parse(lines[0])) ==
        std::vector<std::string>{"prompt", "text", "tokens", "seed", "end", "tokens_per_s"});
  CHECK(Json::parse(lines[1])["prompt"] == "Now copy it.");
  CHECK(Json::parse(lines[2])["seed"] == 3);
  // A question that is too long, or that the tokenizer cannot encode, is told, and the next one is answered.
  const Outcome long_question =
      box.succeed("generate run --chat --tokens 5 --json", {}, std::string(200, 'a') + "\n#\nCopy b.\n");
  const std::vector<std::string> objects = lines_in(long_question.out);
  REQUIRE(objects.size() == 3);
  CHECK(Json::parse(objects[0])["end"] == "not_answered");
  CHECK(Json::parse(objects[0])["error"].get<std::string>().starts_with("the question has "));
  CHECK(Json::parse(objects[1])["prompt"] == "#");
  CHECK(Json::parse(objects[2])["prompt"] == "Copy b.");
  CHECK(Json::parse(result_of(box, "generate run --chat --tokens 1 --json", {},
                              "\xEF\xBB\xBF"
                              "Copy b.\n"))["prompt"] == "Copy b.");
  CHECK(long_question.tells("not answered: the question has "));
  CHECK(long_question.tells("not answered: char tokenizer: character '#'"));
  const Outcome full =
      box.succeed("generate run --chat --tokens 20 --temperature 0", {}, "Copy b.\nCopy b.\nCopy b.\n");
  CHECK(full.tells("the context is full: the oldest 2 messages were forgotten"));

  box.succeed("train --resume run --train.steps 6");
  const Outcome on =
      box.succeed("train --train.init_from run --data.conversations chat.jsonl --train.steps 2 --out more");
  CHECK(on.tells("the weights and the tokenizer are those of"));
  CHECK(box.read("more/tokenizer_config.json") == box.read("run/tokenizer_config.json"));
  CHECK(json_of(box, "info more --seconds 0 --json")["type"] == "gpt");
  CHECK(json_of(box, "runs more --json")[0]["data"] == "chat.jsonl");
  // Other programs end an answer at the mark of the template.
  box.succeed("export run --format hf --out folder");
  const auto written = [&](const std::string& file) { return Json::parse(box.read("folder/" + file)); };
  const Json added = written("tokenizer.json")["added_tokens"];
  const auto end = std::ranges::find(added, "<|im_end|>", [](const Json& token) { return token["content"]; });
  REQUIRE(end != added.end());
  CHECK(written("generation_config.json")["eos_token_id"] == (*end)["id"]);
  CHECK(written("config.json")["eos_token_id"] == (*end)["id"]);
  CHECK(written("tokenizer_config.json")["eos_token"] == "<|im_end|>");
  // So they do where the template's own eos_token is another one.
  box.write("base/tokenizer.json", box.read("run/tokenizer.json"));
  box.write(
      "base/tokenizer_config.json",
      R"({"eos_token": "<|endoftext|>", "chat_template": "{% for m in messages %}<|im_start|>{{ m.role }}\n)"
      R"({{ m.content }}<|im_end|>{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"})");
  box.succeed("train any.toml --tokenizer.file base/tokenizer.json --out own");
  box.succeed("export own --format hf --out own-folder");
  CHECK(Json::parse(box.read("own-folder/generation_config.json"))["eos_token_id"] == (*end)["id"]);
  box.succeed("export own --format gguf --out own.gguf");
  const tapeformer::GgufFile file(box / "own.gguf");
  CHECK(file.integer("tokenizer.ggml.eot_token_id") == (*end)["id"].get<std::int64_t>());
  CHECK(file.integer("tokenizer.ggml.eos_token_id") != (*end)["id"].get<std::int64_t>());
  const Json info = json_of(box, "info any.toml --seconds 0 --json");
  CHECK(info["data"] == "read");
  CHECK(info["vocab_from"] == "learned from the data");
  CHECK(box.succeed("train --resume run --train.steps 8 --out fork").exit_code == 0);
  CHECK(box.read("fork/tokenizer_config.json") == box.read("run/tokenizer_config.json"));
}

TEST_CASE("instructions: a base model answers by its own template, or by marks that are plain text") {
  const Sandbox box("gpt");
  box.succeed(
      "train tiny.toml --tokenizer.kind bpe --tokenizer.vocab 300 --model.context 128 --train.steps 2 --out base");
  box.write("chat.jsonl", "{\"prompt\": \"a\", \"completion\": \"b\"}\n{\"prompt\": \"c\", \"completion\": \"d\"}\n");
  CHECK(json_of(box, "eval base --conversations chat.jsonl --json")["answers"] == 2);
  const Outcome marks = box.succeed(
      "train --train.init_from base --data.conversations chat.jsonl --data.valid_conversations chat.jsonl "
      "--train.steps 1 --out marks");
  CHECK(marks.tells("the tokenizer has no special tokens <|im_start|> and <|im_end|>: they are encoded as plain text"));
  CHECK(box.succeed("generate marks --chat --tokens 4", {}, "a\n").out.ends_with("\n"));

  box.succeed("train tiny.toml --tokenizer.kind char --model.context 128 --train.steps 2 --out chars");
  check_error(box, kFailure,
              "the marks of the chat template, <|im_start|> and <|im_end|>: char tokenizer: character '<' (U+003C) at "
              "byte 0 is not in the vocabulary; a bpe tokenizer takes any bytes",
              "train -q --train.init_from chars --data.conversations chat.jsonl --train.steps 1 --out answers");

  // Unknown words are easily predicted, so their loss says nothing about bytes.
  box.succeed(
      "train tiny.toml --tokenizer.kind word --tokenizer.vocab 60 --model.context 128 --train.steps 2 --out words");
  box.write("unknown.jsonl", "{\"prompt\": \"qq\", \"completion\": \"xx yy zz\"}\n");
  CHECK(json_of(box, "eval words --conversations unknown.jsonl --json")["unknown_share"] > 0.1);
  CHECK(result_of(box, "eval words --conversations unknown.jsonl").find("bits per byte  withheld") !=
        std::string::npos);
  CHECK(box.succeed("generate words --chat --tokens 2", {}, "qq\n")
            .tells(" tokens of the prompt are words or characters that the vocabulary does not have: the model reads "
                   "<unk>"));
  CHECK(box.succeed("train --train.init_from words --data.conversations unknown.jsonl --data.valid_conversations "
                    "unknown.jsonl --train.steps 1 --out foreign")
            .tells(" tokens of the training answers are words or characters that the vocabulary does not have"));

  box.write("base/tokenizer_config.json",
            R"({"chat_template": "{% for m in messages %}{{ m.content }}<|endoftext|>{% endfor %}"})");
  const Outcome own = box.succeed(
      "train --train.init_from base --data.conversations chat.jsonl --data.valid_fraction 0 --train.steps 1 --out own");
  CHECK_FALSE(own.tells("plain text"));
  CHECK(own.tells("2 training conversations in 1 rows with 6 tokens, of which 4 are answers"));
  // A run that goes on with its weights on plain text still answers by it.
  box.succeed("train --train.init_from base --data.text text.txt --train.steps 1 --out text");
  CHECK(Json::parse(box.read("text/tokenizer_config.json"))["chat_template"] ==
        Json::parse(box.read("base/tokenizer_config.json"))["chat_template"]);
  box.write("base/tokenizer_config.json", R"({"chat_template": "{% macro a() %}{% endmacro %}"})");
  check_errors(box, kFailure,
               {{"train --quiet --train.init_from base --data.conversations chat.jsonl --out new",
                 "chat template: line 1: the statement 'macro' is not supported here; there are if, elif, else, for, "
                 "set, break, continue"},
                {"generate base --chat", "chat template: line 1: the statement 'macro' is not supported here; …"}});
}

TEST_CASE("instructions: a model that keeps documents apart reads a conversation as one text") {
  const Sandbox box("gpt");
  box.succeed(
      "train tiny.toml --data.document line --data.within_document true --tokenizer.kind bpe --tokenizer.vocab 300 "
      "--model.context 128 --train.steps 2 --out apart");
  box.write("apart/tokenizer_config.json", R"({"chat_template": "{% for m in messages %}{{ m.role }}: {{ m.content }})"
                                           R"({% if m.role == 'assistant' %}<|endoftext|>{% endif %}{% endfor %})"
                                           R"({% if add_generation_prompt %}assistant: {% endif %}"})");
  box.write("turns.jsonl", R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, )"
                           R"({"role": "user", "content": "c"}, {"role": "assistant", "content": "d"}]})"
                           "\n");
  CHECK(json_of(box, "eval apart --conversations turns.jsonl --json")["answers"] == 2);
  for (const std::string words : {"", " --no-cache"}) {
    const Outcome talk = box.succeed("generate apart --chat --tokens 4 --json" + words, {}, "a\nb\n");
    const std::vector<std::string> lines = lines_in(talk.out);
    REQUIRE(lines.size() == 2);
    for (const std::string& line : lines) CHECK(Json::parse(line)["end"] != "not_answered");
  }
}

TEST_CASE("instructions: what does not go together is refused in a line") {
  const Sandbox box("gpt");
  box.train("run", "--train.steps 1");
  box.write("chat.jsonl", "{\"prompt\": \"a\"}\n");
  check_errors(box, kUsage,
               {{"train tiny.toml --data.conversations chat.jsonl --data.corpus instructions --out new",
                 "data: expected one kind of training data, got data.conversations and data.corpus"},
                {"train --model.type bert --data.conversations chat.jsonl --out new",
                 "task.kind: expected none for bert, which predicts no next token, got instructions"},
                {"train --model.type rnn --data.conversations chat.jsonl --minutes 1 --out new",
                 "--minutes: expected gpt as model.type of a model that answers, got rnn"},
                {"generate run --chat --prompt a", "--prompt…"},
                {"generate run --system a", "--system…"},
                {"eval run --conversations chat.jsonl --text a", "--conversations…"}});
  check_errors(box, kFailure,
               {{"train --quiet --data.conversations chat.jsonl --out new",
                 (box / "chat.jsonl").string() + ":1: completion: expected a string, got none"}});
}
