#include "tasks/translation/trained_translator.h"

#include "tasks/common/models.h"

namespace tapeformer {

template <>
TrainedTranslator load_run(const RunSelection& source, const LoadOptions& options) {
  require_task(source, {"translation"});
  return with_trained(source, options, [&](TrainedModel trained) -> TrainedTranslator {
    PairTokenizers both = load_pair_tokenizers(trained.run, trained.config);
    auto model = make_encoder_decoder(trained.config, model_vocabulary(trained.config, *both.source, *both.target));
    load_model(trained, *model);
    return {std::move(trained), std::move(both), std::move(model)};
  });
}

}  // namespace tapeformer
