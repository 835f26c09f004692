// Fine-tuning on labels from the command line: training, eval --labels, predict, and what refuses them.
#include <doctest/doctest.h>

#include "tests/cli/sandbox.h"
#include "tests/cli/toys.h"
#include "tests/long_test.h"

using Json = nlohmann::ordered_json;

namespace {

// The toy of labels, and bert.toml, which trains the model before.
struct LabelBox : Sandbox {
  LabelBox() : Sandbox("tag") {
    ToyConfig before = find_toy("tag");
    before.sections.erase("task");
    before.sections["data"] = "corpus = \"stories\"\nlines = 50\n";
    write("bert.toml", before.toml());
  }
};

}  // namespace

TEST_CASE("damage: names of labels that have changed since the model was trained are refused") {
  const LabelBox box;
  box.train("run", "--train.steps 4");
  Json labels = Json::parse(box.read("run/labels.json"));
  REQUIRE(labels.size() >= 2);
  std::swap(labels[0], labels[1]);
  box.write("run/labels.json", labels.dump());
  const std::string message = "run/labels.json has changed since step-000004 was saved: …";
  check_error(box, kFailure, message, "predict run", {}, "down\n");
  check_error(box, kFailure, message, "eval run --labels valid.tsv");
  check_error(box, kFailure, message, "train --resume run --train.steps 5");
}

TEST_CASE("labels: a pre-trained model is fine-tuned, evaluated and asked" * long_test()) {
  const LabelBox box;
  REQUIRE(box.run("train bert.toml --out bert --train.steps 5").exit_code == 0);
  const Outcome outcome = box.succeed(
      "train tiny.toml --out run --train.init_from bert --train.steps 60 --data.valid_labels valid.tsv "
      "--eval.every 20 --eval.patience 3");
  INFO(outcome.err);
  CHECK(outcome.tells("the weights and the tokenizer are those of "));
  CHECK(outcome.tells("40 examples with "));
  CHECK(outcome.tells("the best checkpoint has the largest span_f1"));
  CHECK(outcome.out.find("best validation span_f1 0.") != outcome.out.npos);
  CHECK(outcome.tells("next: tapeformer predict run < FILE\n"));
  CHECK(outcome.tells("tapeformer eval run --labels FILE\n"));
  CHECK(box.has("run/labels.json"));
  double best = 0;
  std::int64_t best_step = 0;
  for (const Json& line : box.metrics("run")) {
    if (!line.contains("eval_span_f1") || line["eval_span_f1"].get<double>() <= best) continue;
    best = line["eval_span_f1"];
    best_step = line["step"];
  }
  REQUIRE(best > 0);

  const Json result = json_of(box, "eval run --labels valid.tsv --batch 4 --json");  // the weights of the best
  CHECK(keys_of(result) == std::vector<std::string>{"examples", "labels", "loss", "span_f1", "span_precision",
                                                    "span_recall", "accuracy", "table", "confusion", "checkpoint",
                                                    "matmul"});
  CHECK(result["examples"] == 10);
  CHECK(result["span_f1"].get<double>() == best);
  CHECK(result["table"].size() > 5);
  std::int64_t right = 0, words = 0;
  for (std::size_t i = 0; i < result["confusion"]["labels"].size(); ++i) {
    right += result["confusion"]["counts"][i][i].get<std::int64_t>();
    for (const Json& count : result["confusion"]["counts"][i]) words += count.get<std::int64_t>();
  }
  CHECK(words == result["labels"]);
  CHECK(static_cast<double>(right) / static_cast<double>(words) == result["accuracy"].get<double>());
  const std::string table = result_of(box, "eval run --labels valid.tsv");
  CHECK(table.find("hero.name") != table.npos);
  CHECK(table.find("step " + std::to_string(best_step)) != table.npos);

  const std::string text = "Ella lost her red ball.\n\nOne day she was sad.\n";
  const std::string lines = result_of(box, "predict run", {}, text);
  CHECK(lines.starts_with("Ella\t"));
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 5 + 1 + 1 + 5 + 1);
  const std::string objects = result_of(box, "predict run --json --batch 1", {}, text);
  const Json first = Json::parse(objects.substr(0, objects.find('\n')));
  CHECK(first["words"] == Json{"Ella", "lost", "her", "red", "ball."});
  CHECK(first["labels"].size() == 5);
  CHECK(first["probabilities"][0] > 0);
  CHECK(objects.find("\nnull\n") != objects.npos);
  const std::string together = result_of(box, "predict run --json", {}, text);
  CHECK(Json::parse(together.substr(0, together.find('\n')))["labels"] == first["labels"]);
}

