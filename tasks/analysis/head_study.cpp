#include "tasks/analysis/head_study.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "autograd/tape/tape.h"
#include "core/random.h"
#include "generate/alignment/teacher_forcing.h"
#include "nn/attention/attention.h"
#include "tasks/analysis/encoded_words.h"

namespace tapeformer {
namespace {

// A mean that is built up value by value.
struct RunningMean {
  double sum = 0;
  std::int64_t count = 0;

  void add(double value) { sum += value, ++count; }
  std::optional<double> mean() const { return count ? std::optional(sum / static_cast<double>(count)) : std::nullopt; }
};

// The scores of one head, built up row by row.
struct ScoreMeans {
  RunningMean previous, same_token, induction, first, distance;

  void add(std::span<const double> weights, std::span<const std::int32_t> ids) {
    const std::int64_t tokens = std::ssize(ids);
    for (std::int64_t i = 0; i < tokens; ++i) {
      const std::span<const double> row = weights.subspan(i * tokens, tokens);
      double far = 0, same = 0, after = 0;
      bool seen = false, known = false;
      for (std::int64_t j = 0; j < tokens; ++j) {
        far += row[j] * static_cast<double>(std::abs(i - j));
        if (j >= i || ids[j] != ids[i]) continue;
        seen = true, same += row[j];
        if (j + 1 < i) known = true, after += row[j + 1];
      }
      distance.add(far);
      if (i > 0) previous.add(row[i - 1]), first.add(row[0]);
      if (seen) same_token.add(same);
      if (known) induction.add(after);
    }
  }

  HeadScores scores() const {
    return {previous.mean(), same_token.mean(), induction.mean(), first.mean(), distance.mean()};
  }
};

// Calls read(layer, weights) with the weights (heads, T, T), f64, of each layer of self-attention that `forward` runs
// on one row. Layers count from `first`. Returns the number of the next layer.
template <class Forward, class Read>
std::int64_t read_weights(std::int64_t first, const Forward& forward, const Read& read) {
  std::int64_t layer = first;
  const TensorObserver observer = [&](std::string_view name, const std::function<Tensor()>& tensor) {
    if (name != kSelfAttentionWeights) return;
    const Tensor weights = tensor().to(DType::f64).contiguous();
    read(layer++, weights.reshape({weights.size(1), weights.size(2), weights.size(3)}));
  };
  Tape tape({.record = false, .observer = &observer});
  forward(tape);
  return layer;
}

std::span<const double> of_head(const Tensor& weights, std::int64_t head) {
  const auto size = static_cast<std::size_t>(weights.size(1) * weights.size(2));
  return weights.span<double>().subspan(head * size, size);
}

// Reads the rows of a text, and says what each head of self-attention looks at.
class HeadReader {
 public:
  explicit HeadReader(const Module& model) {
    for (const HeadIndex& index : all_heads(model)) {
      if (index.stack == "cross") continue;
      if (index.head == 0) layers_.emplace_back();
      layers_.back().emplace_back();
      heads_.push_back(index);
    }
  }

  template <class Forward>
  std::int64_t read(std::int64_t first_layer, std::span<const std::int32_t> ids, const Forward& forward) {
    return read_weights(first_layer, forward, [&](std::int64_t layer, const Tensor& weights) {
      for (std::size_t head = 0; head < layers_.at(layer).size(); ++head) {
        layers_[layer][head].add(of_head(weights, static_cast<std::int64_t>(head)), ids);
      }
    });
  }
  void store(std::vector<HeadReport>& heads) const {
    auto index = heads_.begin();
    for (const auto& layer : layers_) {
      for (const ScoreMeans& means : layer) {
        std::ranges::find(heads, *index++, &HeadReport::index)->scores = means.scores();
      }
    }
  }

