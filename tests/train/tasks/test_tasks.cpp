// Fine-tuning on labels: rows of examples, training, evaluation, resume.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>

#include "core/ignored_target.h"
#include "tests/train/tasks/task_toy.h"
#include "tests/train/thread_ranks.h"

using namespace tapeformer;

TEST_CASE("tasks: training begins with the loss of a guess, also of weighted labels and of spans") {
  const CacheFolder folder;
  Config weighted = tag_config(folder);
  weighted.task.class_weights = ClassWeights::balanced;
  for (Config config : {tag_config(folder), weighted, span_config(folder)}) {
    CAPTURE(config.task.kind);
    config.task.dropout = 0;
    config.train.batch = 8;
    TaskToy toy(config);
    const double choices = config.task.kind == "span" ? 5 : static_cast<double>(toy.objective.model().labels());
    CHECK(toy.step(3).loss == doctest::Approx(std::log(choices)).epsilon(0.2));
  }
}

TEST_CASE("tasks: a run that is resumed has the labels that it was begun with") {
  const CacheFolder folder;
  const auto toy = trained<TaskToy>(tag_config(folder), folder.path / "run", 7);
  const RunFolder run{folder.path / "run"};
  CHECK(prepare_labelled_data(toy->resolved, vocabulary_of(&run)).labels == toy->objective.data().labels);
}

TEST_CASE("tasks: every family that gives vectors of tokens learns to tag, and a frozen encoder stays as it is") {
  const CacheFolder folder;
  for (const std::string type : {"bert", "gpt", "rnn", "bilm"}) {
    CAPTURE(type);
    TaskToy toy(tag_config(folder, type));
    const double before = toy.objective.evaluate({}).loss();
    toy.steps(1, 20);
    const Evaluation after = toy.objective.evaluate({});
    CHECK(after.loss() < 0.6 * before);
    CHECK(after.metric_for_best_model == "span_f1");
    CHECK(after.cost() == doctest::Approx(1 - measure(after, "span_f1")));
    CHECK(measure(after, "accuracy") > 0.7);
  }
  Config config = tag_config(folder);
  config.task.freeze = true;
  config.task.mix = true;
  TaskToy toy(config);
  const auto of_encoder = [&] {
    std::vector<std::vector<float>> values;
    for (const NamedParameter& parameter : toy.objective.model().encoder().named_parameters()) {
      values.push_back(parameter.variable.value().to_vector<float>());
    }
    return values;
  };
  const auto before = of_encoder();
  const double loss = toy.objective.evaluate({}).loss();
  toy.steps(1, 20);
  CHECK(of_encoder() == before);
  CHECK(toy.objective.evaluate({}).loss() < loss);
}

TEST_CASE("tasks: the loss of a label that the model is sure not to be right is large, and finite") {
  const CacheFolder folder;
  TaskToy toy(tag_config(folder));
  for (const NamedParameter& parameter : toy.objective.model().named_parameters()) {
    if (!parameter.name.starts_with("task.")) continue;
    Tensor value = parameter.variable.value();
    for (float& x : value.span<float>()) x *= 1000;
  }
  const double loss = toy.objective.evaluate({}).loss();
  CHECK(loss > 104);  // e^-104 is 0 in f32
  CHECK(std::isfinite(loss));
}