TEST_CASE("labels: texts are classified, with probabilities, a confusion matrix and weights of the labels" *
          long_test()) {
  const LabelBox box;
  std::string texts;
  for (int i = 0; i < 12; ++i) texts += "up\tthe kite went up and up\nup\tup\ndown\tthe boat went down and down\n";
  box.write("train.tsv", texts);
  const Outcome outcome = box.succeed(
      "train tiny.toml --out run --task.kind classify --task.class_weights balanced --train.steps 40 --model.type gpt");
  INFO(outcome.err);
  const Json result = json_of(box, "eval run --labels train.tsv --json");
  CHECK(result["macro_f1"] == 1);
  CHECK(result["accuracy"] == 1);
  CHECK(result["confusion"] == Json{{"labels", {"up", "down"}}, {"counts", {{24, 0}, {0, 12}}}});
  const std::string table = result_of(box, "eval run --labels train.tsv");
  CHECK(table.find("rows: the right label") != table.npos);
  CHECK(result_of(box, "predict run", {}, "down down\n").starts_with("down\t"));
  // A byte order mark at the beginning is no part of the first line.
  CHECK(result_of(box, "predict run", {},
                  "\xEF\xBB\xBF"
                  "down down\nup\n") == result_of(box, "predict run", {}, "down down\nup\n"));
  const Json one = Json::parse(result_of(box, "predict run --json", {}, "down down\n"));
  CHECK(one["label"] == "down");
  CHECK(one["probabilities"]["up"].get<double>() + one["probabilities"]["down"].get<double>() == doctest::Approx(1));
}

TEST_CASE("labels: a question is answered by words of its text") {
  const LabelBox box;
  std::string examples;
  for (const std::string name : {"Lily", "Tom", "Ella", "Ben"}) {
    examples += "who was it\tOne day " + name + " lost a ball.\t" + name + "\n";
    examples += "what was it\tOne day " + name + " lost a ball.\ta ball\n";
  }
  box.write("train.tsv", examples);
  const Outcome outcome = box.succeed("train tiny.toml --out run --task.kind span --train.steps 60");
  INFO(outcome.err);
  const Json result = json_of(box, "eval run --labels train.tsv --json");
  CHECK(keys_of(result) ==
        std::vector<std::string>{"examples", "labels", "loss", "f1", "exact_match", "checkpoint", "matmul"});
  CHECK(result["exact_match"] == 1);
  CHECK(result_of(box, "eval run --labels train.tsv").ends_with("exact_match     100.00 %\n"));
  const std::string asked = "who was it\tOne day Ben lost a ball.\n\nwhat was it\tOne day Tom lost a ball.\n";
  const std::string answers = result_of(box, "predict run", {}, asked);
  CHECK(answers.starts_with("Ben\t"));
  CHECK(answers.find("\n\na ball.\t") != answers.npos);
  const Json first = Json::parse(result_of(box, "predict run --json", {}, asked.substr(0, asked.find('\n'))));
  CHECK(keys_of(first) == std::vector<std::string>{"answer", "first_word", "last_word", "probability"});
  CHECK(first["first_word"] == 2);
  const Outcome broken = box.run("predict run", {}, "who\n" + asked);  // the other lines are answered
  CHECK(broken.exit_code == kFailure);
  CHECK(broken.tells("line 1: expected a question, a tab and a text, got \"who\"\n"));
  CHECK(broken.err.ends_with("tapeformer: predict: 1 of 3 lines has no answer; the errors above say why\n"));
  CHECK(broken.out == "\n" + answers);
  // The answer would be read as the end of the text.
  const Outcome answered = box.run("predict run", {}, "who\tBen lost a ball.\tBen\n");
  CHECK(answered.exit_code == kFailure);
  CHECK(answered.tells("line 1: expected a question, a tab and a text, got \"who\tBen lost a ball.\tBen\"\n"));
  std::string beyond;
  for (int i = 0; i < 24; ++i) beyond += "One day ";
  box.write("long.tsv", examples + "who was it\t" + beyond + "Ben\tBen\n");
  const Outcome cut = box.succeed("eval run --labels long.tsv");
  CHECK(cut.tells(
      "long.tsv: 1 of 9 answers are beyond what is read: the loss leaves them out (the first: long.tsv:9)\n"));
  CHECK(cut.out.find(" nats per label, of the 16 that are read\n") != std::string::npos);
  CHECK(cut.out.ends_with("exact_match     88.89 %\n"));
  box.write("beyond.tsv", "who was it\t" + beyond + "Ben\tBen\nwho was it\t" + beyond + "Tom\tTom\n");
  check_error(box, kFailure,
              (box / "beyond.tsv").string() +
                  ": expected answers within what the model reads of a text, 24 tokens (model.context), got none",
              "train tiny.toml --out new --task.kind span --data.labels beyond.tsv");
  check_error(box, kUsage, "task.class_weights: expected none for span, which has no labels of its own, got balanced",
              "train tiny.toml --out new --task.kind span --task.class_weights balanced");
}

