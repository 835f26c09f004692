#include "nn/models/vit.h"

#include "autograd/ops/convolution.h"
#include "autograd/ops/views.h"
#include "autograd/tape/tape.h"
#include "nn/interfaces/scored_lengths.h"
#include "nn/models/shared/tied_embeddings.h"
#include "nn/models/shared/transformer_keys.h"

namespace tapeformer {
namespace {

constexpr double kEmbeddingStd = 0.02;  // of words and positions, as in BERT (Devlin et al. 2019)

std::int64_t patch_side(const ImageShape& image) {
  if (image.size % image.cells != 0) {
    fail_usage("model.image_size: expected a multiple of model.cells, which is ", image.cells, ", got ", image.size);
  }
  return image.size / image.cells;
}

std::int64_t patch_pixels(const ImageShape& image) {
  const std::int64_t side = patch_side(image);
  return kImageChannels * side * side;
}

}  // namespace

Vit::Vit(const VitConfig& config)
    : CaptionModel({.image = config.image,
                    .name = "vit",
                    .target_vocab = config.vocab,
                    .dim = config.block.dim,
                    .tied = config.tied,
                    .embedding_init = Init::normal(kEmbeddingStd),
                    .head_init = config.block.init,
                    .head_bias = false,
                    .softcap = config.logit_softcap,
                    .dtype = config.block.dtype}),
      config_(config),
      patch_embedding_(patch_pixels(config.image), config.block.dim, /*with_bias=*/true, config.block.init,
                       config.block.dtype),
      source_positions_(config.position, config.image.cells * config.image.cells, config.block.dim,
                        Init::normal(kEmbeddingStd), config.block.dtype),
      target_positions_(config.position, config.context, config.block.dim, Init::normal(kEmbeddingStd),
                        config.block.dtype),
      dropout_(config.block.dropout),
      encoder_(config.block, config.encoder_layers, config.position),
      decoder_(config.block, config.layers, config.position, /*cross=*/true) {
  register_module("patches", patch_embedding_);
  register_module("target_embedding", embedding_);
  register_module("source_position_embedding", source_positions_);
  register_module("target_position_embedding", target_positions_);
  register_module("encoder", encoder_);
  register_module("decoder", decoder_);
  register_module("head", head_);
}

EncoderOutput Vit::read(const Variable& images, std::vector<Variable>* layers) const {
  const std::int64_t side = patch_side(config_.image), count = config_.image.cells * config_.image.cells;
  const Variable pixels = reshape(unfold(images, {side, side, 0}), {images.size(0), count, -1});
  const Variable x = dropout_.forward(source_positions_.add_to(patch_embedding_.forward(pixels), {}));
  if (layers) layers->push_back(x);
  const Tensor lengths = equal_lengths(images.size(0), count);
  return {encoder_.forward(x, {.mask = {.causal = false}}, nullptr, layers), lengths};
}

Variable Vit::decode_rows(const Variable& ids, const Tensor& lengths, const EncoderOutput& source, Cache* cache) const {
  auto* const own = own_cache<StackCache>(cache, "vit");
  check(ids.value().rank() == 2, "vit: expected target ids (R, T), got ", ids.sizes());
  const Positions positions{.first = own ? own->length() : 0};
  return call([&] {
    const Variable words = embedding_.forward(ids, config_.embedding_scale);
    const Variable x = dropout_.forward(target_positions_.add_to(words, positions));
    return decoder_.forward(x, {.lengths = lengths, .positions = positions, .encoded = source}, own);
  });
}

Variable Vit::loss(const SourceBatch& source, const Variable& inputs, const Variable& targets,
                   const CrossEntropyOptions& options) const {
  const EncoderOutput encoded = encode(*inputs.tape(), source);
  return head_.loss(decode_rows(inputs, scored_lengths(targets.value()), encoded, nullptr), targets.value(), options);
}

namespace {

std::vector<Key> vit_keys() {
  std::vector<Key> keys =
      transformer_keys({.norm = NormPlace::pre, .activation = ActivationKind::gelu, .position = PositionKind::learned});
  keys.push_back(image_size_key());
  keys.push_back({"cells", std::int64_t{4}, "patches to a side of the image", between(1, kMaxSize)});
  keys.push_back(
      {"encoder_layers", std::int64_t{0}, "blocks of the encoder of patches (0 = layers)", between(0, kMaxLayers)});
  keys.back().follows = "model.layers";
  keys.push_back(tied_key(TiedEmbeddings::output));
  keys.push_back(attention_window_key());
  return keys;
}

void resolve_vit(KeyValues& options, bool) {
  if (options.integer("encoder_layers") == 0) options.set("encoder_layers", options.integer("layers"));
  resolve_transformer_keys(options);
  resolve_tied(options);
  patch_side({options.integer("image_size"), options.integer("cells")});
}

std::unique_ptr<EncoderDecoder> make_vit(const KeyValues& options, const ModelVocabulary& vocabulary) {
  VitConfig config{.vocab = vocabulary.target,
                   .image = {options.integer("image_size"), options.integer("cells")},
                   .context = options.integer("context"),
                   .layers = options.integer("layers"),
                   .encoder_layers = options.integer("encoder_layers"),
                   .block = block_config(options),
                   .position = position_config(options),
                   .embedding_scale = embedding_scale(options, 1),
                   .tied = ties_embeddings(options),
                   .logit_softcap = options.number("logit_softcap")};
  config.block.attention_window = options.integer("attention_window");
  return std::make_unique<Vit>(config);
}

// A product costs two operations per weight. The patches are read once for the `length` tokens of the caption.
ForwardFlops vit_flops(const KeyValues& options, const Module& model, const ModelVocabulary& vocabulary,
                       std::int64_t length) {
  const std::int64_t cells = options.integer("cells"), patches = cells * cells, layers = options.integer("layers");
  const double share = static_cast<double>(patches) / static_cast<double>(std::max<std::int64_t>(length, 1));
  const auto weights = [&](const char* part) { return 2 * static_cast<double>(model.parameter_count(part)); };
  const double encoder = weights("patches.") + weights("encoder.") +
                         static_cast<double>(options.integer("encoder_layers")) * attention_flops(options, patches);
  const double decoder = weights("decoder.") + static_cast<double>(layers) * (attention_flops(options, patches) +
                                                                              causal_attention_flops(options, length));
  return {.blocks = share * encoder + decoder,
          .other = 2 * static_cast<double>(vocabulary.target * options.integer("dim")),
          .count = layers};
}

}  // namespace

ModelFamily vit_family() {
  return {.name = "vit",
          .help = "captions of images: an encoder of patches (Dosovitskiy et al. 2021), and a Transformer's decoder",
          .task = "captioning",
          .keys = vit_keys(),
          .resolve = resolve_vit,
          .make = ImageDecoderMaker{make_vit},
          .parts = {{"patches", "patches", {"patches."}},
                    {"embeddings", "embeddings", {"target_embedding."}},
                    {"positions", "position embeddings", {"source_position_embedding.", "target_position_embedding."}},
                    {"encoder", "encoder", {"encoder."}},
                    {"decoder", "decoder", {"decoder."}},
                    {"head", "head", {"head."}}},
          .flops = vit_flops,
          .recomputes = true};
}

}  // namespace tapeformer
