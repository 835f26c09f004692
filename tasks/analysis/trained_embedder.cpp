#include "tasks/analysis/trained_embedder.h"

#include "core/error.h"
#include "nn/models/registry.h"
#include "tasks/common/models.h"
#include "tasks/translation/translation_data.h"

namespace tapeformer {

template <>
TrainedEmbedder load_run(const RunSelection& source, const LoadOptions& options) {
  return with_trained(source, options, [&](TrainedModel trained) {
    TrainedEmbedder embedder{std::move(trained), {}, {}, {}};
    const ResolvedConfig& config = embedder.config;
    require_no_labels(source, config, "a model before fine-tuning");
    const ModelFamily& family = config.family();
    check(family.reads_text() || family.is_encoder_decoder(), embedder.run.root.string(), ": the model is a ",
          family.name, ", expected one that gives the tokens of a text vectors; ", config.task_row().commands);
    ModelVocabulary vocabulary;
    std::optional<std::int32_t> end;  // the end token of a source
    if (family.is_encoder_decoder()) {
      const PairTokenizers both = load_pair_tokenizers(embedder.run, config);
      embedder.tokenizer = both.source;
      end = both.symbols.source.end;
      vocabulary = model_vocabulary(config, *both.source, *both.target);
    } else {
      embedder.tokenizer = Tokenizer::load(embedder.run.tokenizer());
      vocabulary = model_vocabulary(config, *embedder.tokenizer);
    }
    embedder.model = make_model_with_heads(config, vocabulary);
    load_model(embedder, *embedder.model);
    static_cast<RowFrame&>(embedder) = row_frame(*embedder.model, *embedder.tokenizer);
    if (end) embedder.suffix = {*end};
    const std::vector<std::int32_t> before = text_prefix(embedder, *embedder.tokenizer);
    embedder.prefix.insert(embedder.prefix.end(), before.begin(), before.end());
    return embedder;
  });
}

}  // namespace tapeformer