TEST_CASE("labels: a line that a char tokenizer cannot read has no answer, and others have; eval names the line") {
  const LabelBox box;
  std::string texts;
  for (int i = 0; i < 8; ++i) texts += "up\tit went up\ndown\tit went down\n";
  box.write("train.tsv", texts);
  REQUIRE(
      box.run("train tiny.toml --out run --task.kind classify --train.steps 3 --model.type gpt --tokenizer.kind char")
          .exit_code == 0);
  const std::string right = result_of(box, "predict run --json", {}, "it went up\nup\n");
  const Outcome some = box.run("predict run --json", {}, "it went up\ncaf\u00e9\nup\n");
  CHECK(some.exit_code == kFailure);
  CHECK(some.out == right.substr(0, right.find('\n') + 1) + "null\n" + right.substr(right.find('\n') + 1));
  CHECK(some.tells("line 2: char tokenizer: character 'c' (U+0063) at byte 0 is not in the vocabulary"));
  CHECK(some.tells("tapeformer: predict: 1 of 3 lines has no answer; the errors above say why\n"));
  box.write("valid.tsv", "up\tup\n\ndown\tup caf\u00e9\n");
  const std::string message = "valid.tsv:3: char tokenizer: character 'c' (U+0063) at byte 3 is not in the …";
  check_error(box, kFailure, message, "eval run --labels valid.tsv");
  // So does a training, which looks at some examples before it encodes them all.
  check_error(box, kFailure, (box / message).string(),
              "train tiny.toml --out new --data.labels valid.tsv --data.valid_labels valid.tsv --task.kind classify "
              "--model.type gpt --tokenizer.file run/tokenizer.json");
}

TEST_CASE("labels: a char tokenizer knows the characters that are held out") {
  const LabelBox box;
  std::string texts;
  for (int i = 0; i < 8; ++i) texts += "up\tit went up\ndown\tit went down\n";
  box.write("train.tsv", texts);
  box.write("other.tsv", "up\tup and away!\n");
  box.succeed(
      "train tiny.toml --out run --task.kind classify --train.steps 2 --model.type gpt --tokenizer.kind char "
      "--data.valid_labels other.tsv");
}

TEST_CASE("labels: a word of which the tokenizer leaves nothing is the unknown token, with a label of its own") {
  const LabelBox box;
  box.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nup\ndown\n");
  const std::string nothing = "\u200b";  // a space of no width
  box.write("train.tsv", "up\tx\ndown\ty\n\n" + nothing + "\ty\nup\tx\n");
  box.succeed(
      "train tiny.toml --data.valid_labels train.tsv --train.steps 1 --tokenizer.file vocab.txt --model.type gpt "
      "--out run");
  const auto with_unknown_word = [&](std::string text) {
    for (std::size_t at; (at = text.find(nothing)) != text.npos;) text.replace(at, nothing.size(), "left");
    return text;
  };
  for (const std::string& line : {nothing + " up\n", "up " + nothing + "\n", nothing + "\n"}) {
    const std::string labels = result_of(box, "predict run --json", {}, line);
    CHECK(with_unknown_word(labels) == result_of(box, "predict run --json", {}, with_unknown_word(line)));
  }
  CHECK(box.run("predict run", {}, "up left\n").tells(" words or characters that the vocabulary does not have: "));
  CHECK(box.succeed("predict run", {}, "up down\n").err.find("vocabulary") == std::string::npos);
}