TEST_CASE("tasks: balanced weights make the mean loss of each label count alike") {
  const CacheFolder folder;
  Config config = tag_config(folder);
  config.data.labels = folder.write("four.tsv", "a\tone a\na\ttwo a\na\tthree a\nb\tfour b\n").string();
  config.task.kind = "classify";
  config.task.class_weights = ClassWeights::balanced;
  config.task.dropout = 0;
  config.data.valid_fraction = 0;
  TaskToy toy(config);  // one batch is all four texts
  const StepResult step = toy.step(1);
  const double loss = step.loss;
  TaskToy same(config);
  const FineTuningObjective& objective = same.objective;
  const RowEncoder encoder(find_label_task("classify"), objective.model().encoder(), *objective.data().tokenizer,
                           objective.data().labels);
  const auto rows = encoder.encode_all(objective.data().train, "x");
  const auto predicted = predict_labels(objective.model(), find_label_task("classify"), rows, 4);
  double of_a = 0;
  for (int i = 0; i < 3; ++i) of_a -= std::log(predicted[i].probabilities[0]) / 3;
  CHECK(loss == doctest::Approx((of_a - std::log(predicted[3].probabilities[1])) / 2).epsilon(1e-5));
  // The plain loss beside it is that of all four alike, as an evaluation has it.
  REQUIRE(step.nll_loss.has_value());
  CHECK(*step.nll_loss == doctest::Approx((3 * of_a - std::log(predicted[3].probabilities[1])) / 4).epsilon(1e-5));
  config.task.class_weights = ClassWeights::none;
  CHECK_FALSE(TaskToy(config).step(1).nll_loss.has_value());
}

TEST_CASE(
    "tasks: a span begins and ends where the question says, and its loss is that of its first and its last word") {
  const CacheFolder folder;
  Config config = span_config(folder);
  config.data.valid_fraction = 0;
  config.train.batch = 60;
  TaskToy toy(config);
  const LabelledData& data = toy.objective.data();
  CHECK(data.labels == std::vector<std::string>{"start", "end"});
  const LabelTask& task = find_label_task("span");
  const auto rows =
      RowEncoder(task, toy.objective.model().encoder(), *data.tokenizer, data.labels).encode_all(data.train, "x");
  const auto scored = [&] { return evaluate(toy.objective.model(), task, data.labels, data.train, rows, 7); };
  const TaskEvaluation before = scored();
  CHECK(before.evaluation.tokens == 120);
  CHECK(toy.step(1).loss == doctest::Approx(before.evaluation.loss()).epsilon(1e-5));
  toy.steps(2, 60);
  const TaskEvaluation after = scored();
  CHECK(measure(after.evaluation, "exact_match") == 1);
  CHECK(measure(after.evaluation, "f1") == 1);
  CHECK(after.evaluation.metric_for_best_model == "f1");
}

TEST_CASE("tasks: the last word of a span is never before its first one") {
  const CacheFolder folder;
  for (const std::int64_t seed : {1, 2, 3, 4}) {
    Config config = span_config(folder);
    config.train.seed = seed;
    config.model.options["init_std"] = 1.0;
    const TaskToy toy(config);
    const LabelledData& data = toy.objective.data();
    const LabelTask& task = find_label_task("span");
    const auto rows =
        RowEncoder(task, toy.objective.model().encoder(), *data.tokenizer, data.labels).encode_all(data.train, "x");
    const auto predicted = predict_labels(toy.objective.model(), task, rows, 16);
    REQUIRE(predicted.size() == 2 * rows.size());
    for (std::size_t i = 0; i < predicted.size(); i += 2) {
      const PredictedLabel &first = predicted[i], &last = predicted[i + 1];
      double best = 0;
      for (std::size_t a = 0; a < 5; ++a) {
        for (std::size_t b = a; b < 5; ++b) best = std::max(best, first.probabilities[a] * last.probabilities[b]);
      }
      CHECK(first.label <= last.label);
      CHECK(first.probability() * last.probability() == best);
    }
  }
}

