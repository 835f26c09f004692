// What fine-tuning reads: which examples validate, what is said of a file that seems wrong, of long texts and of
// unknown labels, and which file and line an error names.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "tests/train/tasks/task_toy.h"

using namespace tapeformer;

namespace {

Config classify_config(const TempFolder& folder, const std::string& text, const std::string& type = "gpt") {
  folder.write("labels.tsv", text);
  Config config;
  config.model.type = type;
  config.model.options = {
      {"layers", std::int64_t{1}}, {"dim", std::int64_t{8}}, {"heads", std::int64_t{2}}, {"context", std::int64_t{12}}};
  config.tokenizer.kind = TokenizerKind::word;
  config.data.labels = folder.path / "labels.tsv";
  config.data.valid_fraction = 0;
  config.task.kind = "classify";
  config.train.matmul = MatmulSetting::highest;
  config.train.batch = 4;
  return config;
}

// So many texts of each label, one label behind the other.
std::string sorted_labels(const std::vector<std::pair<std::string, int>>& counts) {
  std::string text;
  for (const auto& [label, count] : counts) {
    for (int i = 0; i < count; ++i) text += str_cat(label, "\ttext ", i, " of ", label, '\n');
  }
  return text;
}

std::map<std::string, int> count_labels(const std::vector<LabelledExample>& examples) {
  std::map<std::string, int> counts;
  for (const LabelledExample& example : examples) ++counts[example.labels[0]];
  return counts;
}

bool mentions(const std::vector<std::string>& lines, std::string_view text) {
  return std::ranges::any_of(lines, [&](const std::string& line) { return line.find(text) != line.npos; });
}

}  // namespace

TEST_CASE("task data: of a file that is sorted by label, a share of each label validates, drawn by data.seed alone") {
  const CacheFolder folder;
  Config config = classify_config(folder, sorted_labels({{"a", 50}, {"b", 20}, {"c", 30}, {"once", 1}}));
  config.data.valid_fraction = 0.2;
  const auto read = [&] { return prepare_labelled_data(resolve(config)); };
  const LabelledData data = read();
  CHECK(count_labels(data.valid) == std::map<std::string, int>{{"a", 10}, {"b", 4}, {"c", 6}});
  CHECK(count_labels(data.train) == std::map<std::string, int>{{"a", 40}, {"b", 16}, {"c", 24}, {"once", 1}});
  const auto pieces = [](const std::vector<LabelledExample>& examples) {
    std::vector<std::string> texts;
    for (const LabelledExample& example : examples) texts.push_back(example.pieces[0]);
    return texts;
  };
  const std::vector<std::string> drawn = pieces(data.valid), kept = pieces(data.train);
  for (const std::string& text : drawn) CHECK(std::ranges::count(kept, text) == 0);
  CHECK(pieces(read().valid) == drawn);
  config.train.seed = 7;
  CHECK(pieces(read().valid) == drawn);
  config.data.seed = 7;
  CHECK(pieces(read().valid) != drawn);
  CHECK(count_labels(read().valid) == count_labels(data.valid));
}

TEST_CASE("task data: sentences are held out by the rarest of their labels") {
  std::vector<LabelledExample> examples;
  for (int i = 0; i < 100; ++i) {
    examples.push_back({{str_cat(i), "x"}, {i < 80 ? "O" : i < 90 ? "B-X" : "B-Y", "O"}});
  }
  const std::vector<LabelledExample> valid = hold_out(examples, 0.1, 1);
  CHECK(count_labels(valid) == std::map<std::string, int>{{"O", 8}, {"B-X", 1}, {"B-Y", 1}});
  CHECK(examples.size() == 90);
  CHECK(hold_out(examples, 0, 1).empty());
  std::vector<LabelledExample> single{{{"a"}, {"x"}}, {{"b"}, {"y"}}};
  CHECK(hold_out(single, 0.9, 1).empty());
  CHECK(single.size() == 2);
}

TEST_CASE("task data: the only example of a label stays, though it counts for another label") {
  bool is_any_held_out = false;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    std::vector<LabelledExample> examples{{{"x", "x", "x", "x"}, {"common", "common", "common", "rare"}},
                                          {{"y"}, {"rare"}}};
    const std::vector<LabelledExample> valid = hold_out(examples, 0.5, seed);
    is_any_held_out |= !valid.empty();
    CHECK(count_labels(examples).contains("common"));
    CHECK(valid.size() + examples.size() == 2);
  }
  CHECK(is_any_held_out);
}

