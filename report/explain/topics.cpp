#include "report/explain/topics.h"

#include <algorithm>

#include "core/error.h"
#include "core/text/parse_number.h"

namespace tapeformer::explain {
namespace {

// Parses the numbers of one row. Throws UsageError that names the option.
std::vector<double> parse_row(std::string_view name, std::string_view row) {
  std::vector<double> numbers;
  while (true) {
    row.remove_prefix(std::min(row.find_first_not_of(" ,\t\n"), row.size()));
    if (row.empty()) return numbers;
    const std::string_view word = row.substr(0, row.find_first_of(" ,\t\n"));
    const auto number = parse_finite_number(word);
    if (!number) fail_usage("explain: --", name, ": expected numbers, got ", word);
    numbers.push_back(*number);
    row.remove_prefix(word.size());
  }
}

}  // namespace

std::string TopicOptions::text(std::string_view name, std::string_view otherwise) const {
  const auto found = given_.find(name);
  return found == given_.end() ? std::string(otherwise) : found->second;
}

double TopicOptions::number(std::string_view name, double otherwise) const {
  if (!has(name)) return otherwise;
  const std::vector<double> numbers = parse_row(name, text(name, ""));
  if (numbers.size() != 1) fail_usage("explain: --", name, ": expected one number, got ", numbers.size());
  return numbers.front();
}

std::int64_t TopicOptions::integer(std::string_view name, std::int64_t otherwise, std::int64_t least) const {
  constexpr double kMost = 1e9;
  const double number = this->number(name, static_cast<double>(otherwise));
  const auto whole = static_cast<std::int64_t>(std::clamp(number, -kMost, kMost));
  if (static_cast<double>(whole) != number || whole < least) {
    fail_usage("explain: --", name, ": expected a whole number of at least ", least, ", got ", text(name, ""));
  }
  return whole;
}

Tensor TopicOptions::matrix(std::string_view name, std::string_view otherwise) const {
  const std::string given = text(name, otherwise);
  std::string_view rest = given;
  std::vector<double> all;
  std::int64_t rows = 0, columns = 0;
  while (true) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    const std::vector<double> row = parse_row(name, rest.substr(0, end));
    if (rows > 0 && std::ssize(row) != columns) {
      fail_usage("explain: --", name, ": expected rows of ", columns, " numbers, got one of ", row.size());
    }
    columns = std::ssize(row), ++rows;
    all.insert(all.end(), row.begin(), row.end());
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  if (columns == 0) fail_usage("explain: --", name, ": expected numbers, got none");
  return Tensor::from(std::span<const double>(all), {rows, columns});
}

Tensor TopicOptions::vector(std::string_view name, std::string_view otherwise) const {
  const Tensor row = matrix(name, otherwise);
  if (row.size(0) != 1) fail_usage("explain: --", name, ": expected one row of numbers, got ", row.size(0));
  return row.reshape({row.size(1)});
}

const std::vector<Topic>& topics() {
  static const std::vector<Topic> table{
      {"attention",
       "scores, softmax and the weighted mean of values; --form bilinear, additive or kernel",
       {"form", "q", "k", "v", "w", "bandwidth"},
       explain_attention},
      {"softmax", "exponentials and their sum, temperature, and what a shift changes", {"x"}, explain_softmax},
      {"positions",
       "sinusoids, PE·PE as a sum of cosines, and (E+P)(E+P) of a trained run",
       {"run", "text"},
       explain_positions},
      {"layer-norm", "mean, variance and the normalised row, beside RMSNorm", {"x", "eps"}, explain_layer_norm},
      {"gelu", "x Φ(x), its tanh approximation, and ReLU", {"x"}, explain_gelu},
      {"loss",
       "cross-entropy from logits, label smoothing, and the gradient",
       {"x", "targets", "smoothing"},
       explain_loss},
      {"perplexity",
       "surprisals, their mean and its exponential; of a text by a trained run",
       {"x", "run", "text"},
       explain_perplexity},
      {"schedule", "the learning rate of each step, warm-up and decay apart", {"dim", "warmup"}, explain_schedule},
      {"parameters", "the base Transformer of 2017, counted part by part", {}, explain_parameters},
      {"beam", "the tree of a translation: what is kept and dropped, log P", {"run", "text", "beam"}, explain_beam},
      {"bpe", "merges one by one on a word", {"text", "tokenizer"}, explain_bpe},
      {"backward", "the tape of a small expression: each op's value and gradient", {"x"}, explain_backward},
      {"vanishing", "the gradient against distance in tanh, GRU and LSTM layers", {}, explain_vanishing},
      {"kv-cache", "bytes and milliseconds a token against length, with and without", {"run"}, explain_kv_cache},
  };
  return table;
}

WorkedExample explain_topic(std::string_view name, const TopicOptions& options) {
  const auto topic = std::ranges::find(topics(), name, &Topic::name);
  if (topic == topics().end()) {
    std::string names;
    for (const Topic& known : topics()) names += (names.empty() ? "" : ", ") + known.name;
    fail_usage("explain: expected a topic (", names, "), got ", name);
  }
  for (const auto& [option, value] : options.given()) {
    if (std::ranges::find(topic->options, option) != topic->options.end()) continue;
    std::string known;
    for (const std::string& other : topic->options) known += (known.empty() ? "--" : ", --") + other;
    fail_usage("explain: ", name, ": expected ", known.empty() ? "no option of a topic" : known, ", got --", option);
  }
  return topic->make(options);
}

}  // namespace tapeformer::explain
