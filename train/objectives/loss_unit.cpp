#include "train/objectives/loss_unit.h"

namespace tapeformer {

std::string_view loss_unit(const ResolvedConfig& config) {
  if (config.has_task()) return "nats per label";
  switch (config.family().task()) {
    case ModelTask::masked_language_model:
      return "nats per chosen token";
    case ModelTask::skip_gram_model:
      return "nats per pair";
    default:
      return "nats per token";
  }
}

}  // namespace tapeformer
