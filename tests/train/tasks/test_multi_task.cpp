// Several tasks at once: which task a step draws, weights, evaluation, and what becomes of the run.
#include <doctest/doctest.h>

#include <map>
#include <set>

#include "core/files.h"
#include "data/synthetic/corpora.h"
#include "tasks/common/shared_tasks.h"
#include "tasks/labels/labelled_rows.h"
#include "tasks/labels/trained_classifier.h"
#include "tasks/masked_language_model/masked_evaluation.h"
#include "tasks/multi_task/multi_task_data.h"
#include "tasks/multi_task/multi_task_objective.h"
#include "tests/train/tasks/task_toy.h"
#include "train/loop/evaluation_terms.h"
#include "train/loop/initial_weights.h"
#include "train/loop/run_summary.h"

using namespace tapeformer;

namespace {

// The toy of several tasks, with these weights of its tasks; a weight of −1 removes the task.
Config weighted(const TempFolder& folder, const std::map<std::string, double>& weights) {
  Config config = multi_task_config(folder);
  for (const auto& entry : weights) {
    if (entry.second < 0) {
      config.tasks.erase(entry.first);
    } else {
      config.tasks.at(entry.first).weight = entry.second;
    }
  }
  if (!config.tasks.contains("text")) config.data.lines = Config().data.lines;  // no task has a corpus
  return config;
}

std::string weights_file(const std::filesystem::path& run) {
  return read_file(checkpoint_weights(RunFolder{run}.checkpoint(6)));
}

std::string task_of_step(Objective& objective, std::int64_t step) { return objective.step_size(step, {0, 1}).task; }

// The shares of 4000 steps in which the tasks are trained.
std::map<std::string, double> shares(Config config, double alpha) {
  config.task.sampling_alpha = alpha;
  AnyToy toy(config);
  std::map<std::string, double> counts;
  for (std::int64_t step = 1; step <= 4000; ++step) counts[task_of_step(toy.objective, step)] += 1.0 / 4000;
  return counts;
}

}  // namespace

TEST_CASE("multi_task: a task of weight 0 changes no byte of what the others learn") {
  const CacheFolder folder;
  trained(weighted(folder, {{"topic", 0}}), folder.path / "zero");
  trained(weighted(folder, {{"topic", -1}}), folder.path / "without");
  CHECK(weights_file(folder.path / "zero") == weights_file(folder.path / "without"));
  CHECK(read_file(RunFolder{folder.path / "zero"}.labels()) == read_file(RunFolder{folder.path / "without"}.labels()));

  CHECK(summarize_run(RunFolder{folder.path / "zero"}).data == "tags + text");

  const auto alone = trained(weighted(folder, {{"text", 0}, {"topic", 0}}), folder.path / "alone");
  Config tag = tag_config(folder);
  tag.train.steps = 6;
  CHECK(alone->weights() == trained(tag, folder.path / "tag")->weights());
}

TEST_CASE("multi_task: a task of weight 0 is as if its section were not there: its data need not exist") {
  const CacheFolder folder;
  Config config = weighted(folder, {{"topic", -1}});
  config.tasks["later"] = {.kind = "tag", .weight = 0};
  config.tasks["gone"] = {
      .kind = "masked_language_model", .weight = 0, .text = {"no-such-file"}, .valid = {"no-such-file"}};
  const ResolvedConfig all = resolve(config);
  CHECK(shared_tasks(all).size() == 2);
  CHECK(trained_validation_files(all).empty());
  config.tasks.at("later").weight = 1;
  CHECK_THROWS_WITH_AS(resolve(config), "tasks.later: expected labels, got no training data", UsageError);
}

TEST_CASE("multi_task: the parameters that info counts as learning are those that learn") {
  const CacheFolder folder;
  Config config = weighted(folder, {{"text", -1}});
  for (const bool freeze : {false, true}) {
    config.task.freeze = freeze;
    const AnyToy toy(config);
    const TrainingShape shape = toy.resolved.task_row().prepare(toy.resolved, nullptr, {})->shape(toy.resolved);
    const ParameterRates rates = toy.objective.rates();
    REQUIRE(shape.rates);
    for (const NamedParameter& parameter : shape.model->named_parameters()) {
      CAPTURE(parameter.name);
      CHECK(shape.rates(parameter.name) == rates(parameter.name));
      if (parameter.name.starts_with("head.")) CHECK(rates(parameter.name) == 0);
    }
    CHECK(shape.rates("token_embedding.weight") == (freeze ? 0 : 1));
  }
}

