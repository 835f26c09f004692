#include "tasks/captioning/caption_data.h"

#include <limits>
#include <vector>

#include "core/error.h"
#include "tasks/text/sentence_tokenizer.h"

namespace tapeformer {
namespace {

CaptionedImages training_images(const ResolvedConfig& config) {
  const Config::Data& data = config.data;
  const std::int64_t size = config.model.options.integer("image_size");
  if (!data.images.empty()) return CaptionedImages::from_folder(data.images, size);
  return CaptionedImages::from_corpus(data.corpus, data.lines, static_cast<std::uint64_t>(data.seed), size);
}

struct ImageSplit {
  CaptionedImages train;
  std::optional<CaptionedImages> valid;
};

// Holds the last images out for validation, with all their captions, which need not follow each other.
ImageSplit split_images(const CaptionedImages& all, double valid_fraction) {
  std::vector<std::int64_t> captions_of_image(all.image_count(), 0);
  for (const CaptionedImages::Caption& caption : all.captions()) ++captions_of_image[caption.image];
  const auto wanted = static_cast<std::int64_t>(static_cast<double>(all.captions().size()) * (1 - valid_fraction));
  std::int64_t images = 0;  // of the training
  for (std::int64_t captions = 0; captions < wanted; ++images) captions += captions_of_image[images];
  check(images > 0, all.origin(), ": no caption is left to train on, all are for validation");
  ImageSplit split{all.part(0, images), std::nullopt};
  if (images < all.image_count()) split.valid = all.part(images, all.image_count());
  return split;
}

CaptionTokenizer make_caption_tokenizer(const ResolvedConfig& config, const ImageSplit& split,
                                        const ProgressMaker& progress) {
  const Config::Tokenizer& options = config.tokenizer;
  if (!options.file.empty()) return caption_tokenizer(Tokenizer::load(options.file), options.file);
  std::vector<std::string_view> texts;
  SkippedPairs skipped;
  const auto add = [&](const CaptionedImages& images) {
    for (const CaptionedImages::Caption& caption : images.captions()) {
      if (is_usable({caption.text, caption.text}, skipped)) texts.push_back(caption.text);
    }
  };
  add(split.train);
  check(!texts.empty(), split.train.origin(), ": none of ", split.train.captions().size(),
        " captions can be used: ", describe(skipped, {}));
  if (options.kind == TokenizerKind::character && split.valid) add(*split.valid);
  return caption_tokenizer(train_sentence_tokenizer(options, texts, progress), "tokenizer");
}

}  // namespace

CaptionTokenizer caption_tokenizer(std::shared_ptr<const Tokenizer> tokenizer, const std::string& origin) {
  const SentenceSymbols symbols = sentence_symbols(*tokenizer, origin);
  return {std::move(tokenizer), symbols};
}

std::int64_t max_caption_length(const ResolvedConfig& config) {
  constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
  const std::int64_t batch = config.train.batch_tokens > 0 ? config.train.batch_tokens : kNoLimit;
  return std::min(config.context().value_or(kNoLimit), batch) - 1;
}

EncodedCaptions encode_captions(CaptionedImages images, const CaptionTokenizer& tokenizer,
                                const ResolvedConfig& config) {
  EncodedCaptions result{std::move(images), {}, {}, {}};
  const std::int64_t most = max_caption_length(config);
  const auto captions = result.images.captions();
  for (std::int64_t i = 0; i < std::ssize(captions); ++i) {
    const CaptionedImages::Caption& caption = captions[i];
    if (!is_usable({caption.text, caption.text}, result.skipped)) continue;
    std::vector<std::int32_t> ids;
    try {
      ids = tokenizer.tokenizer->encode(caption.text);
    } catch (const Error& error) {
      fail(result.images.origin(), ": caption ", i + 1, ": ", error.what());
    }
    if (!is_usable(ids, ids, {most, most}, result.skipped)) continue;
    const auto image = static_cast<std::int32_t>(caption.image);
    result.pairs.add(std::span(&image, 1), ids, std::ssize(caption.text));
    result.captions.push_back(i);
  }
  check(result.pairs.size() > 0, result.images.origin(), ": none of ", captions.size(),
        " captions can be used: ", describe(result.skipped, {most, most}));
  return result;
}

Tensor image_batch(const CaptionedImages& images, std::span<const std::int64_t> indices) {
  const std::int64_t size = images.size(), plane = size * size;
  const Tensor batch = Tensor::empty({std::ssize(indices), 3, size, size}, DType::f32);
  float* out = batch.data<float>();
  for (const std::int64_t index : indices) {
    const std::span<const std::uint8_t> rgb = images.pixels(index);
    for (std::int64_t i = 0; i < 3 * plane; ++i)
      *out++ = static_cast<float>(rgb[i % plane * 3 + i / plane]) / 127.5f - 1;
  }
  return batch;
}

CaptionData prepare_caption_data(const ResolvedConfig& config, std::shared_ptr<const Tokenizer> tokenizer,
                                 const ProgressMaker& progress) {
  const std::int64_t size = config.model.options.integer("image_size");
  ImageSplit split = [&]() -> ImageSplit {
    CaptionedImages all = training_images(config);
    if (config.data.valid_images.empty()) return split_images(all, config.data.valid_fraction);
    return {std::move(all), CaptionedImages::from_folder(config.data.valid_images, size)};
  }();
  CaptionTokenizer words = tokenizer ? caption_tokenizer(std::move(tokenizer), "tokenizer")
                                     : make_caption_tokenizer(config, split, progress);
  CaptionData data{words, encode_captions(std::move(split.train), words, config), std::nullopt};
  if (split.valid) data.valid = encode_captions(std::move(*split.valid), words, config);
  return data;
}

}  // namespace tapeformer