TEST_CASE("tasks: a question's text is read as far as it fits, and an answer behind that is not learned") {
  const CacheFolder folder;
  const TaskToy toy(span_config(folder));
  const LabelledData& data = toy.objective.data();
  const RowEncoder encoder(find_label_task("span"), toy.objective.model().encoder(), *data.tokenizer, data.labels);
  LabelledExample example{{"which toy", "the", "red"}, {"", "", "answer"}};
  const auto ids = [&] { return encoder.encode(example, "x: ").front().ids; };
  const std::int32_t cls = *data.tokenizer->special("[CLS]"), sep = *data.tokenizer->special("[SEP]");
  CHECK(ids().size() == 7);
  CHECK(ids()[0] == cls);
  CHECK(ids()[3] == sep);
  CHECK(ids()[6] == sep);
  CHECK(encoder.encode(example, "x: ").front().positions == std::vector<std::int64_t>{4, 5});
  CHECK(encoder.encode(example, "x: ").front().targets == std::vector<std::int32_t>{1, 1});
  for (int i = 0; i < 30; ++i) example.pieces.push_back("old"), example.labels.push_back("");
  example.labels[5] = "answer";
  CHECK(ids().size() == 24);
  CHECK(encoder.encode(example, "x: ").front().positions.size() == 19);
  CHECK(encoder.encode(example, "x: ").front().targets == std::vector<std::int32_t>{1, 4});
  example.labels[25] = "answer";
  CHECK(encoder.encode(example, "x: ").front().targets == std::vector<std::int32_t>{kIgnoredTarget, kIgnoredTarget});
  CHECK_THROWS_WITH_AS(
      encoder.encode({{"which toy"}, {""}}, "x: "),
      "x: the question has 2 tokens, and no word of a text behind it fits into the model's context, 24", Error);
}

TEST_CASE("tasks: files of questions, and the overlap of an answer with the right one") {
  const TempFolder folder;
  const LabelTask& span = find_label_task("span");
  folder.write("a.tsv", "who?\tThe old cat saw Tom Thumb.\ttom thumb\n");
  folder.write("a.jsonl",
               "{\"question\": \"who?\", \"text\": \"The old cat saw Tom Thumb.\", \"answer\": \"Tom Thumb\"}\n");
  for (const char* name : {"a.tsv", "a.jsonl"}) {
    const std::vector<LabelledExample> examples = span.functions.read(folder.path / name, {}).examples;
    REQUIRE(examples.size() == 1);
    CHECK(examples[0].pieces == std::vector<std::string>{"who?", "The", "old", "cat", "saw", "Tom", "Thumb."});
    CHECK(examples[0].labels == std::vector<std::string>{"", "", "", "", "", "answer", "answer"});
  }
  // An answer is where it stands as it is written, if it does; punctuation alone is no other punctuation.
  folder.write("written.tsv", "who?\tThe US told us , why ?\tus\nwho?\tThe US told us , why ?\t?\n");
  const std::vector<LabelledExample> written = span.functions.read(folder.path / "written.tsv", {}).examples;
  CHECK(written[0].labels == std::vector<std::string>{"", "", "", "", "answer", "", "", ""});
  CHECK(written[1].labels == std::vector<std::string>{"", "", "", "", "", "", "", "answer"});
  // An answer that is a part of words means these words.
  folder.write("parts.tsv",
               "where?\tA Parkinson walks in Hyde Park's east\tHyde Park\n"
               "when?\tin the 1990s or so\t1990\nwho?\tAda Lee-Ray met Al\tRay met\n");
  const std::vector<LabelledExample> parts = span.functions.read(folder.path / "parts.tsv", {}).examples;
  CHECK(parts[0].labels == std::vector<std::string>{"", "", "", "", "", "answer", "answer", ""});
  CHECK(parts[1].labels == std::vector<std::string>{"", "", "", "answer", "", ""});
  CHECK(parts[2].labels == std::vector<std::string>{"", "", "answer", "answer", ""});
  folder.write("whole.tsv", "who?\tA Parkinson in Park's house\tPark\n");
  CHECK(span.functions.read(folder.path / "whole.tsv", {}).examples[0].labels ==
        std::vector<std::string>{"", "", "", "", "answer", ""});
  // Letters that are not ASCII have two cases too.
  folder.write("cases.tsv", "qui?\tL'\u00C9COLE de \u00C9mile est \u00E9cole.\t\u00C9cole\n");
  const std::vector<LabelledExample> cases = span.functions.read(folder.path / "cases.tsv", {}).examples;
  CHECK(cases[0].labels == std::vector<std::string>{"", "", "", "", "", "answer"});
  const auto refused = [&](const char* text, const char* message) {
    folder.write("b.tsv", text);
    CHECK_THROWS_WITH_AS(span.functions.read(folder.path / "b.tsv", {}), doctest::Contains(message), Error);
  };
  refused("a\tb\n", "b.tsv:1: expected a question, a tab, a text, a tab and an answer, got \"a\tb\"");
  refused("a\tb c\td\n", "b.tsv:1: the words \"d\" of the answer are not in the text");
  refused("a\tb ,\t!\n", "b.tsv:1: the words \"!\" of the answer are not in the text");
  refused("a\tb c\t\n", "b.tsv:1: expected a question, a text and an answer, got an empty answer");
  CHECK_THROWS_WITH_AS(span.functions.parse("a", "line 1: "),
                       "line 1: expected a question, a tab and a text, got \"a\"", Error);
  CHECK_THROWS_WITH_AS(span.functions.parse("who\t ", "line 1: "),
                       "line 1: expected a question and a text, got an empty text", Error);
  CHECK_THROWS_WITH_AS(span.functions.parse("\tBen ran.", "line 1: "),
                       "line 1: expected a question and a text, got an empty question", Error);

  const std::vector<LabelledExample> examples = span.functions.read(folder.path / "a.tsv", {}).examples;
  const auto score = [&](std::int64_t first, std::int64_t last) {
    const std::vector<PredictedLabel> pair{{first, {}}, {last, {}}};
    const std::vector<std::span<const PredictedLabel>> predicted{pair};
    const TaskScore result = span.functions.score({}, examples, predicted);
    return std::pair(result.metrics[0].second, result.metrics[1].second);
  };
  CHECK(score(4, 5) == std::pair(1.0, 1.0));
  CHECK(score(5, 5).first == doctest::Approx(2.0 / 3));
  CHECK(score(0, 5).first == doctest::Approx(4.0 / 7));  // "The" does not count
  CHECK(score(0, 5).second == 0);
  CHECK(score(0, 1) == std::pair(0.0, 0.0));
}

