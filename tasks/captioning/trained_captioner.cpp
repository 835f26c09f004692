#include "tasks/captioning/trained_captioner.h"

#include "tasks/common/models.h"

namespace tapeformer {

template <>
TrainedCaptioner load_run(const RunSelection& source, const LoadOptions& options) {
  require_task(source, {"captioning"});
  return with_trained(source, options, [&](TrainedModel trained) -> TrainedCaptioner {
    const std::filesystem::path file = trained.run.tokenizer();
    CaptionTokenizer tokenizer = caption_tokenizer(Tokenizer::load(file), file.string());
    auto model = make_image_decoder(trained.config, model_vocabulary(trained.config, *tokenizer.tokenizer));
    load_model(trained, *model);
    return {std::move(trained), std::move(tokenizer), std::move(model)};
  });
}

}  // namespace tapeformer
