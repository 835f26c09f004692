#include "tasks/captioning/caption_evaluation.h"

#include <algorithm>
#include <cmath>

#include "autograd/tape/tape.h"
#include "tasks/translation/translation_evaluation.h"

namespace tapeformer {
namespace {

std::vector<std::string> words_of_text(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// Does the same as words_of_tokens() for a caption whose tokens do not give its text, since some are <unk>: encodes
// each word of the text to count its tokens.
std::vector<std::int64_t> words_of_encoded(const Tokenizer& tokenizer, const TokenizedCaption& caption) {
  std::vector<std::int64_t> numbers;
  const std::vector<std::string> words = words_of_text(caption.text);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto ids = i == 0 ? tokenizer.encode(words[i]) : tokenizer.encode_continuation(" " + words[i]);
    for (const std::int32_t id : ids) {
      const bool is_space = tokenizer.token_bytes(id) == " ";
      numbers.push_back(is_space ? -1 : static_cast<std::int64_t>(i));
    }
  }
  numbers.resize(caption.ids.size(), -1);
  return numbers;
}

// Returns for each token of a caption the number of the word that it belongs to; -1 for white space alone.
std::vector<std::int64_t> words_of_tokens(const Tokenizer& tokenizer, const TokenizedCaption& caption) {
  const std::span<const std::int32_t> ids = caption.ids;
  if (tokenizer.decode(ids) != caption.text) return words_of_encoded(tokenizer, caption);
  std::vector<std::int64_t> words;
  std::string before;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    std::string text = tokenizer.decode(ids.first(i + 1));
    const std::size_t begin = text.find_first_not_of(' ', std::min(before.size(), text.size()));
    words.push_back(begin == text.npos ? -1 : std::count(text.begin(), text.begin() + begin, ' '));
    before = std::move(text);
  }
  return words;
}

}  // namespace

CaptionTensors::CaptionTensors(Tape& tape, const PairBatch& batch, const CaptionedImages& images) {
  PairTensors tensors(tape, batch);
  inputs = tensors.inputs, targets = tensors.targets;
  std::vector<std::int64_t> indices;
  for (std::int64_t row = 0; row < batch.rows; ++row) indices.push_back(batch.source[row * batch.source_length]);
  source.images = image_batch(images, indices);
}

Evaluation evaluate_captions(const EncoderDecoder& model, const EncodedCaptions& captions,
                             const SentenceSymbols& symbols, const PairBatchOptions& batches, std::int64_t max_batches,
                             const ProgressCallback& progress, Communicator& ranks) {
  return evaluate_pairs(captions.pairs, {symbols, symbols}, batches, max_batches, progress, ranks,
                        [&](Tape& tape, const PairBatch& batch) {
                          const CaptionTensors tensors(tape, batch, captions.images);
                          return model.loss(tensors.source, tensors.inputs, tensors.targets, {.normalizer = 1});
                        });
}

std::vector<TokenizedCaption> captions_of(const EncoderDecoder& model, const CaptionedImages& images,
                                          std::span<const std::int64_t> indices, const CaptionTokenizer& tokenizer,
                                          const TranslateOptions& options, const ProgressCallback& progress) {
  const auto batch = [&](std::int64_t first, std::int64_t count) {
    return image_batch(images, indices.subspan(first, count));
  };
  std::vector<TokenizedCaption> captions;
  for (const std::vector<Hypothesis>& best :
       write_captions(model, batch, std::ssize(indices), tokenizer.symbols, options, progress)) {
    captions.push_back({best.front().ids, tokenizer.tokenizer->decode(best.front().ids)});
  }
  return captions;
}

CaptionAttention caption_attention(const EncoderDecoder& model, const Tensor& image, const TokenizedCaption& caption,
                                   const CaptionTokenizer& tokenizer, const AlignmentHeads& heads) {
  const std::vector<std::int32_t>& ids = caption.ids;
  std::vector<std::int32_t> inputs{tokenizer.symbols.begin};
  inputs.insert(inputs.end(), ids.begin(), ids.end());
  const Tensor row = Tensor::from(std::span<const std::int32_t>(inputs), {1, std::ssize(inputs)});
  const std::vector<std::vector<double>> weights = align(model, {{}, {}, image}, row, heads);
  CaptionAttention result{words_of_text(caption.text), {}, 0};
  const auto cells = static_cast<std::int64_t>(weights.front().size());
  result.side = std::llround(std::sqrt(static_cast<double>(cells)));
  result.weights.assign(result.words.size(), std::vector<double>(cells, 0));
  const std::vector<std::int64_t> words = words_of_tokens(*tokenizer.tokenizer, caption);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (words[i] < 0 || words[i] >= std::ssize(result.words)) continue;
    const double share = 1.0 / static_cast<double>(std::ranges::count(words, words[i]));
    for (std::int64_t cell = 0; cell < cells; ++cell) result.weights[words[i]][cell] += share * weights[i][cell];
  }
  return result;
}

LookedAt looked_at(const CaptionAttention& attention, const std::vector<std::optional<Place>>& places,
                   std::int64_t size) {
  LookedAt looked;
  for (std::size_t word = 0; word < std::min(places.size(), attention.weights.size()); ++word) {
    if (!places[word]) continue;
    const std::vector<double>& weights = attention.weights[word];
    const std::int64_t cell = std::ranges::max_element(weights) - weights.begin();
    const std::int64_t row = places[word]->y * attention.side / size, column = places[word]->x * attention.side / size;
    ++looked.words;
    looked.right += cell == row * attention.side + column;
  }
  return looked;
}

}  // namespace tapeformer
