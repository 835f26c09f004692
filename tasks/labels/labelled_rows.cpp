#include "tasks/labels/labelled_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

#include "autograd/ops/activations.h"
#include "autograd/ops/views.h"
#include "autograd/tape/tape.h"
#include "core/ignored_target.h"
#include "core/parallel.h"
#include "data/text/encode_text.h"

namespace tapeformer {

std::int64_t LabelledRow::scored() const { return std::ssize(targets) - std::ranges::count(targets, kIgnoredTarget); }

RowEncoder::RowEncoder(const LabelTask& task, const Model& model, const Tokenizer& tokenizer,
                       std::span<const std::string> labels)
    : task_(task),
      tokenizer_(tokenizer),
      labels_(labels),
      symbols_(row_symbols(model, tokenizer)),
      context_(model.context()),
      is_causal_(model.is_causal()) {}

std::int64_t RowEncoder::position_in_piece(const EncodedWords& encoded, std::size_t piece) const {
  const std::int64_t position = is_causal_ ? encoded.begins[piece + 1] - 1 : encoded.firsts[piece];
  return position - encoded.begins[piece];
}

EncodedWords RowEncoder::encode_pieces(const LabelledExample& example, const std::string& where) const {
  const std::vector<std::string_view> pieces(example.pieces.begin(), example.pieces.end());
  try {
    return encode_words(pieces, tokenizer_);
  } catch (const Error& error) {
    fail(where, error.what());
  }
}

std::vector<LabelledRow> RowEncoder::encode(const LabelledExample& example, const std::string& where) const {
  if (task_.extracts_span) return {encode_question(example, where)};
  const std::span<const std::string> pieces = example.pieces;
  const EncodedWords encoded = encode_pieces(example, where);
  const std::int64_t total = std::ssize(encoded.ids), special = symbols_ ? 2 : 0;
  check(total > 0, where, "expected text, got none");
  const std::int64_t room = context_.value_or(total + special) - special;
  const std::int64_t parts = chunk_count(total, room), enough = chunk_count(total, parts);

  std::vector<LabelledRow> rows;
  std::int64_t used = room;  // the text's tokens in the last row; at first there is no row
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::int64_t begin = encoded.begins[i], whole = encoded.begins[i + 1] - begin;
    const std::int64_t size = task_.pooled ? std::min(whole, room) : whole;
    check(size <= room, where, "\"", pieces[i], "\" has ", size, " tokens, the model reads at most ", room);
    if (used + size > room || used >= enough) {
      if (symbols_ && !rows.empty()) rows.back().ids.push_back(symbols_->separator);
      rows.emplace_back().line = example.line;
      if (symbols_) rows.back().ids.push_back(symbols_->classification);
      used = 0;
    }
    LabelledRow& row = rows.back();
    const std::int64_t first = std::ssize(row.ids), whole_text = symbols_ ? 0 : first + size - 1;
    row.positions.push_back(task_.pooled ? whole_text : first + position_in_piece(encoded, i));
    row.ids.insert(row.ids.end(), encoded.ids.begin() + begin, encoded.ids.begin() + begin + size);
    used += size;
    row.cut += whole - size;
    const auto label = std::ranges::find(labels_, example.labels[i]);
    const bool known = label != labels_.end();
    row.unknown += !known && !example.labels[i].empty();
    row.targets.push_back(known ? static_cast<std::int32_t>(label - labels_.begin()) : kIgnoredTarget);
  }
  if (symbols_) rows.back().ids.push_back(symbols_->separator);
  return rows;
}

LabelledRow RowEncoder::encode_question(const LabelledExample& example, const std::string& where) const {
  const EncodedWords encoded = encode_pieces(example, where);
  const std::int64_t question = encoded.begins[1], special = symbols_ ? 3 : 0;
  // The number of tokens of the question and the text that fit.
  const std::int64_t room = context_.value_or(std::ssize(encoded.ids) + special) - special;
  const auto tokens = [&](std::int64_t begin, std::int64_t end) {
    return std::span(encoded.ids).subspan(begin, end - begin);
  };
  LabelledRow row;
  row.line = example.line;
  const auto append = [&](std::span<const std::int32_t> ids) { row.ids.insert(row.ids.end(), ids.begin(), ids.end()); };
  if (symbols_) row.ids.push_back(symbols_->classification);
  append(tokens(0, question));
  if (symbols_) row.ids.push_back(symbols_->separator);
  std::int32_t first = kIgnoredTarget, last = kIgnoredTarget;
  bool whole = true;  // whether the row contains the whole answer, as far as it is known
  for (std::size_t i = 1; i < example.pieces.size(); ++i) {
    const bool answers = !example.labels[i].empty();
    if (encoded.begins[i + 1] > room) {
      whole = whole && !answers;
      row.cut += encoded.begins[i + 1] - encoded.begins[i];
      continue;
    }
    if (answers) {
      last = static_cast<std::int32_t>(row.positions.size());
      if (first == kIgnoredTarget) first = last;
    }
    row.positions.push_back(std::ssize(row.ids) + position_in_piece(encoded, i));
    append(tokens(encoded.begins[i], encoded.begins[i + 1]));
  }
  check(!row.positions.empty(), where, "the question has ", question, " tokens, and no word of a text behind it ",
        context_ ? str_cat("fits into the model's context, ", *context_) : "was given");
  if (symbols_) row.ids.push_back(symbols_->separator);
  row.targets = whole ? std::vector{first, last} : std::vector{kIgnoredTarget, kIgnoredTarget};
  row.unknown = whole ? 0 : 2;
  return row;
}

