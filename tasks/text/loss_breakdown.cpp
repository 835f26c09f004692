#include "tasks/text/loss_breakdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tapeformer {
namespace {

LossBin& bin_of(std::vector<LossBin>& bins, std::int64_t number) {
  const auto bin = std::ranges::lower_bound(bins, number, {}, &LossBin::last);
  check(bin != bins.end(), "loss by bins: no bin has the number ", number);
  return *bin;
}

}  // namespace

LossBreakdown breakdown_by_position(std::int64_t context) {
  LossBreakdown breakdown{.name = "tokens before it", .number = [](const TokenScore& score) { return score.position; }};
  for (std::int64_t first = 1, last = 1; first <= context; first = last + 1, last *= 2) {
    breakdown.bins.push_back({.first = first, .last = std::min(last, context)});
  }
  return breakdown;
}

LossBreakdown breakdown_by_frequency(TokenView training, std::int64_t vocab) {
  std::vector<std::int64_t> counts(vocab);
  for_each_piece(training, [&](std::span<const std::int32_t> piece) {
    for (const std::int32_t id : piece) ++counts[id];
  });
  LossBreakdown breakdown{.name = "times in the training text", .number = {}};
  breakdown.bins.push_back({.first = 0, .last = 0});
  for (std::int64_t first = 1; first <= std::ranges::max(counts); first *= 10) {
    breakdown.bins.push_back({.first = first, .last = 10 * first - 1});
  }
  for (const std::int64_t count : counts) ++bin_of(breakdown.bins, count).kinds;
  std::erase_if(breakdown.bins, [](const LossBin& bin) { return bin.kinds == 0; });
  breakdown.number = [counts = std::move(counts)](const TokenScore& score) { return counts[score.token]; };
  return breakdown;
}

Evaluation evaluate_breakdowns(const CausalModel& model, TokenView tokens, const WindowOptions& options,
                               std::vector<LossBreakdown>& breakdowns, const ProgressCallback& progress) {
  Evaluation total;
  score_tokens_of_batches(model, tokens, options, 1, [&](const TokenScore& score) {
    total.nats += score.nats;
    ++total.tokens;
    for (LossBreakdown& breakdown : breakdowns) {
      LossBin& bin = bin_of(breakdown.bins, breakdown.number(score));
      bin.nats += score.nats;
      ++bin.tokens;
      bin.right += score.rank == 1;
    }
    if (progress) progress(static_cast<double>(total.tokens) / static_cast<double>(tokens.size() - 1));
  });
  return total;
}

nlohmann::ordered_json breakdown_json(const LossBreakdown& breakdown) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const LossBin& bin : breakdown.bins) {
    list.push_back({{"first", bin.first}, {"last", bin.last}});
    auto& json = list.back();
    if (bin.kinds > 0) json["kinds"] = bin.kinds;
    json["tokens"] = bin.tokens;
    json["loss"] = json["accuracy"] = nullptr;
    if (bin.tokens > 0) json["loss"] = bin.loss(), json["accuracy"] = bin.accuracy();
  }
  return list;
}

std::string breakdown_table(const LossBreakdown& breakdown) {
  std::string table = fmt::format("\n{:<26}  {:>8}  {:>8}  {:>7}\n", breakdown.name, "tokens", "nats", "right");
  for (const LossBin& bin : breakdown.bins) {
    std::string numbers = fmt::format("{}", bin.first);
    if (bin.last > bin.first) numbers += fmt::format("–{}", bin.last);
    if (bin.kinds > 0) numbers += fmt::format(", {} kinds", bin.kinds);
    table += fmt::format("{:<26}  {:>8}", numbers, bin.tokens);
    if (bin.tokens > 0) table += fmt::format("  {:>8.4f}  {:>5.1f} %", bin.loss(), 100 * bin.accuracy());
    table += '\n';
  }
  return table;
}

}  // namespace tapeformer
