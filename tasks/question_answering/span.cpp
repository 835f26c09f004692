// Span extraction: finds the words of a text that answer a question (Devlin et al. 2019, section 4.2). The answer
// begins at word i with probability softmax_i(S·h_i) and ends at word j with softmax_j(E·h_j); the most probable pair
// with i ≤ j is chosen.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text/joined.h"
#include "tasks/labels/label_task.h"
#include "tokenizer/unicode/normalization.h"

namespace tapeformer {
namespace {

// The word in lower case and without punctuation of ASCII.
std::string plain(std::string_view word) {
  CodePoints result;
  for (const std::int32_t c : code_points(word)) {
    const bool is_ascii = c >= 0 && c < 0x80;
    if (!is_ascii || !std::ispunct(c)) append_lower(result, c);
  }
  return to_utf8(result);
}

// The first index where the words of the answer occur in the text as they are written, or else without regard to case
// and punctuation; -1: none. A word that is nothing but punctuation is only found as it is written.
std::int64_t find_words(std::span<const std::string> text, std::span<const std::string> answer) {
  const auto alike = [](const std::string& a, const std::string& b) {
    return a == b || (plain(a) == plain(b) && !plain(a).empty());
  };
  auto found = std::search(text.begin(), text.end(), answer.begin(), answer.end());
  if (found == text.end()) found = std::search(text.begin(), text.end(), answer.begin(), answer.end(), alike);
  return found == text.end() ? -1 : found - text.begin();
}

struct WordRange {
  std::int64_t begin = 0, end = 0;
};

// The words in which the answer is written as a part of them, as "Park" is in "Park's"; a place that neither begins nor
// ends within letters or digits comes first. An empty range: none.
WordRange find_parts(std::span<const std::string> text, std::span<const std::string> answer) {
  const std::string whole = joined(text, " "), part = joined(answer, " ");
  const auto is_letter = [&](std::size_t at) {  // bytes of a character that is not ASCII count as letters
    const auto c = static_cast<unsigned char>(at < whole.size() ? whole[at] : ' ');
    return c >= 0x80 || std::isalnum(c);
  };
  std::size_t found = whole.find(part);
  for (std::size_t at = found; at != whole.npos; at = whole.find(part, at + 1)) {
    const std::size_t end = at + part.size();
    if ((at > 0 && is_letter(at - 1) && is_letter(at)) || (is_letter(end - 1) && is_letter(end))) continue;
    found = at;
    break;
  }
  if (found == whole.npos) return {};
  const auto word_at = [&](std::size_t at) { return std::count(whole.begin(), whole.begin() + at, ' '); };
  return {word_at(found), word_at(found + part.size()) + 1};
}

LabelledExample example_of(std::string question, std::string_view text, std::string_view answer, std::int64_t line,
                           const std::string& where) {
  LabelledExample example{split_words(text), {}, line};
  const std::vector<std::string> words = split_words(answer);
  check(!question.empty() && !words.empty(), where, "expected a question, a text and an answer, got an empty ",
        words.empty() ? "answer" : "question");
  const std::int64_t first = find_words(example.pieces, words);
  const WordRange found = first >= 0 ? WordRange{first, first + std::ssize(words)} : find_parts(example.pieces, words);
  check(found.begin < found.end, where, "the words \"", answer, "\" of the answer are not in the text");
  example.labels.resize(example.pieces.size());
  std::fill(example.labels.begin() + found.begin, example.labels.begin() + found.end, "answer");
  example.pieces.insert(example.pieces.begin(), std::move(question));
  example.labels.insert(example.labels.begin(), "");
  return example;
}

LabelledFile read_questions(const std::filesystem::path& path, const LabelledFileOptions& format) {
  LabelledTable table =
      read_table(path, {{"question", "text", "answer"}, "a question, a tab, a text, a tab and an answer"}, format);
  LabelledFile file{{}, std::move(table.header)};
  for (TableRow& row : table.rows) {
    file.examples.push_back(example_of(std::move(row.fields[0]), row.fields[1], row.fields[2], row.line,
                                       str_cat(path.string(), ":", row.line, ": ")));
  }
  return file;
}

LabelledExample parse_question(std::string_view line, const std::string& where) {
  const std::size_t tab = line.find('\t');
  const bool is_question =
      tab != line.npos && line.find('\t', tab + 1) == line.npos;  // a third field would be the answer
  check(is_question, where, "expected a question, a tab and a text, got \"", line, '"');
  LabelledExample example{split_words(line.substr(tab + 1)), {}};
  check(tab > 0 && !example.pieces.empty(), where, "expected a question and a text, got an empty ",
        tab > 0 ? "text" : "question");
  example.pieces.insert(example.pieces.begin(), std::string(line.substr(0, tab)));
  example.labels.resize(example.pieces.size());
  return example;
}

using Words = std::vector<std::string>;

Words gold_answer(const LabelledExample& example) {
  Words words;
  for (std::size_t i = 0; i < example.pieces.size(); ++i) {
    if (!example.labels[i].empty()) words.push_back(example.pieces[i]);
  }
  return words;
}

// The predicted words. Piece 0 of an example is the question, so word i is piece i + 1.
Words predicted_answer(const LabelledExample& example, std::span<const PredictedLabel> predicted) {
  return {example.pieces.begin() + 1 + predicted[0].label, example.pieces.begin() + 2 + predicted[1].label};
}

// Normalises words as Rajpurkar et al. (2016) do: in lower case, without punctuation, and without articles.
Words normalised(const Words& words) {
  Words result;
  for (const std::string& word : words) {
    const std::string item = plain(word);
    if (!item.empty() && item != "a" && item != "an" && item != "the") result.push_back(item);
  }
  return result;
}

// The F1 of two multisets of words: twice the number of common words, divided by the total number of words in both.
double overlap(Words a, Words b) {
  if (a.empty() && b.empty()) return 1;
  std::ranges::sort(a), std::ranges::sort(b);
  Words common;
  std::ranges::set_intersection(a, b, std::back_inserter(common));
  return 2.0 * static_cast<double>(common.size()) / static_cast<double>(a.size() + b.size());
}

TaskScore score_answers(std::span<const std::string>, std::span<const LabelledExample> examples,
                        std::span<const std::span<const PredictedLabel>> predicted) {
  double f1 = 0, exact = 0, answers = 0;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const Words gold = gold_answer(examples[i]);
    if (gold.empty()) continue;
    const Words right = normalised(gold), found = normalised(predicted_answer(examples[i], predicted[i]));
    f1 += overlap(right, found);
    exact += right == found;
    ++answers;
  }
  const double count = std::max(answers, 1.0);
  return {.metrics = {{"f1", f1 / count}, {"exact_match", exact / count}},
          .table_of = {},
          .table = {},
          .labels = {},
          .confusion = {}};
}

double probability_of(std::span<const PredictedLabel> predicted) {
  return predicted[0].probability() * predicted[1].probability();
}

std::string answer_text(std::span<const std::string>, const LabelledExample& example,
                        std::span<const PredictedLabel> predicted) {
  return str_cat(joined(predicted_answer(example, predicted), " "), '\t',
                 fmt::format("{:.4f}", probability_of(predicted)), '\n');
}

nlohmann::ordered_json answer_json(std::span<const std::string>, const LabelledExample& example,
                                   std::span<const PredictedLabel> predicted) {
  return {{"answer", joined(predicted_answer(example, predicted), " ")},
          {"first_word", predicted[0].label},
          {"last_word", predicted[1].label},
          {"probability", probability_of(predicted)}};
}

}  // namespace

LabelTask span_task() {
  return {.name = "span",
          .help = "the words of a text that answer a question",
          .metric_for_best_model = "f1",
          .extracts_span = true,
          .functions = {.read = read_questions,
                        .parse = parse_question,
                        .score = score_answers,
                        .text = answer_text,
                        .json = answer_json}};
}

}  // namespace tapeformer