TEST_CASE("labels: long texts and unknown labels are told, and eval has one count of labels") {
  const LabelBox box;
  std::string texts;
  for (int i = 0; i < 8; ++i) texts += "up\tit went up\ndown\tit went down\n";
  box.write("train.tsv", texts);
  REQUIRE(box.run("train tiny.toml --out run --task.kind classify --train.steps 3").exit_code == 0);
  std::string longer;
  for (int i = 0; i < 40; ++i) longer += " went";
  const Outcome cut = box.run("predict run --json", {}, "it went up\nit" + longer + "\n");
  CHECK(cut.exit_code == 0);
  CHECK(cut.tells("line 2: longer than the model's context of 24 tokens: its last 19 are not read\n"));
  const std::size_t end = cut.out.find('\n');
  CHECK_FALSE(Json::parse(cut.out.substr(0, end)).contains("cut_tokens"));
  CHECK(Json::parse(cut.out.substr(end))["cut_tokens"] == 19);

  box.write("valid.tsv", "up\tup\nsideways\tit went up\ndown\tit" + longer + "\n");
  const Outcome scored = box.run("eval run --labels valid.tsv --json");
  REQUIRE(scored.exit_code == 0);
  CHECK(scored.tells("valid.tsv: 1 of 3 texts are longer than the model's context, and only their beginning is read"));
  CHECK(scored.tells("valid.tsv: 1 of 3 labels are none that training has: they count as wrong"));
  const Json result = scored.json();
  CHECK(result["labels"] == 3);
  CHECK(result["unknown_labels"] == 1);
  CHECK(result["cut_examples"] == 1);
  std::int64_t counted = 0;
  for (const Json& row : result["confusion"]["counts"]) {
    for (const Json& count : row) counted += count.get<std::int64_t>();
  }
  CHECK(counted == 3);
  const std::string table = result_of(box, "eval run --labels valid.tsv");
  CHECK(table.starts_with("examples        3 with 3 labels, "));
  CHECK(table.find(" nats per label, of the 2 that training has\n") != table.npos);
}

TEST_CASE("labels: predict reads CoNLL's words and writes every line as it is, with a label behind each word") {
  const LabelBox box;
  std::string text;
  for (int i = 0; i < 12; ++i) text += "EU NNP B-ORG\nrejects VBZ O\nTom NNP B-PER\n\n";
  box.write("train.conll", "-DOCSTART- -X- O\n\n" + text);
  REQUIRE(box.run("train tiny.toml --out run --data.labels train.conll --train.steps 40").exit_code == 0);
  CHECK(json_of(box, "eval run --labels train.conll --json")["accuracy"] == 1);
  const std::string asked = "# id = 1\nEU NNP\nrejects VBZ\nTom NNP\n\n\n-DOCSTART- -X-\n\nEU\tNNP\n";
  CHECK(result_of(box, "predict run --format conll --batch 1", {}, asked) ==
        "# id = 1\nEU NNP B-ORG\nrejects VBZ O\nTom NNP B-PER\n\n\n-DOCSTART- -X-\n\nEU\tNNP\tB-ORG\n");
  CHECK(result_of(box, "predict run --format conll", {}, "EU NNP\n \nEU NNP\n\t\n") ==
        "EU NNP B-ORG\n \nEU NNP B-ORG\n\t\n");
  const Outcome without_word = box.run("predict run --format conll", {}, "\tNNP\n\nEU\tNNP\n");
  CHECK(without_word.exit_code == kFailure);
  CHECK(without_word.out == "\tNNP\n\nEU\tNNP\tB-ORG\n");
  CHECK(without_word.tells("line 1: expected a word, got an empty column\n"));
  const std::string one = result_of(box, "predict run --format conll --json", {}, "EU\tNNP\n");
  const Outcome none_of_two = box.run("predict run --format conll --json", {}, "\n\tNNP\n\nEU\tNNP\n");
  CHECK(none_of_two.out == "null\n" + one);
  const std::string objects = result_of(box, "predict run --format conll --json", {}, asked);
  CHECK(Json::parse(objects.substr(0, objects.find('\n')))["words"] == Json{"EU", "rejects", "Tom"});
  CHECK(std::count(objects.begin(), objects.end(), '\n') == 2);
  CHECK(result_of(box, "predict run --format conll --text-column 2", {}, "1 EU\n").starts_with("1 EU B-ORG"));
  const std::string number = "1.1\tEU\t_\t_\t_\t_\t_\t_\t_\t_", word = "1\tEU\t_\t_\t_\t_\t_\t_\t_\t_";
  CHECK(result_of(box, "predict run --format conll", {}, number + "\n" + word + "\n") ==
        number + "\n" + word + "\tB-ORG\n");
  CHECK(result_of(box, "predict run --format conll --text-column 1", {}, number + "\n").starts_with(number + "\t"));
  CHECK(result_of(box, "predict run --format conll --text-column -10", {}, number + "\n").starts_with(number + "\t"));
  check_error(box, kUsage, "predict: --text-column: expected --format conll beside it", "predict run --text-column 2",
              {}, "Tom\n");
}

