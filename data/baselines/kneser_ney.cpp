#include "data/baselines/kneser_ney.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/pair_key.h"

namespace tapeformer {
namespace {

constexpr std::int64_t kTokensAtATime = 1 << 14;  // tokens between two calls of the progress callback

}  // namespace

std::size_t KneserNey::Level::slot_of(std::uint64_t key) const {
  const std::size_t mask = slots.size() - 1;
  std::size_t slot = (pair_hash(key) >> 32) & mask;
  while (slots[slot] != kNone && keys[slots[slot]] != key) slot = (slot + 1) & mask;
  return slot;
}

std::uint32_t KneserNey::Level::number(std::uint64_t key) {
  const std::size_t slot = slot_of(key);
  if (slots[slot] != kNone) return slots[slot];
  const auto number = static_cast<std::uint32_t>(keys.size());
  slots[slot] = number;
  keys.push_back(key);
  counts.push_back(0);
  if (2 * keys.size() > slots.size()) grow();
  return number;
}

void KneserNey::Level::grow() {
  std::vector<std::uint32_t>(2 * slots.size(), kNone).swap(slots);
  for (std::size_t number = 0; number < keys.size(); ++number) {
    slots[slot_of(keys[number])] = static_cast<std::uint32_t>(number);
  }
}

void KneserNey::Level::set_discounts() {
  std::array<double, 5> having = {};  // t_r
  for (const std::uint32_t count : counts) {
    if (count < having.size()) ++having[count];
  }
  const double y = having[1] / (having[1] + 2 * having[2]);
  bool valid = true;
  for (int r = 1; r <= 3; ++r) {
    discounts[r - 1] = r - (r + 1) * y * having[r + 1] / having[r];
    valid = valid && discounts[r - 1] > 0 && having[r + 1] > 0;
  }
  if (!valid) discounts = {0.5, 1, 1.5};
}

KneserNey KneserNey::learn(TokenView tokens, const KneserNeyOptions& options, const ProgressCallback& progress) {
  check(options.order >= 1 && options.order <= kMaxOrder, "n-grams: expected an order from 1 to ", kMaxOrder, ", got ",
        options.order);
  check(options.vocab >= 1, "n-grams: expected a vocabulary of at least 1, got ", options.vocab);
  check(std::min(tokens.size(), options.max_tokens) >= 1, "n-grams: expected at least one token to learn from");
  KneserNey model(options);
  History history;
  std::vector<std::int32_t> ids;
  const std::int64_t most = std::min(tokens.size(), options.max_tokens);
  for (std::int64_t& done = model.tokens_; done < most && model.ngrams() < options.max_ngrams;) {
    ids.resize(std::min(kTokensAtATime, most - done));
    tokens.copy(done, ids);
    for (const std::int32_t id : ids) model.count(history, id);
    done += std::ssize(ids);
    if (progress) progress(static_cast<double>(done) / static_cast<double>(most));
  }
  model.estimate();
  return model;
}

std::int64_t KneserNey::ngrams() const {
  std::int64_t sum = 0;
  for (const Level& level : levels_) sum += std::ssize(level.keys);
  return sum;
}

void KneserNey::count(History& history, std::int32_t token) {
  std::array<std::uint32_t, kMaxOrder + 1> ends{};
  const int longest = history.length + 1;
  bool longer_is_new = false;
  for (int n = longest; n >= 1; --n) {
    Level& level = levels_[n];
    const std::size_t before = level.keys.size();
    ends[n] = level.number(pair_key(history.ngrams[n - 1], token));
    if (n == longest || longer_is_new) ++level.counts[ends[n]];
    longer_is_new = level.keys.size() > before;
  }
  advance(history, token, ends);
}

void KneserNey::advance(History& history, std::int32_t token,
                        const std::array<std::uint32_t, kMaxOrder + 1>& ends) const {
  history.length = token == options_.document_token ? std::min(1, options_.order - 1)
                                                    : std::min(history.length + 1, options_.order - 1);
  for (int n = 1; n <= history.length; ++n) history.ngrams[n] = ends[n];
}

void KneserNey::estimate() {
  contexts_[0].resize(1);
  for (int n = 1; n <= options_.order; ++n) {
    Level& level = levels_[n];
    level.set_discounts();
    if (n < options_.order) contexts_[n].resize(level.keys.size());
    for (std::size_t i = 0; i < level.keys.size(); ++i) {
      Context& context = contexts_[n - 1][level.keys[i] >> 32];
      context.total += level.counts[i];
      context.discounted += level.discount(level.counts[i]);
    }
  }
}

double KneserNey::read(History& history, std::int32_t token) const {
  std::array<std::uint32_t, kMaxOrder + 1> ends;
  ends.fill(kNone);
  double p = 1 / static_cast<double>(options_.vocab);
  for (int n = 1; n <= history.length + 1; ++n) {
    const std::uint32_t before = history.ngrams[n - 1];
    if (before == kNone) break;  // longer ones do not occur either
    const Context& context = contexts_[n - 1][before];
    if (context.total == 0) continue;
    ends[n] = levels_[n].find(pair_key(before, token));
    const std::uint32_t c = ends[n] == kNone ? 0 : levels_[n].counts[ends[n]];
    const double kept = c == 0 ? 0 : c - levels_[n].discount(c);
    p = (kept + context.discounted * p) / context.total;
  }
  advance(history, token, ends);
  return -std::log(p);
}

}  // namespace tapeformer
