// Plans with a speed that the tests say.
#pragma once

#include <vector>

#include "nn/module/module.h"
#include "tasks/plan/plan.h"

namespace tapeformer {

// A machine on which a step takes 6 operations for each parameter and token, at so many operations a second.
struct FakeMachine {
  double flops = 20e9;
  int most = 1000;                            // measurements for which there is time
  double f32 = 1, bf16 = 1;                   // how many times a step in f32, or in bf16, takes
  std::vector<ResolvedConfig> measured = {};  // in this order
  int busy = -1;                              // the measurement that takes three times as long as it should

  StepTimer timer() {
    return [this](const ResolvedConfig& config) -> std::optional<double> {
      if (std::ssize(measured) >= most) return std::nullopt;
      const double waiting = std::ssize(measured) == busy ? 3 : 1;
      measured.push_back(config);
      const ShapesOnly shapes;
      const auto model = config.family().make_module(config.model.options, {.source = 1000, .target = 1000});
      const double rows = static_cast<double>(config.train.batch * config.train.accumulate);
      const double tokens = config.train.batch_tokens > 0
                                ? static_cast<double>(config.train.batch_tokens * config.train.accumulate)
                                : rows * static_cast<double>(config.block_size());
      const double times = config.train.matmul == MatmulSetting::highest  ? f32
                           : config.train.matmul == MatmulSetting::medium ? bf16
                                                                          : 1;
      return waiting * times * 6 * tokens * static_cast<double>(model->parameter_count()) / flops;
    };
  }
};

// The chosen value of a key, as one writes it; "" if it was not chosen.
inline std::string chosen(const Plan& plan, std::string_view key) {
  for (const PlannedKey& other : plan.keys) {
    if (other.key == key) return other.value;
  }
  return "";
}

}  // namespace tapeformer
