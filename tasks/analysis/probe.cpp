#include "tasks/analysis/probe.h"

#include <algorithm>
#include <map>

#include "autograd/ops/layers.h"
#include "autograd/ops/losses/losses.h"
#include "autograd/tape/tape.h"
#include "data/text/encode_text.h"
#include "nn/interfaces/layer_widths.h"
#include "nn/layers/layers.h"
#include "nn/layers/scalar_mix.h"
#include "nn/optim/optimizers.h"
#include "nn/optim/schedule.h"
#include "tasks/analysis/encoded_words.h"

namespace tapeformer {
namespace {

constexpr std::int64_t kSentences = 16;                 // sentences in one forward pass of the model
constexpr std::int64_t kScoredWords = 1024;             // words in one forward pass of the classifier
constexpr std::uint64_t kStream = mix64(0x70726f6265);  // "probe"
constexpr std::int32_t kUnknownLabel = -1;              // a label that does not occur in training

// The words of a sentence.
std::vector<std::string_view> words_of(const LabelledSentence& sentence) {
  std::vector<std::string_view> words;
  for (const LabelledWord& word : sentence) words.push_back(word.word);
  return words;
}

// The labels of the training text, in the order of their first occurrence.
class Labels {
 public:
  std::int32_t add(std::string_view label) {
    const auto [entry, is_new] = ids_.try_emplace(std::string(label), static_cast<std::int32_t>(names_.size()));
    if (is_new) names_.push_back(entry->first);
    return entry->second;
  }
  std::int32_t find(std::string_view label) const {
    const auto entry = ids_.find(label);
    return entry == ids_.end() ? kUnknownLabel : entry->second;
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::map<std::string, std::int32_t, std::less<>> ids_;
  std::vector<std::string> names_;
};

// The words that have a label: their vectors in each layer (N, F), and the ids of their labels.
struct WordVectors {
  std::vector<Tensor> layers;
  std::vector<std::int32_t> labels;
  std::int64_t tokens = 0, unknown_tokens = 0;  // of all sentences

  std::int64_t words() const { return std::ssize(labels); }
};

// Writes the mean of the rows [begin, end) of a sentence's vectors to `out`.
void write_mean(float* out, const float* rows, std::int64_t begin, std::int64_t end, std::int64_t dim) {
  std::fill(out, out + dim, 0.0f);
  for (std::int64_t t = begin; t < end; ++t) {
    for (std::int64_t i = 0; i < dim; ++i) out[i] += rows[t * dim + i] / static_cast<float>(end - begin);
  }
}

EncodedWords encode_sentence(const LabelledSentence& sentence, const std::string& file, const Model& model,
                             const Tokenizer& tokenizer, const RowFrame& frame) {
  const std::string where = str_cat(file, ':', sentence.front().line, ": ");
  EncodedWords encoded;
  try {
    encoded = encode_words(words_of(sentence), tokenizer, frame);
  } catch (const Error& error) {
    fail(where, error.what());
  }
  const std::int64_t length = std::ssize(encoded.ids);
  check(length <= model.context().value_or(length), where, "the sentence has ", length,
        " tokens, special ones included: the model reads at most ", model.context().value_or(0));
  return encoded;
}

// label_id(label) returns the id of a label.
template <class LabelId>
WordVectors vectors_of(const Model& model, const Tokenizer& tokenizer, const RowFrame& frame, const LabelledText& text,
                       const LabelId& label_id, const ProgressCallback& progress) {
  const std::span<const LabelledSentence> sentences = text.sentences();
  WordVectors result;
  for (const LabelledSentence& sentence : sentences) {
    for (const LabelledWord& word : sentence) {
      if (!word.label.empty()) result.labels.push_back(label_id(word.label));
    }
  }
  std::int64_t place = 0;  // index of the next word's vector
  for (std::size_t first = 0; first < sentences.size(); first += kSentences) {
    const auto part = sentences.subspan(first, std::min<std::size_t>(kSentences, sentences.size() - first));
    std::vector<EncodedWords> encoded;
    for (const LabelledSentence& sentence : part)
      encoded.push_back(encode_sentence(sentence, text.origin(), model, tokenizer, frame));
    std::vector<std::span<const std::int32_t>> rows;
    for (const EncodedWords& sentence : encoded) {
      rows.emplace_back(sentence.ids);
      result.tokens += std::ssize(sentence.ids);
      result.unknown_tokens += count_unknown(rows.back(), tokenizer);
    }
    Tape tape(no_grad);
    const std::vector<Variable> layers = model.hidden_states(padded_rows(tape, rows));
    std::int64_t next = place;
    for (std::size_t j = 0; j < layers.size(); ++j) {
      const Tensor vectors = layers[j].value().contiguous();
      const std::int64_t length = vectors.size(1), dim = vectors.size(2);
      if (first == 0) result.layers.push_back(Tensor::empty({result.words(), dim}, DType::f32));
      next = place;
      for (std::size_t row = 0; row < part.size(); ++row) {
        const float* const of_row = vectors.data<float>() + static_cast<std::int64_t>(row) * length * dim;
        for (std::size_t w = 0; w < part[row].size(); ++w) {
          if (part[row][w].label.empty()) continue;
          float* const out = result.layers[j].data<float>() + next++ * dim;
          write_mean(out, of_row, encoded[row].firsts[w], encoded[row].begins[w + 1], dim);
        }
      }
    }
    place = next;
    if (progress) progress(static_cast<double>(first + part.size()) / static_cast<double>(sentences.size()));
  }
  return result;
}

// softmax(W x + b) of the mixture x of the layers.
class Classifier : public Module {
 public:
  Classifier(std::int64_t layers, std::int64_t dim, std::int64_t labels)
      : mix_(layers, DType::f32), linear_(dim, labels, true, Init::zeros(), DType::f32, ParameterKind::head) {
    register_module("mix", mix_);
    register_module("linear", linear_);
    initialize_parameters(0);
  }
  // Layers (N, dim) → logits (N, labels).
  Variable forward(std::span<const Variable> layers) const { return linear_.forward(mix_.forward(layers)); }
  const ScalarMix& mix() const { return mix_; }

