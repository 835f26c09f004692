// Answers chosen by their log-likelihood, trees written under a grammar, and their scores.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/cli/sandbox.h"
#include "tests/long_test.h"

using Json = nlohmann::ordered_json;

namespace {

// Runs of a language model, "text", and of encoder-decoders that parse, "pairs" and "recurrent"; hardly trained.
const Sandbox& scored() {
  static const Sandbox box;
  if (box.has("pairs")) return box;
  box.prepare_toy("gpt");
  box.train("text", "--train.steps 20");
  box.write("parse.tsv", result_of(box, "corpus parse --lines 40"));
  const std::string data = " --train.steps 1 --train.batch_tokens 400 --data.pairs parse.tsv";
  box.prepare_toy("rnn_seq2seq");
  box.train("recurrent", "--tokenizer.kind word --tokenizer.vocab 200" + data);
  box.prepare_toy("transformer");
  box.train("pairs", "--tokenizer.kind word --tokenizer.vocab 200 --model.context 128" + data);
  return box;
}

// The log-likelihood of the last `count` tokens that `surprisal` prints.
double sum_of_last(const Json& tokens, std::size_t count) {
  double sum = 0;
  for (std::size_t i = tokens.size() - count; i < tokens.size(); ++i) sum -= tokens[i]["nats"].get<double>();
  return sum;
}

}  // namespace

TEST_CASE("score: the log-likelihood of options is that of surprisal; the best by total, token or byte is chosen") {
  const Sandbox& box = scored();
  const Json json = json_of(box, "score text --json --prompt", {"Once ", "--options", "upon", "a", "zz"});
  CHECK(keys_of(json) == std::vector<std::string>{"prompt", "options", "by", "chosen"});
  REQUIRE(json["options"].size() == 3);
  for (const Json& option : json["options"]) {
    const std::string text = option["option"];
    const Json tokens = json_of(box, "surprisal text --json --prompt", {"Once " + text})["tokens"];
    const double nats = option["log_likelihood"];
    CHECK(nats == doctest::Approx(sum_of_last(tokens, text.size())).epsilon(1e-5));
    CHECK(option["per_token"].get<double>() == doctest::Approx(nats / static_cast<double>(text.size())));
    CHECK(option["per_byte"] == option["per_token"]);  // tokens are letters
  }
  for (const std::string measure : {"total", "token", "byte"}) {
    const Json by =
        json_of(box, "score text --by " + measure + " --json --prompt", {"Once ", "--options", "upon", "a", "zz"});
    const std::string key = measure == "total" ? "log_likelihood" : "per_" + measure;
    double most = -INFINITY;
    for (const Json& option : by["options"]) most = std::max(most, option[key].get<double>());
    for (const Json& option : by["options"]) CHECK((option["option"] == by["chosen"]) == (option[key] == most));
  }
  const std::string table = result_of(box, "score text --prompt", {"Once ", "--options", "upon", "a"});
  CHECK(lines_in(table).size() == 3);
  CHECK(table.find("  <- chosen") != table.npos);
  // Nothing before it but the line end of the text before.
  const double alone =
      json_of(box, "score text --json --prompt", {"", "--options", "The", "A"})["options"][0]["log_likelihood"];
  const Json whole = json_of(box, "surprisal text --total --json --prompt", {"The"});
  CHECK(alone == doctest::Approx(-whole["total_nats"].get<double>()).epsilon(1e-5));
}

