#include "train/tasks/labelled_rows.h"

#include <algorithm>
#include <cmath>

#include "autograd/ops/activations.h"
#include "autograd/tape/tape.h"
#include "core/ignored_target.h"
#include "train/encoded_words.h"

namespace tapeformer {

std::int64_t LabelledRow::scored() const { return std::ssize(targets) - std::ranges::count(targets, kIgnoredTarget); }

RowEncoder::RowEncoder(const Task& task, const TextEncoder& model, const Tokenizer& tokenizer,
                       std::span<const std::string> labels)
    : task_(task),
      tokenizer_(tokenizer),
      labels_(labels),
      symbols_(row_symbols(model, tokenizer)),
      context_(model.context()) {}

std::vector<LabelledRow> RowEncoder::encode(const LabelledExample& example, const std::string& where) const {
  const std::vector<std::string_view> pieces(example.pieces.begin(), example.pieces.end());
  const EncodedWords encoded = encode_words(pieces, tokenizer_, std::nullopt);
  const std::int64_t total = std::ssize(encoded.ids), marks = symbols_ ? 2 : 0;
  check(total > 0, where, "expected text, got none");
  const std::int64_t room = context_.value_or(total + marks) - marks;
  const std::int64_t parts = (total + room - 1) / room, enough = (total + parts - 1) / parts;

  std::vector<LabelledRow> rows;
  std::int64_t used = room;  // tokens of the text in the last row: none is begun
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::int64_t begin = encoded.begins[i], whole = encoded.begins[i + 1] - begin;
    const std::int64_t size = task_.pooled ? std::min(whole, room) : whole;
    check(size <= room, where, "\"", pieces[i], "\" has ", size, " tokens, the model reads at most ", room);
    if (used + size > room || used >= enough) {
      if (symbols_ && !rows.empty()) rows.back().ids.push_back(symbols_->separator);
      rows.emplace_back();
      if (symbols_) rows.back().ids.push_back(symbols_->classification);
      used = 0;
    }
    LabelledRow& row = rows.back();
    const std::int64_t first = std::ssize(row.ids), whole_text = symbols_ ? 0 : first + size - 1;
    row.places.push_back(task_.pooled ? whole_text : first);
    row.ids.insert(row.ids.end(), encoded.ids.begin() + begin, encoded.ids.begin() + begin + size);
    used += size;
    const auto label = std::ranges::find(labels_, example.labels[i]);
    const bool known = label != labels_.end();
    row.targets.push_back(known ? static_cast<std::int32_t>(label - labels_.begin()) : kIgnoredTarget);
  }
  if (symbols_) rows.back().ids.push_back(symbols_->separator);
  return rows;
}

std::vector<LabelledRow> RowEncoder::encode_all(std::span<const LabelledExample> examples,
                                                const std::string& origin) const {
  std::vector<LabelledRow> rows;
  std::int64_t number = 0;
  for (const LabelledExample& example : examples) {
    for (LabelledRow& row : encode(example, str_cat(origin, ": example ", ++number, ": "))) {
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

LabelledBatch batch_of(Tape& tape, std::span<const LabelledRow* const> rows) {
  std::vector<std::span<const std::int32_t>> ids;
  for (const LabelledRow* row : rows) ids.emplace_back(row->ids);
  LabelledBatch batch{.rows = padded_rows(tape, ids), .places = {}, .targets = {}};
  const std::int64_t length = batch.rows.ids.size(1);
  std::vector<std::int32_t> places;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const std::int64_t place : rows[i]->places) {
      places.push_back(static_cast<std::int32_t>(static_cast<std::int64_t>(i) * length + place));
    }
    batch.targets.insert(batch.targets.end(), rows[i]->targets.begin(), rows[i]->targets.end());
  }
  batch.places = Tensor::from(std::span<const std::int32_t>(places), {std::ssize(places)});
  return batch;
}

std::vector<PredictedLabel> predict_labels(const LabellingModel& model, std::span<const LabelledRow> rows,
                                           std::int64_t batch, const ProgressCallback& progress) {
  std::vector<PredictedLabel> predicted;
  for (std::size_t begin = 0; begin < rows.size(); begin += batch) {
    const std::size_t end = std::min<std::size_t>(rows.size(), begin + batch);
    std::vector<const LabelledRow*> part;
    for (const LabelledRow& row : rows.subspan(begin, end - begin)) part.push_back(&row);
    Tape tape(no_grad);
    const LabelledBatch asked = batch_of(tape, part);
    const Tensor p = softmax(model.logits(asked.rows, asked.places)).value().to(DType::f64).contiguous();
    const std::span<const double> all = p.span<double>();
    for (std::size_t i = 0; i < asked.targets.size(); ++i) {
      const auto of_piece = all.subspan(i * model.labels(), model.labels());
      predicted.push_back({std::ranges::max_element(of_piece) - of_piece.begin(), {of_piece.begin(), of_piece.end()}});
    }
    if (progress) progress(static_cast<double>(end) / static_cast<double>(rows.size()));
  }
  return predicted;
}

TaskEvaluation evaluate(const LabellingModel& model, const Task& task, std::span<const std::string> labels,
                        std::span<const LabelledExample> examples, std::span<const LabelledRow> rows,
                        std::int64_t batch, const ProgressCallback& progress) {
  const std::vector<PredictedLabel> predicted = predict_labels(model, rows, batch, progress);
  TaskEvaluation result;
  std::size_t next = 0;
  for (const LabelledRow& row : rows) {
    for (const std::int32_t target : row.targets) {
      const PredictedLabel& prediction = predicted[next++];
      if (target == kIgnoredTarget) continue;
      result.evaluation.nats -= std::log(prediction.probabilities[target]);
      ++result.evaluation.tokens;
    }
  }
  std::vector<std::vector<std::string_view>> names;
  next = 0;
  for (const LabelledExample& example : examples) {
    std::vector<std::string_view>& of_example = names.emplace_back();
    for (std::size_t i = 0; i < example.pieces.size(); ++i) of_example.push_back(labels[predicted[next++].label]);
  }
  check(result.evaluation.tokens > 0, "evaluation: the examples have no label that training knows");
  result.score = task.score(labels, examples, names);
  result.evaluation.measures = result.score.measures;
  result.evaluation.chosen_by = task.measure;
  return result;
}

}  // namespace tapeformer