TEST_CASE("multi_task: the model keeps documents as the configuration says, whichever task comes first") {
  const CacheFolder folder;
  Config config = multi_task_config(folder);
  config.model = tag_config(folder, "gpt").model;
  config.tasks.erase("topic");
  config.tasks.at("text").kind = "language_model";  // after "tags"
  config.data.document = DocumentEnd::line;
  for (const bool within : {false, true}) {
    config.data.within_document = within;
    const AnyToy toy(config);
    const auto& objective = dynamic_cast<const MultiTaskObjective&>(toy.objective);
    CHECK((objective.model().trunk()->document_token() >= 0) == within);
  }
}

TEST_CASE("multi_task: a step draws a task in proportion to its rows^alpha, the same again after a resume") {
  const CacheFolder folder;
  const Config config = weighted(folder, {{"topic", -1}});
  const auto alike = shares(config, 0), by_rows = shares(config, 1);
  CHECK(alike.at("tags") == doctest::Approx(0.5).epsilon(0.05));
  AnyToy toy(config);
  const std::vector<std::string> facts = toy.objective.facts().description;
  CHECK(by_rows.at("text") == doctest::Approx(0.53).epsilon(0.1));
  CHECK(facts.size() == 3);
  // The steps of a task are numbered without gaps, whatever the order of the questions.
  AnyToy other(config);
  std::vector<std::string> backwards;
  for (std::int64_t step = 30; step >= 1; --step)
    backwards.insert(backwards.begin(), task_of_step(other.objective, step));
  for (std::int64_t step = 1; step <= 30; ++step) CHECK(task_of_step(toy.objective, step) == backwards[step - 1]);
}

TEST_CASE("multi_task: a weight multiplies the loss of its task, and the mean loss of an evaluation") {
  const CacheFolder folder;
  AnyToy plain(multi_task_config(folder)), heavy(weighted(folder, {{"tags", 3}, {"text", 0.5}}));
  std::map<std::string, double> weights{{"tags", 3}, {"text", 0.5}, {"topic", 1}};
  std::map<std::string, int> seen;
  for (std::int64_t step = 1; seen.size() < 3; ++step) {
    const std::string task = task_of_step(plain.objective, step);
    if (seen[task]++) continue;
    const auto loss_of = [&](AnyToy& toy) {
      Tape tape(training_tape(toy.resolved, step, 0));
      const Variable loss = toy.objective.micro_loss(tape, step, 0, toy.objective.mean_over(step, {0, 1}));
      tape.backward(loss);
      return loss.value().item();
    };
    CAPTURE(task);
    CHECK(loss_of(heavy) == doctest::Approx(weights.at(task) * loss_of(plain)).epsilon(1e-5));
  }
  const Evaluation all = heavy.objective.evaluate({});
  const double mean =
      (3 * measure(all, "tags_loss") + 0.5 * measure(all, "text_loss") + measure(all, "topic_loss")) / 4.5;
  CHECK(all.loss() == doctest::Approx(mean));
  CHECK(all.cost() == all.loss());
}

TEST_CASE("multi_task: tasks of both kinds learn, and a named metric chooses the best checkpoint") {
  const CacheFolder folder;
  Config config = multi_task_config(folder);
  config.train.steps = 60;
  config.eval.every = 20;
  config.task.metric_for_best_model = "tags_span_f1";
  const AnyToy before(config);
  const Evaluation first = before.objective.evaluate({});
  const auto toy = trained(config, folder.path / "run");
  const Evaluation last = toy->objective.evaluate({});
  for (const char* loss : {"tags_loss", "text_loss"}) {
    CAPTURE(loss);
    CHECK(measure(last, loss) < 0.95 * measure(first, loss));
  }
  CHECK(last.cost() == 1 - measure(last, "tags_span_f1"));
  const RunSummary summary = summarize_run(RunFolder{folder.path / "run"});
  CHECK(summary.measure == "tags_span_f1");
  CHECK(summary.data == "tags + text + topic");
}

