#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/options/page_option.h"
#include "cli/terminal/example_text.h"
#include "cli/terminal/results.h"
#include "cli/terminal/terminal.h"
#include "core/files.h"
#include "report/explain/topics.h"

namespace tapeformer::cli {
namespace {

struct ExplainArguments {
  std::string topic, html;
  bool list = false, json = false;
  std::map<std::string, std::string, std::less<>> given;  // the options of the topic, by name without dashes
};

void print_topics(bool as_json) {
  const auto json = [] {
    Json all = Json::array();
    for (const explain::Topic& topic : explain::topics()) {
      all.push_back({{"topic", topic.name}, {"shows", topic.shows}, {"options", topic.options}});
    }
    return all;
  };
  print_result(as_json, json, [] {
    std::vector<std::vector<std::string>> rows;
    for (const explain::Topic& topic : explain::topics()) rows.push_back({topic.name, topic.shows});
    return Table::fitted(std::move(rows)).text();
  });
}

void print_explanation(const ExplainArguments& arguments) {
  if (arguments.list || arguments.topic.empty()) {
    if (!arguments.html.empty() || !arguments.given.empty() || (arguments.list && !arguments.topic.empty())) {
      fail_usage("explain: expected a topic, or --list alone");
    }
    return print_topics(arguments.json);
  }
  const explain::WorkedExample example =
      explain::explain_topic(arguments.topic, explain::TopicOptions(arguments.given));
  if (!arguments.html.empty()) return write_file_atomically(arguments.html, explain::example_page(example));
  print_result(
      arguments.json, [&] { return explain::example_json(example); },
      [&] { return output_text(example_text(example)); });
}

}  // namespace

Command explain_command() {
  const auto arguments = std::make_shared<ExplainArguments>();
  Command command{
      .name = "explain",
      .help = "A worked example, step by step, by the ops that train",
      .options = {{"topic", &arguments->topic, "The topic [the list of topics]"},
                  {"--list", &arguments->list, "List the topics"},
                  page_option("--html", arguments->html, "Write a page (.html)", {.excludes = {"--json", "--list"}}),
                  {"--json", &arguments->json, "Print the numbers as JSON"}},
      .run = [arguments] { print_explanation(*arguments); }};
  const std::pair<const char*, const char*> options[] = {
      {"form", "attention: dot, bilinear, additive or kernel [dot]"},
      {"q", "attention: queries, such as \"1 0; 0 1\""},
      {"k", "attention: keys"},
      {"v", "attention: values, one for each key"},
      {"w", "attention: the weights of the forms bilinear and additive"},
      {"bandwidth", "attention: h of the form kernel [0.5]"},
      {"x", "Numbers: of softmax, layer-norm, gelu; logits of loss; probabilities of perplexity; w x b y of backward"},
      {"eps", "layer-norm: ε [1e-5]"},
      {"targets", "loss: the index of the right token of each row"},
      {"smoothing", "loss: ε of label smoothing [0.1]"},
      {"dim", "schedule: the width of the model [512]"},
      {"warmup", "schedule: steps [4000]"},
      {"run", "A trained run: of positions, perplexity, beam and kv-cache"},
      {"text", "A text: of positions, perplexity and beam; the word of bpe"},
      {"beam", "beam: its width [2]"},
      {"tokenizer", "bpe: a tokenizer's file [ten merges learned from a few words]"}};
  for (const auto& [name, help] : options) {
    const std::function<void(const std::string&)> set = [arguments, key = std::string(name)](const std::string& value) {
      arguments->given[key] = value;
    };
    command.options.push_back({std::string("--") + name, set, help, {.group = "Options of topics"}});
  }
  return command;
}

}  // namespace tapeformer::cli