TEST_CASE("score: options are scored as translations by an encoder-decoder, their ends included") {
  const Sandbox& box = scored();
  CHECK(box.run("score pairs --prompt Ann --options zzz (S")
            .tells("warning: 1 of 2 options have words or characters that the vocabulary does not have, scored as the "
                   "unknown token, which stands for all of them; the first: \"zzz\"\n"));
  const std::string told = " are words or characters that the vocabulary does not have: the model reads <unk>\n";
  CHECK(box.run("score pairs --prompt zzz --options Ann (S").tells("1 of 1 tokens of the prompt" + told));
  box.write("question.jsonl", R"({"prompt": "zzz", "options": ["Ann", "(S"], "answer": 0})");
  CHECK(box.run("score pairs --lines question.jsonl").tells("1 of 1 tokens of the prompts" + told));
  box.write("one.txt", "Ann slept\n");
  box.write("tree.txt", "(S (NP Ann )NP (VP slept )VP )S\n");
  for (const std::string run : {"pairs", "recurrent"}) {
    const Json json = json_of(box, "score " + run + " --json --prompt",
                              {"Ann slept", "--options", "(S (NP Ann )NP (VP slept )VP )S", "Ann"});
    const Json tokens = json_of(box, "surprisal " + run + " --source one.txt --target tree.txt --json")["tokens"];
    CHECK(json["options"][0]["tokens"] == tokens.size());
    CHECK(json["options"][0]["log_likelihood"].get<double>() ==
          doctest::Approx(sum_of_last(tokens, tokens.size())).epsilon(1e-5));
  }
}

TEST_CASE("score: a file of questions gives accuracies by group, with chance and the optimum") {
  const Sandbox& box = scored();
  const Json one = json_of(box, "score text --json --prompt", {"Once ", "--options", "upon", "a", "zz"});
  const std::string right = one["chosen"], wrong = right == "a" ? "zz" : "a";
  const auto question = [&](const Json& answer, const std::string& more) {
    return R"({"prompt":"Once ","options":["upon","a","zz"],"answer":)" + answer.dump() + more + "}\n";
  };
  box.write("questions.jsonl", question(right, R"(,"group":1,"optimum":0.75)") + "\n" +
                                   question(wrong, R"(,"group":1,"optimum":0.25)") + question(right, R"(,"group":2)"));
  const Json json = json_of(box, "score text --lines questions.jsonl --json");
  CHECK(json["questions"] == 3);
  CHECK(json_of(box, "score text --lines questions.jsonl --quiet --json") == json);
  CHECK(json["accuracy"].get<double>() == doctest::Approx(2.0 / 3));
  REQUIRE(json["groups"].size() == 2);
  CHECK(json["groups"][0]["accuracy"] == 0.5);
  CHECK(json["groups"][0]["optimum"] == 0.5);
  CHECK(json["groups"][0]["chance"].get<double>() == doctest::Approx(1.0 / 3));
  CHECK(json["groups"][1]["accuracy"] == 1);
  CHECK_FALSE(json["groups"][1].contains("optimum"));
  CHECK_FALSE(json.contains("optimum"));  // not that of every question is known
  CHECK(lines_in(result_of(box, "score text --lines questions.jsonl")).size() == 4);
  CHECK(result_of(box, "score text --lines questions.jsonl --out page.html") == "");
  CHECK(box.read("page.html").find("\"accuracy\":0.5") != std::string::npos);
  // The options of the command line, and the index of the answer.
  box.write("short.jsonl", R"({"prompt":"Once ","answer":1})");
  CHECK(json_of(box, "score text --lines short.jsonl --json --options", {wrong, right})["accuracy"] == 1);

  const auto refused = [&](const std::string& line, const std::string& message) {
    box.write("wrong.jsonl", question(right, "") + line);
    check_error(box, kFailure, "wrong.jsonl: " + message, "score text --lines wrong.jsonl --out new.html");
  };
  refused("{", "line 2: …");
  refused("[]", "line 2: expected an object with prompt (a text) and answer");
  refused(R"({"prompt":"a","answer":"b","options":["b",1]})", "line 2: options: expected a list of texts");
  refused(R"({"prompt":"a","answer":"b"})", "line 2: expected at least 2 options, got 0");
  refused(R"({"prompt":"a","options":["b","b"],"answer":"b"})",
          "line 2: options: expected different texts, got \"b\" more than once");
  refused(R"({"prompt":"a","options":["b","c"],"answer":"b","optimum":2})",
          "line 2: optimum: expected an accuracy from 0 to 1, got 2");
  refused(R"({"prompt":"a","answer":"c","options":["a","b"]})",
          "line 2: answer: expected one of the options, got \"c\"");
  refused(R"({"prompt":"a","answer":2,"options":["a","b"]})",
          "line 2: answer: expected an option's text, or 0 to 1, got 2");
  refused(R"({"prompt":"a","answer":"b","options":["","b"]})",
          "question 2: score: expected options that are not empty");
  refused(R"({"prompt":"aaaaaaaaaaaaaaaaaaaa","answer":"b","options":["b","c"]})",
          "question 2: score: prompt and option \"b\" have 21 tokens, expected at most 17");
  check_error(box, kUsage, "score: expected --prompt TEXT and two or more --options, or --lines FILE", "score text");
  check_error(box, kUsage, "expected run, got none (see --help)", "score --prompt a");
  check_error(box, kUsage, "--out requires --lines (see --help)", "score text --out new.html");
}

TEST_CASE("score: questions about hidden mappings come with their optimum") {
  const Sandbox box;
  const Outcome outcome = box.succeed("corpus mappings --shots 2 --lines 3");
  CHECK(outcome.tells("mappings: the Bayes posterior answers 80.51 % of the questions with 2 examples right\n"));
  REQUIRE(lines_in(outcome.out).size() == 3);
  for (const std::string& line : lines_in(outcome.out)) {
    CHECK(keys_of(Json::parse(line)) == std::vector<std::string>{"prompt", "options", "answer", "group", "optimum"});
  }
  check_error(box, kUsage, "corpus: --shots: expected mappings, got dates", "corpus dates --shots 1");
}

TEST_CASE("translate: --grammar brackets writes nothing but trees, by untrained models of both families" *
          long_test()) {
  const Sandbox& box = scored();
  const std::string pairs = result_of(box, "corpus parse --lines 10 --seed 3"), sources = sides_of(pairs).source;
  box.write("gold.tsv", pairs);
  for (const std::string run : {"pairs", "recurrent"}) {
    for (const std::string search : {"--beam 1", "--beam 3 --no-cache", "--sample --temperature 2"}) {
      CAPTURE(run + search);
      const std::string out = result_of(box, "translate " + run + " --grammar brackets " + search, {}, sources);
      const Json score = Json::parse(result_of(box, "score trees --reference gold.tsv --json", {}, out));
      CHECK(score["broken"] == 0);
      CHECK(score["other_words"] == 0);
      CHECK(score["sentences"] == 10);
    }
  }
  const std::string free = result_of(box, "translate pairs --beam 1", {}, sources);
  CHECK(Json::parse(result_of(box, "score trees --reference gold.tsv --json", {}, free))["broken"] == 10);
}

TEST_CASE("translate: what cannot become a tree is refused with its line") {
  const Sandbox& box = scored();
  const std::string words = "translate pairs --grammar brackets";
  check_error(box, kFailure, "line 2: grammar brackets: the model has no tokens for the word zebras", words, {},
              "Ann slept\nzebras slept\n");
  check_error(box, kFailure,
              "line 1: grammar brackets: the shortest tree of the sentence has 7 tokens, expected at most 6",
              words + " --max-length 6", {}, "Ann slept\n");
  // Where the lines are typed, the others become trees.
  const std::string tree = result_of(box, words + " --beam 1", {}, "Ann slept\n");
  const std::string shown = box.run_on_terminal(200, "NO_COLOR=1 tapeformer " + words + " --beam 1 -q",
                                                "Ann slept\nzebras slept\nAnn slept\n\x04");
  CHECK(
      shown.find(tree +
                 "warning: not translated: line 2: grammar brackets: the model has no tokens for the word zebras\n\n" +
                 tree) != shown.npos);
  check_error(box, kUsage, "--grammar: …", "translate pairs --grammar json");
}

TEST_CASE("translate: --trees draws what was written, and where each part looked") {
  const Sandbox& box = scored();
  result_of(box, "translate pairs --grammar brackets --beam 1 --layer 0 --head 1 --trees page.html", {},
            "Ann slept\n\nthe dog saw Bob\n");
  const std::string page = box.read("page.html");
  const std::size_t begin = page.find("id=\"data\">") + 10;
  const Json trees = Json::parse(page.substr(begin, page.find("</script>", begin) - begin))["trees"];
  REQUIRE(trees.size() == 3);
  CHECK(trees[0]["words"] == Json{"Ann", "slept"});
  CHECK(trees[0]["broken"] == "");
  CHECK(trees[1]["parts"].empty());
  for (const Json& part : trees[2]["parts"]) {
    double sum = 0;
    REQUIRE(part[1].size() == 5);  // the words and the end
    for (const Json& weight : part[1]) sum += weight.get<double>();
    CHECK(sum == doctest::Approx(1).epsilon(0.01));
  }
}

TEST_CASE("score trees: F1 of flat trees and of the Penn Treebank's, and counts of what is broken") {
  const Sandbox box;
  box.write("gold.mrg",
            "( (S (NP-SBJ (NNS dogs))\n     (VP (VBP bark)) (. .)) )\n(S (NP (NNP Ann)) (VP (VBD slept)))\n");
  const std::string flat = "(S (NP dogs )NP (VP bark )VP . )S\n(S (NP Ann slept )NP\n";
  const Json json = Json::parse(result_of(box, "score trees --reference gold.mrg --json", {}, flat));
  CHECK(keys_of(json) == std::vector<std::string>{"precision", "recall", "f1", "gold", "predicted", "right",
                                                  "sentences", "exact", "broken", "other_words", "labels"});
  CHECK(json["right"] == 4);
  CHECK(json["gold"] == 6);
  CHECK(json["predicted"] == 5);
  CHECK(json["f1"].get<double>() == doctest::Approx(8.0 / 11));
  CHECK(json["labels"]["VP"]["recall"] == 0.5);
  CHECK(result_of(box, "score trees --reference gold.mrg", {}, flat) ==
        "F1 72.73 (precision 80.00, recall 66.67, 5 brackets predicted, 6 in the reference)\n"
        "1 of 2 trees exact, 1 broken, 0 with other words\n");
  // There and back.
  const std::string pairs = result_of(box, "flatten", {}, box.read("gold.mrg"));
  CHECK(pairs == "dogs bark .\t(S (NP dogs )NP (VP bark )VP . )S\nAnn slept\t(S (NP Ann )NP (VP slept )VP )S\n");
  CHECK(result_of(box, "flatten", {}, "\xEF\xBB\xBF" + box.read("gold.mrg")) == pairs);
  CHECK(result_of(box, "flatten --back", {}, pairs) ==
        "(S (NP (XX dogs)) (VP (XX bark)) (XX .))\n(S (NP (XX Ann)) (VP (XX slept)))\n");
  check_error(box, kFailure, "score trees: gold.mrg has 2 trees, standard input 1: expected a tree for each",
              "score trees --reference gold.mrg", {}, "(S (NP dogs )NP )S\n");
  box.write("bad.txt", "(S (NP dogs )NP (VP bark )VP )S\n(S (NP dogs )VP )S\n");
  check_error(box, kFailure, "bad.txt: tree 2: )VP closes no bracket", "score trees --reference bad.txt", {}, "\n\n");
  check_error(box, kFailure, "flatten: tree 2: )VP closes no bracket", "flatten", {}, box.read("bad.txt"));
  // The input may have the treebank's brackets beside flat references, or be no trees at all.
  box.write("flat.txt", "(S (NP dogs )NP (VP bark )VP )S\n(S (NP Ann )NP )S\n");
  const std::string brackets = "(S (NP (XX dogs))\n   (VP (XX bark)))\n(S (NP (XX Ann)))\n";
  CHECK(result_of(box, "score trees --reference flat.txt", {}, brackets).find("\n2 of 2 trees exact") !=
        std::string::npos);
  CHECK(result_of(box, "score trees --reference flat.txt", {}, "dogs bark\n(S (NP Ann\n").find("2 broken") !=
        std::string::npos);
  // A flat tree has no unlabelled root that could hold a word, or nothing.
  const std::string bare = "(S (VB go))\n( (S (VB go)) (. .) )\n";
  check_error(box, kFailure, "flatten: tree 2: the word . is outside of all brackets", "flatten", {}, bare);
  check_error(box, kFailure, "flatten: tree 1: it is empty", "flatten", {}, "(TOP (S (-NONE- *)))\n");
  check_error(box, kUsage, "expected --reference, got none (see --help)", "score trees");
}

TEST_CASE("a text begins after <|endoftext|> where training has read it, else after a line end") {
  const Sandbox box("gpt");
  const std::string options = "--train.steps 1 --eval.every 0 --tokenizer.kind bpe --tokenizer.vocab 260";
  box.train("plain", options);
  box.train("documents", options + " --data.document line");
  CHECK(json_of(box, "surprisal plain --total --json --prompt a")["after"] == "\n");
  CHECK(json_of(box, "surprisal documents --total --json --prompt a")["after"] == "<|endoftext|>");
  CHECK(json_of(box, "generate plain --tokens 5 --json")["text"] ==
        json_of(box, "generate plain --tokens 5 --json --prompt", {"\n"})["text"]);
}

TEST_CASE("surprisal: --total counts the first token too, after the token that begins a text") {
  const Sandbox& box = scored();
  const Json plain = json_of(box, "surprisal text --json --prompt", {"Once upon"}),
             total = json_of(box, "surprisal text --total --json --prompt", {"Once upon"});
  CHECK(total["after"] == "\n");
  REQUIRE(total["tokens"].size() == plain["tokens"].size());
  CHECK(plain["tokens"][0]["nats"].is_null());
  double sum = 0;
  for (const Json& token : total["tokens"]) sum += token["nats"].get<double>();
  CHECK(total["total_nats"].get<double>() == doctest::Approx(sum));
  CHECK(total["total_bits"].get<double>() == doctest::Approx(sum / std::log(2)));
  // What follows a line end in a text has the same surprisal.
  const Json after = json_of(box, "surprisal text --json --prompt", {"\nOnce upon"});
  CHECK(after["tokens"][1]["nats"].get<double>() == doctest::Approx(total["tokens"][0]["nats"].get<double>()));
  // A line end with which the text begins is one of its tokens.
  const Json line = json_of(box, "surprisal text --total --json --prompt", {"\nOnce upon"});
  CHECK(line["tokens"].size() == after["tokens"].size());
  const Json scored = json_of(box, "score text --json --prompt", {"", "--options", "\nOnce upon", "O"});
  CHECK(line["total_nats"].get<double>() == doctest::Approx(-scored["options"][0]["log_likelihood"].get<double>()));
  const std::string table = result_of(box, "surprisal text --total --prompt", {"Once upon"});
  CHECK(table.find(" of all 9 tokens; the first one follows \"\\n\"\n") != table.npos);
  check_error(box, kUsage, "--source excludes --total (see --help)",
              "surprisal pairs --total --source one.txt --target tree.txt");
}