TEST_CASE("multi_task: a step has a plain cross-entropy beside its loss only if its own task's loss has more terms") {
  const CacheFolder folder;
  Config config = weighted(folder, {{"topic", -1}});
  config.model.options["segments"] = std::int64_t{2};
  config.model.options["next_sentence"] = true;
  for (const double smoothing : {0.0, 0.1}) {
    config.train.label_smoothing = smoothing;
    AnyToy toy(config);
    std::set<std::string> tasks;
    for (std::int64_t step = 1; step <= 12; ++step) {
      const std::string task = task_of_step(toy.objective, step);
      const StepResult result = toy.step(step);
      CHECK(result.nll_loss.has_value() == (task == "text" || smoothing > 0));
      if (result.nll_loss) CHECK(*result.nll_loss > 0);
      tasks.insert(task);
    }
    CHECK(tasks.size() == 2);
  }
}

TEST_CASE("multi_task: a task that is not evaluated may have a name with which that of the choosing one begins") {
  const CacheFolder folder;
  Config config = multi_task_config(folder);
  const std::filesystem::path text = folder.path / "text.txt";
  write_file_atomically(text, generate_corpus("stories", 20, 1));
  config.data.valid_fraction = 0;  // of all tasks but the one with validation text of its own
  config.tasks["text_2"] = {.kind = "masked_language_model", .text = {text.string()}, .valid = {text.string()}};
  config.task.metric_for_best_model = "text_2_loss";
  CHECK_NOTHROW(AnyToy{config});
  config.task.metric_for_best_model = "text_loss";
  CHECK_THROWS_AS(AnyToy{config}, UsageError);
}

TEST_CASE("multi_task: a run gives the classifiers of its tasks, its masked language model, and initial weights") {
  const CacheFolder folder;
  const auto toy = trained(multi_task_config(folder), folder.path / "run");
  const std::string run = (folder.path / "run").string();
  const auto& model = dynamic_cast<const MultiTaskModel&>(toy->model);
  RunSelection source(run);
  CHECK_THROWS_WITH_AS(load_run<TrainedClassifier>(source),
                       "--task: expected one of the run's tasks with labels, tags, topic, got none", UsageError);
  source.task = "tags";
  const TrainedClassifier tags = load_run<TrainedClassifier>(source);
  const Evaluation all = toy->objective.evaluate({});
  const SharedTask task = shared_tasks(toy->resolved).front();
  REQUIRE(task.name == "tags");
  const LabelledData data = prepare_labelled_data(task.config, {.tokenizer = Tokenizer::load(tags.run.tokenizer())});
  CHECK(tags.labels == data.labels);
  const LabelTask& kind = find_label_task("tag");
  const RowEncoder encoder(kind, tags.model->encoder(), *tags.tokenizer, tags.labels);
  const auto rows = encoder.encode_all(data.valid, "valid");
  CHECK(evaluate(*tags.model, kind, tags.labels, data.valid, rows, 4).evaluation.loss() ==
        doctest::Approx(measure(all, "tags_loss")).epsilon(1e-6));
  CHECK(load_run<TrainedMaskedLanguageModel>(run).model->parameter_count() == model.trunk()->parameter_count());

  Config later = tag_config(folder);
  later.train.init_from = run;
  later.tokenizer.file = tags.run.tokenizer().string();
  AnyToy fine_tuned(later);
  load_initial_weights(fine_tuned.resolved, fine_tuned.objective.initial_part());
  const std::string name = model.named_parameters().front().name;
  CHECK(fine_tuned.model.state_dict().at(name).to_vector<float>() == model.state_dict().at(name).to_vector<float>());
}

TEST_CASE("multi_task: labels alone share a tokenizer of all, and leave the head of the family as it is") {
  const CacheFolder folder;
  const Config config = weighted(folder, {{"text", -1}});
  AnyToy toy(config);
  const ParameterRates rates = toy.objective.rates();
  CHECK(rates("head.transform.weight") == 0);
  CHECK(rates("task.topic.output.weight") == 1);
  CHECK(!trains_own_head(toy.resolved));
  CHECK(trains_own_head(resolve(multi_task_config(folder))));
  toy.steps(1, 3);
  int learned = 0;
  const ProgressMaker count = [&](const std::string& what) {
    learned += what == "learning merges" ? 1 : 0;
    return ProgressCallback();
  };
  prepare_tasks(toy.resolved, nullptr, count);
  CHECK(learned == 1);
}