std::string place_of(const LabelledExample& example, const std::string& origin, std::int64_t index) {
  return example.line > 0 ? str_cat(origin, ":", example.line, ": ") : str_cat(origin, ": example ", index + 1, ": ");
}

std::vector<LabelledRow> RowEncoder::encode_all(std::span<const LabelledExample> examples,
                                                const std::string& origin) const {
  std::vector<LabelledRow> rows;
  std::int64_t index = 0;
  for (const LabelledExample& example : examples) {
    std::ranges::move(encode(example, place_of(example, origin, index++)), std::back_inserter(rows));
  }
  return rows;
}

std::vector<std::string> row_notes(const LabelTask& task, std::span<const LabelledRow> rows,
                                   const std::string& origin) {
  std::vector<std::string> notes;
  const auto first = [&](std::int64_t LabelledRow::*count) {
    const auto row = std::ranges::find_if(rows, [&](const LabelledRow& each) { return each.*count > 0; });
    return str_cat(origin, row->line > 0 ? str_cat(":", row->line) : "");
  };
  std::int64_t cut = 0, labels = 0, unknown = 0;
  for (const LabelledRow& row : rows) {
    cut += row.cut > 0;
    labels += row.scored() + row.unknown;
    unknown += row.unknown;
  }
  if (cut > 0) {
    notes.push_back(str_cat(origin, ": ", cut, " of ", rows.size(),
                            " texts are longer than the model's context, and only their beginning is read (the first: ",
                            first(&LabelledRow::cut), ")"));
  }
  if (unknown > 0) {
    const std::int64_t each = task.extracts_span ? 2 : 1;  // an answer has two labels, its first and its last word
    notes.push_back(str_cat(origin, ": ", unknown / each, " of ", labels / each,
                            task.extracts_span ? " answers are beyond what is read: the loss leaves them out"
                                               : " labels are none that training has: they count as wrong",
                            " (the first: ", first(&LabelledRow::unknown), ")"));
  }
  return notes;
}

std::optional<std::string> unknown_note(std::span<const LabelledRow> rows, const Tokenizer& tokenizer,
                                        const std::string& origin, double share) {
  std::int64_t unknown = 0, tokens = 0;
  for (const LabelledRow& row : rows) unknown += count_unknown(row.ids, tokenizer), tokens += std::ssize(row.ids);
  return unknown_note(unknown, tokens, tokenizer, origin, share);
}

LabelledBatch batch_of(Tape& tape, std::span<const LabelledRow* const> rows) {
  std::vector<std::span<const std::int32_t>> ids;
  for (const LabelledRow* row : rows) ids.emplace_back(row->ids);
  LabelledBatch batch{.rows = padded_rows(tape, ids), .positions = {}, .targets = {}, .counts = {}};
  const std::int64_t length = batch.rows.input_ids.size(1);
  std::vector<std::int32_t> positions;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const std::int64_t position : rows[i]->positions) {
      positions.push_back(static_cast<std::int32_t>(static_cast<std::int64_t>(i) * length + position));
    }
    batch.counts.push_back(std::ssize(rows[i]->positions));
    batch.targets.insert(batch.targets.end(), rows[i]->targets.begin(), rows[i]->targets.end());
  }
  batch.positions = Tensor::from(std::span<const std::int32_t>(positions), {std::ssize(positions)});
  return batch;
}

std::vector<Variable> span_logits(const Variable& logits, const LabelledBatch& batch) {
  std::vector<Variable> of_rows;
  std::int64_t begin = 0;
  for (const std::int64_t count : batch.counts) {
    of_rows.push_back(transpose(slice(logits, 0, begin, begin + count), 0, 1));
    begin += count;
  }
  return of_rows;
}