TEST_CASE("labels: a CSV file with a header trains, and eval reads another by the run's columns" * long_test()) {
  const LabelBox box;
  std::string csv = "stars,id,review\n";
  for (int i = 0; i < 12; ++i) csv += "5,1,\"it went, well, up\"\n1,2,it went down\n";
  box.write("train.csv", csv);
  box.succeed("train tiny.toml --out run --task.kind classify --data.labels train.csv --data.label_column stars");
  CHECK(box.read("run/labels.json") == "[\"1\",\"5\"]\n");
  box.write("other.txt", "__label__5 it went, well, up\n__label__1 it went down\n");  // has no columns
  for (const char* file : {"train.csv ", "other.txt "})
    CHECK(json_of(box, std::string("eval run --json --labels ") + file)["accuracy"] == 1);
}

TEST_CASE("labels: training ends when the measure of the task stays where it is") {
  const LabelBox box;
  const Outcome outcome = box.succeed(
      "train tiny.toml --out run --train.steps 20 --optimizer.lr 0 --data.valid_labels valid.tsv --eval.every 2 "
      "--eval.patience 2");
  INFO(outcome.err);
  CHECK(outcome.tells("ended at step 6: no larger span_f1 in 2 evaluations"));
}

TEST_CASE("labels: what does not go together is refused") {
  const LabelBox box;
  const std::string train = "train tiny.toml --out new ";
  check_error(box, kUsage, "data.labels: expected task.kind beside it, got none", train + "--task.kind none");
  check_error(box, kUsage,
              "task.kind: expected none for transformer, which gives no vectors of the tokens of a text, got tag",
              train + "--model.type transformer");
  check_error(box, kUsage, "task.kind: tag trains on data.labels, got data.corpus",
              "train bert.toml --out new --task.kind tag");
  check_error(box, kUsage, "task.layer_decay: expected 1 beside task.freeze, since no layer learns, got 0.5",
              train + "--task.freeze true --task.layer_decay 0.5");
  check_error(box, kUsage,
              "task.class_weights: expected none beside train.label_smoothing and train.z_loss, got balanced",
              train + "--task.class_weights balanced --train.label_smoothing 0.1");
  check_error(box, kUsage, "eval.batches: expected 0 beside task.kind, …", train + "--eval.batches 1");
  check_error(box, kUsage, "data.valid_labels: expected data.labels beside it, got none",
              "train bert.toml --out new --data.valid_labels valid.tsv");
  box.train("run", "--train.steps 2");
  check_error(box, kFailure,
              "run: the model is fine-tuned to tag, expected a masked language model; for models that are "
              "fine-tuned on labels there are predict, and eval with --labels",
              "fill run --text x[MASK]");
  check_error(box, kFailure, "run: the model is fine-tuned to tag, expected a model before fine-tuning; …",
              "embed run --text x");
  for (const char* config : {"tiny", "bert"}) {
    check_error(
        box, kFailure,
        "train.init_from: " + (box / "run").string() +
            " is fine-tuned to tag: expected a run without task.kind; train --resume goes on with one that has it",
        std::string("train ") + config + ".toml --out new --train.init_from run");
  }
  check_errors(
      box, kUsage,
      {{"eval run --labels valid.tsv --stride 4",
        "eval: --context and --stride: expected none, since examples are read as in training"},
       {"eval run --labels valid.tsv --no-pseudo", "eval: --no-pseudo: expected none, …"},
       {"eval run --labels valid.tsv --without-head 0.0,", "head : expected one of 0.0, …, 1.1, which count from 0"}});
  REQUIRE(box.run("train bert.toml --out bert --train.steps 1").exit_code == 0);
  check_error(box, kFailure, "bert: the model is not fine-tuned on labels: expected a run of task.kind",
              "predict bert");
  box.write("other.tsv", "Ella\tnobody\n");
  check_error(box, kFailure,
              (box / "other.tsv").string() + ": the label nobody is none of those that run was begun with",
              "train --resume run --data.labels other.tsv");
}
