#include "tasks/text/loss_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tapeformer {
namespace {

LossPart& part_of(std::vector<LossPart>& parts, std::int64_t number) {
  const auto part = std::ranges::lower_bound(parts, number, {}, &LossPart::last);
  check(part != parts.end(), "loss by parts: no part has the number ", number);
  return *part;
}

}  // namespace

LossParts parts_by_position(std::int64_t context) {
  LossParts division{.name = "tokens before it", .number = [](const TokenScore& score) { return score.position; }};
  for (std::int64_t first = 1, last = 1; first <= context; first = last + 1, last *= 2) {
    division.parts.push_back({.first = first, .last = std::min(last, context)});
  }
  return division;
}

LossParts parts_by_frequency(TokenView training, std::int64_t vocab) {
  constexpr std::int64_t kTokens = 1 << 16;
  std::vector<std::int64_t> counts(vocab);
  std::vector<std::int32_t> ids;
  for (std::int64_t begin = 0; begin < training.size(); begin += kTokens) {
    ids.resize(std::min(kTokens, training.size() - begin));
    training.copy(begin, ids);
    for (const std::int32_t id : ids) ++counts[id];
  }
  LossParts division{.name = "times in the training text", .number = {}};
  division.parts.push_back({.first = 0, .last = 0});
  for (std::int64_t first = 1; first <= std::ranges::max(counts); first *= 10) {
    division.parts.push_back({.first = first, .last = 10 * first - 1});
  }
  for (const std::int64_t count : counts) ++part_of(division.parts, count).kinds;
  std::erase_if(division.parts, [](const LossPart& part) { return part.kinds == 0; });
  division.number = [counts = std::move(counts)](const TokenScore& score) { return counts[score.token]; };
  return division;
}

Evaluation evaluate_parts(const CausalModel& model, TokenView tokens, const WindowOptions& options,
                          std::vector<LossParts>& divisions, const ProgressCallback& progress) {
  Evaluation total;
  score_tokens(model, tokens, options, 1, [&](const TokenScore& score) {
    total.nats += score.nats;
    ++total.tokens;
    for (LossParts& division : divisions) {
      LossPart& part = part_of(division.parts, division.number(score));
      part.nats += score.nats;
      ++part.tokens;
      part.right += score.rank == 1;
    }
    if (progress) progress(static_cast<double>(total.tokens) / static_cast<double>(tokens.size() - 1));
  });
  return total;
}

nlohmann::ordered_json parts_json(const LossParts& division) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const LossPart& part : division.parts) {
    list.push_back({{"first", part.first}, {"last", part.last}});
    auto& json = list.back();
    if (part.kinds > 0) json["kinds"] = part.kinds;
    json["tokens"] = part.tokens;
    json["loss"] = json["accuracy"] = nullptr;
    if (part.tokens > 0) json["loss"] = part.loss(), json["accuracy"] = part.accuracy();
  }
  return list;
}

std::string parts_table(const LossParts& division) {
  std::string table = fmt::format("\n{:<26}  {:>8}  {:>8}  {:>7}\n", division.name, "tokens", "nats", "right");
  for (const LossPart& part : division.parts) {
    std::string numbers = fmt::format("{}", part.first);
    if (part.last > part.first) numbers += fmt::format("–{}", part.last);
    if (part.kinds > 0) numbers += fmt::format(", {} kinds", part.kinds);
    table += fmt::format("{:<26}  {:>8}", numbers, part.tokens);
    if (part.tokens > 0) table += fmt::format("  {:>8.4f}  {:>5.1f} %", part.loss(), 100 * part.accuracy());
    table += '\n';
  }
  return table;
}

}  // namespace tapeformer