TEST_CASE("task data: swapped columns, and a first line that names columns, are told") {
  const CacheFolder folder;
  const auto read = [&](const std::string& text, const std::string& kind) {
    Config config = classify_config(folder, text);
    config.task.kind = kind;
    return prepare_labelled_data(resolve(config));
  };
  const auto warnings = [&](const std::string& text, const std::string& kind = "classify") {
    return read(text, kind).warnings;
  };
  const std::string good = sorted_labels({{"up", 10}, {"down", 10}});
  CHECK(warnings(good).empty());
  std::string swapped, ids;
  for (int i = 0; i < 90; ++i) {
    swapped += str_cat("text number ", i, '\t', i % 2 ? "up" : "down", '\n');
    ids += str_cat("id", i, "\ttext number ", i, '\n');
  }
  CHECK(mentions(warnings(swapped), "labels.tsv: 90 labels of 90 kinds beside 2 kinds of texts: are the columns"));
  CHECK(mentions(warnings(ids), "90 labels of 90 kinds beside 90 kinds of texts: are the columns"));
  std::string tags, swapped_tags;
  for (int i = 0; i < 90; ++i) {
    tags += str_cat("word", i % 30, '\t', i % 2 ? "B-X" : "O", '\n');
    swapped_tags += str_cat(i % 2 ? "B-X" : "O", "\tword", i % 30, '\n');
  }
  CHECK(warnings(tags, "tag").empty());
  CHECK(mentions(warnings(swapped_tags, "tag"), "90 labels of 30 kinds beside 2 kinds of texts"));
  CHECK(mentions(warnings("up \tit rose\n" + good),
                 "labels.tsv: the labels \"up \" and \"up\" are two, which differ by"));
  CHECK(mentions(warnings("rating\tthe review\n" + good), "the first label, rating, is the only one that does not"));
  CHECK(read("Label\tText\n" + good, "classify").labels == std::vector<std::string>{"up", "down"});
  CHECK(
      mentions(warnings("Label\tText\n" + good), "labels.tsv:1: \"Label\tText\" names the columns, and is no example"));
  CHECK(read("word\ttag\n" + tags, "tag").labels == std::vector<std::string>{"O", "B-X"});
}

TEST_CASE("task data: an error names the file and the line of an example, also that of a tokenizer") {
  const CacheFolder folder;
  const auto refused = [&](const Config& config, const std::string& message) {
    const ResolvedConfig resolved = resolve(config);
    CHECK_THROWS_WITH_AS(FineTuningObjective(resolved, prepare_labelled_data(resolved)),
                         doctest::Contains(message.c_str()), Error);
  };
  for (const TokenizerKind kind : {TokenizerKind::character, TokenizerKind::word, TokenizerKind::bpe}) {
    Config config = classify_config(folder, "a\tb c\n\xff\tb\n");
    config.tokenizer.kind = kind;
    refused(config, "labels.tsv:2: the label is not valid UTF-8");
    folder.write("labels.tsv", "b\ta\n\nc\t\xff\n");
    config.task.kind = "tag";
    refused(config, "labels.tsv:3: the label is not valid UTF-8");
    if (kind == TokenizerKind::bpe) continue;
    folder.write("labels.tsv", "a\tb c\n\nb\t\xff\n");
    config.task.kind = "classify";
    refused(config, "labels.tsv:3: the text is not valid UTF-8");
  }
  folder.write("valid.tsv", "a\tb\n\na\tcaf\u00e9\n");
  Config config = classify_config(folder, "a\tb c\nb\tcaf\n");
  config.tokenizer.kind = TokenizerKind::character;
  prepare_labelled_data(resolve(config)).tokenizer->save(folder.path / "tokenizer.json");
  config.data.valid_labels = folder.path / "valid.tsv";
  CHECK_NOTHROW(TaskToy{config});  // it is learned from the characters of both files
  config.tokenizer.file = folder.path / "tokenizer.json";
  refused(config, "valid.tsv:3: char tokenizer: character '\u00e9' (U+00E9) at byte 3 is not in the vocabulary");
  config.tokenizer.file = "";
  folder.write("valid.tsv", "a\tb\n\na\t\xff\n");
  refused(config, "valid.tsv:3: the text is not valid UTF-8");
}

TEST_CASE("task data: texts that are longer than the context, and labels that training does not have, are told") {
  const CacheFolder folder;
  std::string longer = "a\t";
  for (int i = 0; i < 20; ++i) longer += "the ";
  Config config = classify_config(folder, "a\tthe\nb\tthe the\n" + longer + "\n" + longer + "\n", "bert");
  folder.write("valid.tsv", "c\tthe\nb\tthe\nd\tthe\n" + longer + "\n");
  config.data.valid_labels = folder.path / "valid.tsv";
  TaskToy toy(config);
  const std::vector<std::string> told = toy.objective.facts().warnings;
  const std::string train = folder.path / "labels.tsv", valid = folder.path / "valid.tsv";
  CHECK(mentions(told, train + ": 2 of 4 texts are longer than the model's context, and only their beginning is read " +
                           "(the first: " + train + ":3)"));
  CHECK(mentions(told, valid + ": 1 of 4 texts are longer"));
  CHECK(mentions(
      told, valid + ": 2 of 4 labels are none that training has: they count as wrong (the first: " + valid + ":1)"));
  // One word and its two marks, two words, and twice a full context.
  CHECK(toy.objective.step_size(1, {0, 1}).targets == 4);
  CHECK(toy.objective.step_size(1, {0, 1}).tokens == 3 + 4 + 12 + 12);
}