TEST_CASE(
    "tasks: a sentence that is longer than the context is cut between words; of a long text the beginning is read") {
  const CacheFolder folder;
  const TaskToy toy(tag_config(folder));
  const LabelledData& data = toy.objective.data();
  const Model& model = toy.objective.model().encoder();
  const RowEncoder encoder(find_label_task("tag"), model, *data.tokenizer, data.labels);
  const LabelledExample& example = data.train.front();
  const std::vector<LabelledRow> rows = encoder.encode(example, "x: ");
  REQUIRE(rows.size() >= 2);
  std::size_t pieces = 0;
  for (const LabelledRow& row : rows) {
    CHECK(row.ids.size() <= 24);
    CHECK(row.ids.size() > 10);  // no row is a short rest
    CHECK(row.ids.front() == *data.tokenizer->special("[CLS]"));
    CHECK(row.ids.back() == *data.tokenizer->special("[SEP]"));
    for (std::size_t i = 0; i < row.positions.size(); ++i, ++pieces) {
      const std::string_view token = data.tokenizer->token_bytes(row.ids[row.positions[i]]);
      CHECK(token == (pieces == 0 ? "" : " ") + example.pieces[pieces].substr(0, token.size() - (pieces > 0)));
      CHECK(data.labels[row.targets[i]] == example.labels[pieces]);
    }
  }
  CHECK(pieces == example.pieces.size());

  std::string text;
  for (int i = 0; i < 100; ++i) text += " the";
  const RowEncoder whole(find_label_task("classify"), model, *data.tokenizer, data.labels);
  const std::vector<LabelledRow> beginning = whole.encode({{text}, {"unknown"}}, "x: ");
  REQUIRE(beginning.size() == 1);
  CHECK(beginning[0].ids.size() == 24);
  CHECK(beginning[0].positions == std::vector<std::int64_t>{0});
  CHECK(beginning[0].targets == std::vector<std::int32_t>{kIgnoredTarget});
  CHECK_THROWS_WITH_AS(encoder.encode({{"the" + text}, {""}}, "line 3: "),
                       doctest::Contains("has 101 tokens, the model reads at most 22"), Error);
  CHECK_THROWS_WITH_AS(encoder.encode({{""}, {""}}, "line 3: "), "line 3: expected text, got none", Error);
}

