#include "cli/terminal/training_line.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "cli/terminal/terminal.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/text/numbers.h"

namespace tapeformer {
namespace {

constexpr double kDecay = 0.98;

}  // namespace

std::vector<ProgressPart> training_parts(const ProgressState& state, const TrainingFacts& facts) {
  const auto done = static_cast<double>(state.step - state.first_step);
  double left = state.elapsed_s / done * static_cast<double>(state.steps - state.step);
  std::int64_t percent = state.steps > 0 ? 100 * state.step / state.steps : 0;
  std::string step = "step " + std::to_string(state.step);
  if (!state.time || state.time->end_is_known) step += "/" + std::to_string(state.steps);
  std::vector<ProgressPart> parts{{step, 1}};
  if (const auto& time = state.time) {
    left = std::max(0.0, time->whole_s - time->done_s);
    percent = static_cast<std::int64_t>(100 * std::min(1.0, time->done_s / time->whole_s));
    parts.push_back({fmt::format("{:.1f}/{:.4g} min", time->done_s / 60, time->whole_s / 60), 5});
  }
  const std::string loss = str_cat(state.smoothed ? "label-smoothed " : "", state.weighted ? "weighted " : "", "loss ",
                                   state.with_z ? "+ z " : "");
  parts.push_back({std::to_string(percent) + "%", 5});
  if (facts.mean_loss) parts.push_back({loss + fmt::format("{:.4f}", *facts.mean_loss), 2});
  if (facts.validation_loss) parts.push_back({fmt::format("valid {:.4f}", *facts.validation_loss), 4});
  parts.push_back({format_rate(state.tokens_per_s) + " tokens/s", 6});
  if (facts.share_of_peak) parts.push_back({fmt::format("{:.0f}% of peak", 100 * *facts.share_of_peak), 7});
  parts.push_back({fmt::format("lr {:.3g}", state.lr), 8});
  if (facts.peak_memory) parts.push_back({format_bytes(*facts.peak_memory), 9});
  parts.push_back({format_duration(state.elapsed_s) + " elapsed", 10});
  parts.push_back({format_duration(left) + " left", 3});
  if (state.waiting) parts.push_back({fmt::format("{:.0f}% waiting", 100 * *state.waiting), 11});
  return parts;
}

TrainingLine::TrainingLine(ProgressLine line, double flops_per_token, double peak_flops)
    : line_(std::move(line)), peak_share_per_rate_(peak_flops > 0 ? flops_per_token / peak_flops : 0) {}

void TrainingLine::step(const ProgressState& state) {
  if (state.scored) {
    weighted_loss_ = kDecay * weighted_loss_ + (1 - kDecay) * state.loss;
    weight_ = kDecay * weight_ + (1 - kDecay);
  }
  last_ = state;
  if (!is_quiet() && line_.is_due()) show();
}

void TrainingLine::end() {
  if (!last_ || is_quiet()) return;
  show();
  line_.end();
}

void TrainingLine::show() {
  if (weight_ > 0) facts_.mean_loss = weighted_loss_ / weight_;
  if (peak_share_per_rate_ > 0) {
    const double share = peak_share_per_rate_ * last_->tokens_per_s;
    exceeds_peak_ = exceeds_peak_ || share > 1;
    facts_.share_of_peak = std::min(share, 1.0);
  }
  facts_.peak_memory = peak_resident_bytes();
  line_.show(training_parts(*last_, facts_));
}

}  // namespace tapeformer