 private:
  std::vector<std::vector<ScoreMeans>> layers_;
  std::vector<HeadIndex> heads_;
};

using Evaluate = std::function<Evaluation(const ProgressCallback& progress)>;

// Evaluates with all heads, and without each.
HeadStudy measure_rises(const Module& model, const Evaluate& evaluate, const ProgressMaker& progress) {
  const std::vector<HeadIndex> heads = all_heads(model);
  if (heads.empty()) fail_usage("heads: the model has no heads of attention");
  const ProgressCallback shown = start_progress(progress, "switching heads off");
  const double parts = static_cast<double>(heads.size()) + 1;
  double done = 0;
  const auto evaluate_part = [&] {
    const Evaluation result = evaluate([&](double share) {
      if (shown) shown((done + share) / parts);
    });
    require_finite(result);
    done += 1;
    return result;
  };
  HeadStudy study{.all = evaluate_part(), .heads = {}};
  for (const HeadIndex& index : heads) {
    const HeadAblation ablation(model, std::array{index});
    study.heads.push_back({.index = index, .loss_rise = evaluate_part().loss() - study.all.loss()});
  }
  return study;
}

void rank(HeadStudy& study) { std::ranges::stable_sort(study.heads, std::ranges::greater(), &HeadReport::loss_rise); }

// Stores in HeadReport::repeated the mean weights in rows "r r", where r are `length` different random tokens.
void read_repeated(const CausalModel& model, std::int64_t length, std::span<const std::int32_t> ordinary,
                   std::vector<HeadReport>& heads) {
  constexpr int kRows = 16;
  constexpr std::uint64_t kStream = 0x696e647563746f72;  // differs from the streams of ops
  RandomStream random(RandomKey{.stream = kStream});
  std::vector<RunningMean> means(heads.size());
  for (int row = 0; row < kRows; ++row) {
    std::vector<std::int32_t> ids(ordinary.begin(), ordinary.end());
    for (std::int64_t i = 0; i < length; ++i) std::swap(ids[i], ids[i + random.below(ids.size() - i)]);
    ids.resize(length);
    for (std::int64_t i = 0; i < length; ++i) ids.push_back(ids[i]);
    std::size_t next = 0;  // heads lie layer by layer
    read_weights(
        0, [&](Tape& tape) { model.forward(id_row(tape, ids)); },
        [&](std::int64_t, const Tensor& weights) {
          for (std::int64_t head = 0; head < weights.size(0); ++head, ++next) {
            const std::span<const double> matrix = of_head(weights, head);
            for (std::int64_t i = length; i < 2 * length; ++i) means[next].add(matrix[i * 2 * length + i - length + 1]);
          }
        });
  }
  for (std::size_t i = 0; i < heads.size(); ++i) heads[i].repeated = means[i].mean();
}

}  // namespace

HeadScores head_scores(const Tensor& weights, std::span<const std::int32_t> ids) {
  ScoreMeans means;
  means.add(weights.span<double>(), ids);
  return means.scores();
}

nlohmann::ordered_json head_json(const HeadReport& head) {
  using Json = nlohmann::ordered_json;
  const auto value = [](const std::optional<double>& score) { return score ? Json(*score) : Json(nullptr); };
  return {{"head", head_name(head.index)},
          {"loss_rise", head.loss_rise},
          {"previous", value(head.scores.previous)},
          {"same_token", value(head.scores.same_token)},
          {"induction", value(head.scores.induction)},
          {"induction_random", value(head.repeated)},
          {"first", value(head.scores.first)},
          {"distance", value(head.scores.distance)}};
}

HeadStudy study_heads(const CausalModel& model, std::span<const std::int32_t> ids, const WindowOptions& windows,
                      std::span<const std::int32_t> ordinary, const ProgressMaker& progress) {
  HeadStudy study = measure_rises(
      model, [&](const ProgressCallback& shown) { return evaluate(model, ids, windows, shown); }, progress);
  const std::int64_t context = window_context(model, windows.context);
  HeadReader reader(model);
  const ProgressCallback shown = start_progress(progress, "reading heads");
  for (std::int64_t begin = 0; begin < std::ssize(ids); begin += context) {
    const auto row = ids.subspan(begin, std::min(context, std::ssize(ids) - begin));
    reader.read(0, row, [&](Tape& tape) { model.forward(id_row(tape, row)); });
    if (shown) shown(static_cast<double>(begin + context) / static_cast<double>(std::ssize(ids)));
  }
  reader.store(study.heads);
  constexpr std::int64_t kMostRepeated = 64;
  const std::int64_t repeated = std::min({kMostRepeated, window_context(model, 0) / 4, std::ssize(ordinary)});
  if (repeated > 1) read_repeated(model, repeated, ordinary, study.heads);
  rank(study);
  return study;
}

HeadStudy study_heads(const MaskedLanguageModel& model, const MaskedBatcher& rows, const ProgressMaker& progress) {
  HeadStudy study = measure_rises(
      model, [&](const ProgressCallback& shown) { return evaluate(model, rows, 0, shown); }, progress);
  HeadReader reader(model);
  MaskedBatch row;
  for (std::int64_t window = 0; window < rows.windows(); ++window) {
    rows.plain(window, row);
    const auto ids = std::span<const std::int32_t>(row.ids).first(row.lengths[0]);
    reader.read(0, ids, [&](Tape& tape) {
      Batch text{.input_ids = id_row(tape, ids)};
      if (!row.segments.empty()) {
        const auto segments = std::span<const std::int32_t>(row.segments).first(ids.size());
        text.token_type_ids = Tensor::from(segments, {1, std::ssize(ids)});
      }
      model.features(text);
    });
  }
  reader.store(study.heads);
  rank(study);
  return study;
}

HeadStudy study_heads(const EncoderDecoder& model, const TokenPairs& pairs, const PairSymbols& symbols,
                      std::int64_t batch, const ProgressMaker& progress) {
  const PairBatchOptions options{.sentences = batch};
  HeadStudy study = measure_rises(
      model, [&](const ProgressCallback& shown) { return evaluate(model, pairs, symbols, options, 0, shown); },
      progress);
  HeadReader reader(model);
  const ProgressCallback shown = start_progress(progress, "reading heads");
  for (std::int64_t i = 0; i < pairs.size(); ++i) {
    const TeacherForcedPair pair = teacher_forced_pair(pairs.source(i), pairs.target(i), symbols);
    const std::int64_t decoder =
        reader.read(0, pair.source.ids.span<std::int32_t>(), [&](Tape& tape) { model.encode(tape, pair.source); });
    Tape quiet(no_grad);
    const EncoderOutput encoded = model.encode(quiet, pair.source);
    reader.read(decoder, pair.inputs.span<std::int32_t>(), [&](Tape& tape) {
      EncoderOutput here = encoded;
      here.hidden = Variable::constant(tape, encoded.hidden.value());
      model.decode(Variable::constant(tape, pair.inputs), here);
    });
    if (shown) shown(static_cast<double>(i + 1) / static_cast<double>(pairs.size()));
  }
  reader.store(study.heads);
  rank(study);
  return study;
}

}  // namespace tapeformer