 private:
  ScalarMix mix_;
  Linear linear_;
};

// The logits of some of the words, (words, labels).
Variable logits_of(Tape& tape, const Classifier& classifier, const WordVectors& data,
                   std::span<const std::int32_t> words) {
  const Variable ids = Variable::constant(tape, Tensor::from(words, {std::ssize(words)}));
  std::vector<Variable> layers;
  for (const Tensor& layer : data.layers) layers.push_back(embedding(Variable::constant(tape, layer), ids));
  return classifier.forward(layers);
}

void train(const Classifier& classifier, const WordVectors& data, const ProbeOptions& options,
           const ProgressCallback& progress) {
  const ParameterSlab slab(classifier);
  const auto optimizer = make_optimizer("adamw", slab, {{"beta2", 0.999}, {"eps", 1e-8}, {"weight_decay", 0.0}});
  const ScheduleSpec schedule{.kind = ScheduleKind::cosine, .peak = options.lr, .total = options.steps};
  std::vector<std::int32_t> words(options.batch), targets(options.batch);
  for (std::int64_t step = 1; step <= options.steps; ++step) {
    RandomStream random({.seed = options.seed, .step = static_cast<std::uint32_t>(step), .stream = kStream});
    for (std::int64_t i = 0; i < options.batch; ++i) {
      words[i] = static_cast<std::int32_t>(random.below(data.words()));
      targets[i] = data.labels[words[i]];
    }
    slab.zero_grad();
    Tape tape;
    const Tensor labels = Tensor::from(std::span<const std::int32_t>(targets), {options.batch});
    tape.backward(cross_entropy(logits_of(tape, classifier, data, words), Variable::constant(tape, labels), {}));
    optimizer->step(learning_rate(schedule, step), step);
    if (progress) progress(static_cast<double>(step) / static_cast<double>(options.steps));
  }
}

double accuracy_of(const Classifier& classifier, const WordVectors& data) {
  std::int64_t right = 0;
  std::vector<std::int32_t> words;
  for (std::int64_t begin = 0; begin < data.words(); begin += kScoredWords) {
    words.clear();
    for (std::int64_t i = begin; i < std::min(data.words(), begin + kScoredWords); ++i) {
      words.push_back(static_cast<std::int32_t>(i));
    }
    Tape tape(no_grad);
    const Tensor logits = logits_of(tape, classifier, data, words).value().contiguous();
    const std::int64_t labels = logits.size(1);
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto row = logits.span<float>().subspan(static_cast<std::int64_t>(i) * labels, labels);
      right += std::ranges::max_element(row) - row.begin() == data.labels[words[i]];
    }
  }
  return static_cast<double>(right) / static_cast<double>(data.words());
}

// The share of the words of `valid` whose label is the most frequent label of `train`.
double majority_of(const WordVectors& train, const WordVectors& valid, std::size_t labels) {
  std::vector<std::int64_t> counts(labels, 0);
  for (const std::int32_t label : train.labels) ++counts[label];
  const auto most = static_cast<std::int32_t>(std::ranges::max_element(counts) - counts.begin());
  return static_cast<double>(std::ranges::count(valid.labels, most)) / static_cast<double>(valid.words());
}

void keep_layer(WordVectors& data, std::int64_t layer) { data.layers = {data.layers[layer]}; }

}  // namespace

ProbeResult probe(const Model& model, const Tokenizer& tokenizer, const RowFrame& frame, const LabelledText& train_text,
                  const LabelledText& valid_text, const ProbeOptions& options, const ProgressCallback& progress) {
  const std::vector<Tensor> layers = layers_of_one_token(model);
  const std::int64_t count = std::ssize(layers);
  if (options.layer && (*options.layer < 0 || *options.layer >= count))
    fail_usage("--layer: expected 0 (the embedding) to ", count - 1, ", got ", *options.layer);
  if (!options.layer) require_equal_widths(layers, "probe without a layer");
  Labels labels;
  const auto add = [&](std::string_view label) { return labels.add(label); };
  const auto find = [&](std::string_view label) { return labels.find(label); };
  WordVectors training = vectors_of(model, tokenizer, frame, train_text, add, progress);
  WordVectors validation = vectors_of(model, tokenizer, frame, valid_text, find, progress);
  if (options.layer) keep_layer(training, *options.layer), keep_layer(validation, *options.layer);
  const Classifier classifier(std::ssize(training.layers), training.layers.front().size(1), std::ssize(labels.names()));
  train(classifier, training, options, progress);

  ProbeResult result{.labels = labels.names(),
                     .train_words = training.words(),
                     .valid_words = validation.words(),
                     .unknown_labels = std::ranges::count(validation.labels, kUnknownLabel),
                     .tokens = training.tokens + validation.tokens,
                     .unknown_tokens = training.unknown_tokens + validation.unknown_tokens,
                     .accuracy = accuracy_of(classifier, validation),
                     .majority = majority_of(training, validation, labels.names().size()),
                     .shares = classifier.mix().shares(),
                     .gamma = classifier.mix().gamma.value().item()};
  if (options.layer) {  // with a single layer, the other layers have no share
    result.shares.assign(count, 0);
    result.shares[*options.layer] = 1;
  }
  return result;
}

}  // namespace tapeformer
