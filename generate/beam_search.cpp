#include "generate/beam_search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "autograd/ops/activations.h"
#include "core/parallel.h"

namespace tapeformer {
namespace {

constexpr double kDead = -std::numeric_limits<double>::infinity();  // log P of an unused entry of a beam

}  // namespace

// The candidate that continues hypothesis `parent` of a beam by the token `id`.
struct BeamSearch::Candidate {
  double log_probability;
  std::int64_t parent;
  std::int32_t id;
  bool operator<(const Candidate& other) const {  // the better candidate is the smaller one
    if (log_probability != other.log_probability) return log_probability > other.log_probability;
    return parent != other.parent ? parent < other.parent : id < other.id;
  }
};

BeamSearch::BeamSearch(const std::vector<RowStart>& starts, DecodingRules rules, const BeamOptions& options)
    : rules_(std::move(rules)), options_(options), results_(starts.size()) {
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (starts[i].max_length < 1) {
      results_[i] = {Hypothesis{}};
      continue;
    }
    searches_.push_back({.index = i,
                         .name = starts[i].name,
                         .begin = std::ssize(starts[i].ids),
                         .max_length = starts[i].max_length,
                         .grammar = starts[i].grammar,
                         .live = {{starts[i].ids, 0}},
                         .parents = {},
                         .finished = {}});
  }
}

TokenRows BeamSearch::rows() const {
  TokenRows rows;
  for (const Search& search : searches_) {
    for (const Live& live : search.live) rows.emplace_back(live.ids);
  }
  return rows;
}

template <class T>
std::vector<BeamSearch::Candidate> BeamSearch::candidates(const Search& search, const T* log_p, std::int64_t vocab,
                                                          std::int64_t count) const {
  const std::int32_t end = rules_.end;
  const bool only_end = rules_.must_end && length_ == search.max_length;
  const auto first = only_end ? end : 0, last = only_end ? end + 1 : static_cast<std::int32_t>(vocab);
  const auto allowed = [&](std::int32_t id) { return id == end || std::ranges::count(rules_.excluded, id) == 0; };
  std::vector<Candidate> best;  // a heap whose front is the worst
  double floor = kDead;         // a candidate's log P must exceed this; of equal ones the preferred one comes first
  const auto offer = [&](const Candidate& candidate) {
    if (std::ssize(best) == count) {
      std::pop_heap(best.begin(), best.end());
      best.pop_back();
    }
    best.push_back(candidate);
    std::push_heap(best.begin(), best.end());
    if (std::ssize(best) == count) floor = best.front().log_probability;
  };
  for (std::int64_t i = 0; i < std::ssize(search.live); ++i, log_p += vocab) {
    const double before = search.live[i].log_probability;
    if (before == kDead) continue;
    OutputGrammar::Allowed fits;
    if (search.grammar) fits = search.grammar->allowed_after(std::span(search.live[i].ids).subspan(search.begin));
    // A logit that is NaN or +∞ makes every log P NaN or −∞, so it is enough to check that of one token.
    check(std::isfinite(log_p[std::max(end, 0)]), search.name, ": the model's predictions are not finite numbers");
    for (std::int32_t id = first; id < last; ++id) {
      const double log_probability = before + static_cast<double>(log_p[id]);
      if (log_probability > floor && allowed(id) && (!fits || fits(id))) offer({log_probability, i, id});
    }
  }
  std::sort_heap(best.begin(), best.end());
  return best;
}

std::vector<BeamSearch::Candidate> BeamSearch::observed(const Search& search, std::vector<Candidate> candidates) const {
  const std::int64_t kept = std::min<std::int64_t>(std::ssize(candidates), options_.beam);
  std::vector<std::vector<std::int32_t>> hypotheses;
  for (const Live& live : search.live) hypotheses.emplace_back(live.ids.begin() + search.begin, live.ids.end());
  std::vector<BeamCandidate> seen;
  for (const Candidate& candidate : candidates) {
    seen.push_back({.log_probability = candidate.log_probability,
                    .parent = candidate.parent,
                    .id = candidate.id,
                    .kept = std::ssize(seen) < kept,
                    .ended = candidate.id == rules_.end || length_ == search.max_length});
  }
  options_.observer(search.index, hypotheses, seen);
  candidates.resize(kept);
  return candidates;
}

void BeamSearch::advance(Search& search, const std::vector<Candidate>& best) const {
  std::vector<Live> next;
  search.parents.clear();
  for (const Candidate& candidate : best) {
    Live extended{search.live[candidate.parent].ids, candidate.log_probability};
    const bool ended = candidate.id == rules_.end;
    if (!ended) extended.ids.push_back(candidate.id);
    if (ended || length_ == search.max_length) {
      search.finished.push_back({{extended.ids.begin() + search.begin, extended.ids.end()},
                                 candidate.log_probability,
                                 candidate.log_probability / penalty(length_)});
      continue;
    }
    search.parents.push_back(candidate.parent);
    next.push_back(std::move(extended));
  }
  std::ranges::stable_sort(search.finished, std::greater<>(), &Hypothesis::score);
  if (!next.empty()) {  // the unused entries are copies of the first one
    next.resize(options_.beam, {next.front().ids, kDead});
    search.parents.resize(options_.beam, search.parents.front());
  }
  search.live = std::move(next);
}

std::vector<std::int64_t> BeamSearch::extend(const Tensor& logits) {
  ++length_;
  Tape tape(no_grad);
  const Tensor log_p = log_softmax(Variable::constant(tape, logits)).value();
  const std::int64_t vocab = log_p.size(1), width = std::ssize(searches_.front().live);
  parallel_for(0, std::ssize(searches_), 1, [&](std::int64_t s, std::int64_t) {
    const std::int64_t count = options_.beam + (options_.observer ? options_.observe_dropped : 0);
    std::vector<Candidate> best = dispatch_floating(log_p.dtype(), [&]<class T>(T) {
      return candidates(searches_[s], log_p.data<T>() + s * width * vocab, vocab, count);
    });
    if (options_.observer) best = observed(searches_[s], std::move(best));
    advance(searches_[s], best);
  });
  std::vector<std::int64_t> selected;
  std::vector<Search> kept;
  for (std::int64_t s = 0; s < std::ssize(searches_); ++s) {
    Search& search = searches_[s];
    if (is_done(search)) {
      search.finished.resize(std::min<std::size_t>(search.finished.size(), options_.n_best));
      results_[search.index] = std::move(search.finished);
      continue;
    }
    for (const std::int64_t parent : search.parents) selected.push_back(s * width + parent);
    kept.push_back(std::move(search));
  }
  searches_ = std::move(kept);
  return selected;
}

double BeamSearch::penalty(std::int64_t length) const {
  return std::pow((5 + static_cast<double>(length)) / 6, options_.length_penalty);
}

bool BeamSearch::is_done(const Search& search) const {
  if (search.live.empty()) return true;
  if (std::ssize(search.finished) < options_.n_best) return false;
  // The log P of a hypothesis is negative and can only fall, so its best possible score is that at the maximal length.
  const double best = search.live.front().log_probability / penalty(search.max_length);
  return search.finished[options_.n_best - 1].score >= best;
}

void check_options(const BeamOptions& options) {
  if (options.beam < 1) fail_usage("--beam: expected at least 1, got ", options.beam);
  if (options.n_best < 1 || options.n_best > options.beam) {
    fail_usage("--n-best: expected 1 to ", options.beam, " (--beam), got ", options.n_best);
  }
  if (!(options.length_penalty >= 0)) fail_usage("--length-penalty: expected at least 0, got ", options.length_penalty);
}

}  // namespace tapeformer