namespace {

// Appends a prediction for each row of logits. The softmax is computed in f64, since in f32 a probability of 1e-60
// would become 0, whose loss is infinite.
void append_predictions(Tape& tape, const Variable& logits, std::vector<PredictedLabel>& predicted) {
  const Tensor p = softmax(Variable::constant(tape, logits.value().to(DType::f64))).value();
  const std::int64_t choices = p.size(1);
  for (std::int64_t i = 0; i < p.size(0); ++i) {
    const auto row = p.span<double>().subspan(i * choices, choices);
    predicted.push_back({std::ranges::max_element(row) - row.begin(), {row.begin(), row.end()}});
  }
}

// Chooses the most probable pair of a first and a last piece, where the last one does not precede the first.
void choose_span(PredictedLabel& first, PredictedLabel& last) {
  double best = -1;
  std::size_t begin = 0;  // the most probable first piece up to `end`
  for (std::size_t end = 0; end < last.probabilities.size(); ++end) {
    if (first.probabilities[end] > first.probabilities[begin]) begin = end;
    const double both = first.probabilities[begin] * last.probabilities[end];
    if (both <= best) continue;
    best = both;
    first.label = static_cast<std::int64_t>(begin), last.label = static_cast<std::int64_t>(end);
  }
}

// Gathers the predictions of all ranks, in the order of the ranks.
std::vector<PredictedLabel> gather_predictions(const std::vector<PredictedLabel>& own, Communicator& ranks) {
  std::vector<double> numbers;  // for each prediction: the label, the number of probabilities, and the probabilities
  for (const PredictedLabel& prediction : own) {
    numbers.push_back(static_cast<double>(prediction.label));
    numbers.push_back(static_cast<double>(prediction.probabilities.size()));
    numbers.insert(numbers.end(), prediction.probabilities.begin(), prediction.probabilities.end());
  }
  std::vector<PredictedLabel> all;
  const std::string_view bytes(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double));
  for (const std::string& text : ranks.gather(bytes)) {
    numbers.resize(text.size() / sizeof(double));
    std::memcpy(numbers.data(), text.data(), text.size());
    for (auto at = numbers.begin(); at != numbers.end();) {
      PredictedLabel prediction{.label = static_cast<std::int64_t>(*at++), .probabilities = {}};
      const auto count = static_cast<std::ptrdiff_t>(*at++);
      prediction.probabilities.assign(at, at + count);
      at += count;
      all.push_back(std::move(prediction));
    }
  }
  return all;
}

}  // namespace

std::vector<PredictedLabel> predict_labels(const EncoderForClassification& model, const LabelTask& task,
                                           std::span<const LabelledRow> rows, std::int64_t batch,
                                           const ProgressCallback& progress, Communicator& ranks) {
  std::vector<PredictedLabel> predicted;
  for_own_batches(chunk_count(std::ssize(rows), batch), ranks, progress, [&](std::int64_t i) {
    const std::int64_t begin = i * batch, end = std::min(std::ssize(rows), begin + batch);
    std::vector<const LabelledRow*> part;
    for (const LabelledRow& row : rows.subspan(begin, end - begin)) part.push_back(&row);
    Tape tape(no_grad);
    const LabelledBatch asked = batch_of(tape, part);
    const Variable logits = model.logits(asked.rows, asked.positions);
    if (task.extracts_span) {
      for (const Variable& of_row : span_logits(logits, asked)) {
        append_predictions(tape, of_row, predicted);
        choose_span(predicted.end()[-2], predicted.end()[-1]);
      }
    } else {
      append_predictions(tape, logits, predicted);
    }
  });
  return ranks.size() == 1 ? predicted : gather_predictions(predicted, ranks);
}

TaskEvaluation evaluate(const EncoderForClassification& model, const LabelTask& task,
                        std::span<const std::string> labels, std::span<const LabelledExample> examples,
                        std::span<const LabelledRow> rows, std::int64_t batch, const ProgressCallback& progress,
                        Communicator& ranks) {
  const std::vector<PredictedLabel> predicted = predict_labels(model, task, rows, batch, progress, ranks);
  TaskEvaluation result;
  std::size_t next = 0;
  for (const LabelledRow& row : rows) {
    result.unknown_labels += row.unknown;
    for (const std::int32_t target : row.targets) {
      const PredictedLabel& prediction = predicted[next++];
      if (target == kIgnoredTarget) continue;
      result.evaluation.nats -= std::log(prediction.probabilities[target]);
      ++result.evaluation.tokens;
    }
  }
  std::vector<std::span<const PredictedLabel>> of_examples;
  next = 0;
  for (const LabelledExample& example : examples) {
    of_examples.push_back(std::span(predicted).subspan(next, task.predictions(example)));
    next += task.predictions(example);
  }
  check(result.evaluation.tokens > 0, "evaluation: the examples have no ",
        task.extracts_span ? "answer within what is read" : "label that training knows");
  result.score = task.functions.score(labels, examples, of_examples);
  result.evaluation.metrics = result.score.metrics;
  result.evaluation.metric_for_best_model = task.metric_for_best_model;
  return result;
}

}  // namespace tapeformer