TEST_CASE("multi_task: a gpt learns to tag beside its own task") {
  const CacheFolder folder;
  Config config = multi_task_config(folder);
  config.model = tag_config(folder, "gpt").model;
  config.tasks.at("text").kind = "language_model";
  AnyToy toy(config);
  const Evaluation before = toy.objective.evaluate({});
  toy.steps(1, 20);
  const Evaluation after = toy.objective.evaluate({});
  CHECK(measure(after, "tags_loss") < measure(before, "tags_loss"));
  CHECK(measure(after, "text_loss") < measure(before, "text_loss"));
}

TEST_CASE("multi_task: sections of tasks are read, written and overridden, and mistakes are told in one line") {
  const CacheFolder folder;
  Config config = parse_config(
      "[task]\nkind = \"multi_task\"\n[tasks.tags]\nkind = \"tag\"\nlabels = \"a.tsv\"\nweight = 2\n"
      "[tasks.text]\nkind = \"masked_language_model\"\ntext = \"a.txt\"\n[model]\ntype = \"bert\"\n",
      "c.toml");
  apply_override(config, "tasks.text.weight", "0.5");
  const ResolvedConfig resolved = resolve(config);
  CHECK(resolve(parse_config(to_toml(resolved), "written")) == resolved);
  CHECK(resolved.tasks.at("text").weight == 0.5);
  CHECK(shared_tasks(resolved).size() == 2);

  const auto refused = [&](const std::string& key, const std::string& value, const std::string& message) {
    check_refused(config, key, value, message);
  };
  refused("task.kind", "tag", "tasks: expected task.kind = multi_task beside [tasks.tags], got tag");
  refused("data.text", "b.txt",
          "data.text: expected none beside task.kind = multi_task, whose tasks have their data in [tasks.NAME]");
  refused("tasks.text.kind", "skip_gram",
          "tasks.text.kind: expected masked_language_model, tag, classify, span for bert, got skip_gram");
  refused("tasks.more.kind", "tag", "tasks.more: expected labels, got no training data");
  refused("tasks.tags.text", "b.txt",
          "tasks.tags: data: expected one kind of training data, got data.text and data.labels");
  refused("task.freeze", "true",
          "task.freeze: expected false beside a task of text, which trains the encoder, got true");
  refused("task.layer_decay", "0.5",
          "task.layer_decay: expected 1 beside a task of text, which trains all layers alike, got 0.5");
  refused("task.metric_for_best_model", "f1",
          "task.metric_for_best_model: expected tags_loss, tags_span_f1, text_loss or none, got f1");
  refused("model.type", "word2vec",
          "tasks.text.kind: expected tag, classify, span for word2vec, got masked_language_model");
  // How labelled text is written is no matter of a task of text beside it.
  apply_override(config, "data.label_column", "3");
  CHECK(shared_tasks(resolve(config))[0].config.data.label_column == "3");
  Config alike = config;
  alike.tasks["tags_span"] = {.kind = "span", .labels = "b.tsv"};
  CHECK_THROWS_WITH_AS(resolve(alike), "tasks: expected names of tasks whose metrics differ, got two tags_span_f1",
                       UsageError);
  Config none = config;
  none.tasks.at("tags").weight = none.tasks.at("text").weight = 0;
  CHECK_THROWS_WITH_AS(resolve(none), "tasks: expected a weight above 0 for at least one task, got 0 for all",
                       UsageError);
  const auto message = [](const std::string& lines) {
    try {
      parse_config(lines, "c.toml");
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(message("[tasks.tags]\nwieght = 1\n") ==
        "c.toml:2: unknown key tasks.tags.wieght: did you mean tasks.tags.weight?");
  CHECK(message("[tasks]\nweight = 1\n") == "c.toml:2: unknown key tasks.weight: did you mean tasks.NAME.weight?");
  CHECK(message("[tasks.\"a b\"]\nweight = 1\n") ==
        "tasks: expected a name of letters, digits, _ and - for a task, got \"a b\"");
  CHECK_THROWS_WITH_AS(resolve(parse_config("[task]\nkind = \"multi_task\"\n[tasks.a]\n[model]\ntype = \"bert\"", "c")),
                       "tasks.a.kind: expected masked_language_model, tag, classify, span for bert, got none",
                       UsageError);
}