TEST_CASE("tasks: the best checkpoint has the largest measure, not the smallest loss") {
  Evaluation evaluation{.tokens = 2, .nats = 4, .metrics = {{"span_f1", 0.75}}};
  CHECK(evaluation.cost() == 2);
  evaluation.metric_for_best_model = "span_f1";
  CHECK(evaluation.cost() == 0.25);
  evaluation.metric_for_best_model = "accuracy";
  CHECK_THROWS_WITH_AS(evaluation.cost(), "evaluation: there is no metric accuracy", Error);
}

TEST_CASE("tasks: files of labels in lines and in JSON lines, and lines that are neither") {
  const TempFolder folder;
  folder.write("a.tsv", "the\tO\ndog\tB-X\n\nruns\n");
  folder.write(
      "a.jsonl",
      "{\"words\": [\"the\", \"dog\"], \"labels\": [\"O\", \"B-X\"]}\n{\"words\": [\"runs\"], \"labels\": [\"\"]}\n");
  const LabelTask &tag = find_label_task("tag"), &classify = find_label_task("classify");
  for (const char* name : {"a.tsv", "a.jsonl"}) {
    const std::vector<LabelledExample> examples = tag.functions.read(folder.path / name, {}).examples;
    REQUIRE(examples.size() == 2);
    CHECK(examples[0].pieces == std::vector<std::string>{"the", "dog"});
    CHECK(examples[0].labels == std::vector<std::string>{"O", "B-X"});
    CHECK(examples[1].labels == std::vector<std::string>{""});
  }
  folder.write("b.tsv", "good\ta film\tof note\nbad\tnone\n");
  folder.write("b.jsonl",
               "{\"text\": \"a film\\tof note\", \"label\": \"good\"}\n\n{\"label\": \"bad\", \"text\": \"none\"}\n");
  for (const char* name : {"b.tsv", "b.jsonl"}) {
    const std::vector<LabelledExample> examples = classify.functions.read(folder.path / name, {}).examples;
    REQUIRE(examples.size() == 2);
    CHECK(examples[0].pieces == std::vector<std::string>{"a film\tof note"});
    CHECK(examples[0].labels == std::vector<std::string>{"good"});
  }
  const auto refused = [&](const LabelTask& task, const char* name, const char* text, const char* message) {
    folder.write(name, text);
    CHECK_THROWS_WITH_AS(task.functions.read(folder.path / name, {}), doctest::Contains(message), Error);
  };
  refused(classify, "c.tsv", "good\ta\nb\n", "c.tsv:2: expected a label, a tab and a text, got \"b\"");
  refused(classify, "c.tsv", "\ta\n", "c.tsv:1: expected a label and a text, got an empty label");
  refused(classify, "c.jsonl", "[1]\n", "c.jsonl:1: expected a JSON object, got \"[1]\"");
  refused(classify, "c.jsonl", "{\"text\": 3, \"label\": \"a\"}\n",
          "c.jsonl:1: expected a string in the field \"text\"");
  refused(tag, "c.jsonl", "{\"words\": [\"a\"], \"labels\": []}\n",
          "c.jsonl:1: got 1 words and 0 labels: expected as many");
  CHECK(tag.functions.parse(" the  dog ", "").pieces == std::vector<std::string>{"the", "dog"});
}
