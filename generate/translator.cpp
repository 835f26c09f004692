#include "generate/translator.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "autograd/kernels/gemm/batch_invariant.h"
#include "autograd/ops/activations.h"
#include "autograd/tape/tape.h"
#include "core/parallel.h"

namespace tapeformer {
namespace {

constexpr double kDead = -std::numeric_limits<double>::infinity();  // log P of an unused entry of a beam

// A live hypothesis: its tokens so far, with the begin token first.
struct Live {
  std::vector<std::int32_t> ids;
  double log_probability = kDead;
};

// The candidate that continues hypothesis `parent` of a beam by the token `id`.
struct Candidate {
  double log_probability;
  std::int64_t parent;
  std::int32_t id;
  bool operator<(const Candidate& other) const {  // the better candidate is the smaller one
    if (log_probability != other.log_probability) return log_probability > other.log_probability;
    return parent != other.parent ? parent < other.parent : id < other.id;
  }
};

// Returns the largest length of a translation of a source of `source_tokens` tokens; both lengths include the end
// token. If neither the model nor the caller sets a limit, it is far above the length of any good translation.
std::int64_t longest_target(const EncoderDecoder& model, std::int64_t wanted, std::int64_t source_tokens) {
  const std::optional<std::int64_t> context = model.context();
  if (wanted == 0) return context.value_or(3 * source_tokens + 50);
  return std::min(wanted, context.value_or(wanted));
}

bool better(const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; }

// The search for one sentence.
struct Search {
  std::size_t source;                // index in the caller's list
  std::int64_t max_length;           // of a hypothesis, in tokens with the end token
  std::vector<Live> live;            // always `beam` entries, unused ones last
  std::vector<Hypothesis> finished;  // best first
};

// Searches for all sentences of one batch together. Row s·beam + i of the decoder is hypothesis i of searches_[s].
class BatchSearch {
 public:
  BatchSearch(const EncoderDecoder& model, const PairSymbols& symbols, const BeamOptions& options)
      : model_(model), symbols_(symbols), options_(options) {}

  // Translates sources[i] into results[i] for each i of `places`.
  void run(std::span<const std::vector<std::int32_t>> sources, std::span<const std::size_t> places,
           std::vector<std::vector<Hypothesis>>& results) {
    begin(sources, places);
    for (std::int64_t length = 1; !searches_.empty(); ++length) {
      extend(length);
      drop_finished(results);
    }
  }

 private:
  void begin(std::span<const std::vector<std::int32_t>> sources, std::span<const std::size_t> places) {
    searches_.clear();
    std::int64_t longest = 0, longest_hypothesis = 0;
    std::vector<std::int32_t> lengths;
    for (const std::size_t place : places) {
      const auto length = static_cast<std::int64_t>(sources[place].size()) + 1;
      Search search{.source = place,
                    .max_length = longest_target(model_, options_.max_length, length),
                    .live = std::vector<Live>(options_.beam, Live{{symbols_.target.begin}}),
                    .finished = {}};
      search.live[0].log_probability = 0;
      lengths.push_back(static_cast<std::int32_t>(length));
      longest = std::max(longest, length);
      longest_hypothesis = std::max(longest_hypothesis, search.max_length);
      searches_.push_back(std::move(search));
    }
    std::vector<std::int32_t> ids;
    for (const std::size_t place : places) {
      ids.insert(ids.end(), sources[place].begin(), sources[place].end());
      ids.push_back(symbols_.source.end);
      ids.resize((ids.size() + longest - 1) / longest * longest, symbols_.source.padding);
    }
    const auto count = static_cast<std::int64_t>(places.size());
    encoded_ = model_.encode(tape_, {Tensor::from(std::span<const std::int32_t>(ids), {count, longest}),
                                     Tensor::from(std::span<const std::int32_t>(lengths), {count})});
    state_ = model_.make_state(longest_hypothesis, longest);
  }

  // Returns log P of the next token for every hypothesis, (rows, vocab). Each hypothesis has `length` tokens so far.
  Tensor next_log_probabilities(std::int64_t length) {
    std::vector<std::int32_t> ids;
    const std::int64_t seen = options_.use_cache ? length - 1 : 0;
    for (const Search& search : searches_) {
      for (const Live& live : search.live) ids.insert(ids.end(), live.ids.begin() + seen, live.ids.end());
    }
    const std::int64_t rows = static_cast<std::int64_t>(searches_.size()) * options_.beam;
    const Variable input =
        Variable::constant(tape_, Tensor::from(std::span<const std::int32_t>(ids), {rows, length - seen}));
    const Tensor features = model_.decode(input, encoded_, options_.use_cache ? state_.get() : nullptr).value();
    const Tensor last = features.slice(1, length - seen - 1, length - seen).reshape({rows, -1});
    return log_softmax(model_.logits(Variable::constant(tape_, last))).value();
  }

  // The `beam` best continuations of one sentence, best first.
  template <class T>
  std::vector<Candidate> candidates(const Search& search, const T* log_p, std::int64_t vocab, bool must_end) const {
    const auto [begin, end, padding] = symbols_.target;
    const auto first = must_end ? end : 0, last = must_end ? end + 1 : static_cast<std::int32_t>(vocab);
    std::vector<Candidate> best;  // a heap whose front is the worst
    double floor = kDead;         // a candidate's log P must exceed this; ties come in order already
    const auto offer = [&](const Candidate& candidate) {
      if (std::ssize(best) == options_.beam) {
        std::pop_heap(best.begin(), best.end());
        best.pop_back();
      }
      best.push_back(candidate);
      std::push_heap(best.begin(), best.end());
      if (std::ssize(best) == options_.beam) floor = best.front().log_probability;
    };
    for (std::int64_t i = 0; i < options_.beam; ++i, log_p += vocab) {
      const double before = search.live[i].log_probability;
      if (before == kDead) continue;
      // If a logit is NaN or infinite, this log P is not finite.
      check(std::isfinite(log_p[end]), "translate: source ", search.source + 1,
            ": the model's predictions are not finite numbers");
      for (std::int32_t id = first; id < last; ++id) {
        const double log_probability = before + static_cast<double>(log_p[id]);
        if (log_probability > floor && (id == end || (id != begin && id != padding))) offer({log_probability, i, id});
      }
    }
    std::sort_heap(best.begin(), best.end());
    return best;
  }

  // Chooses token number `length` for every hypothesis.
  void extend(std::int64_t length) {
    const Tensor log_p = next_log_probabilities(length);
    const std::int64_t vocab = log_p.size(1), beam = options_.beam;
    std::vector<std::int64_t> parents(searches_.size() * beam);
    parallel_for(0, static_cast<std::int64_t>(searches_.size()), 1, [&](std::int64_t s, std::int64_t) {
      Search& search = searches_[s];
      const std::vector<Candidate> best = dispatch_floating(log_p.dtype(), [&]<class T>(T) {
        return candidates(search, log_p.data<T>() + s * beam * vocab, vocab, length == search.max_length);
      });
      std::vector<Live> next;
      for (const Candidate& candidate : best) {
        const Live& parent = search.live[candidate.parent];
        if (candidate.id == symbols_.target.end) {
          search.finished.push_back({{parent.ids.begin() + 1, parent.ids.end()},
                                     candidate.log_probability,
                                     candidate.log_probability / penalty(length)});
          continue;
        }
        parents[s * beam + next.size()] = s * beam + candidate.parent;
        next.push_back({parent.ids, candidate.log_probability});
        next.back().ids.push_back(candidate.id);
      }
      std::stable_sort(search.finished.begin(), search.finished.end(), better);
      for (std::int64_t i = static_cast<std::int64_t>(next.size()); i < beam; ++i) {
        parents[s * beam + i] = s * beam;
        next.push_back({std::vector<std::int32_t>(length + 1, symbols_.target.padding)});
      }
      search.live = std::move(next);
    });
    parents_ = std::move(parents);
  }

  double penalty(std::int64_t length) const {
    return std::pow((5 + static_cast<double>(length)) / 6, options_.length_penalty);
  }

  bool is_done(const Search& search) const {
    const double best = search.live.front().log_probability;
    if (best == kDead) return true;
    if (static_cast<std::int64_t>(search.finished.size()) < options_.n_best) return false;
    // The log P of a hypothesis is negative and can only fall, so its best possible score is that at the maximal
    // length.
    return search.finished[options_.n_best - 1].score >= best / penalty(search.max_length);
  }

  // Moves finished sentences to the results, and reorders the rows of the others to match their hypotheses.
  void drop_finished(std::vector<std::vector<Hypothesis>>& results) {
    std::vector<std::int64_t> sentences, rows;
    std::vector<Search> kept;
    for (std::size_t s = 0; s < searches_.size(); ++s) {
      Search& search = searches_[s];
      if (is_done(search)) {
        search.finished.resize(std::min<std::size_t>(search.finished.size(), options_.n_best));
        results[search.source] = std::move(search.finished);
        continue;
      }
      sentences.push_back(static_cast<std::int64_t>(s));
      rows.insert(rows.end(), parents_.begin() + s * options_.beam, parents_.begin() + (s + 1) * options_.beam);
      kept.push_back(std::move(search));
    }
    const bool all_kept = kept.size() == searches_.size();
    searches_ = std::move(kept);
    if (searches_.empty()) return;
    const bool in_place = all_kept && options_.beam == 1;  // row i continues row i
    if (options_.use_cache && !in_place) state_->select_targets(rows);
    if (options_.use_cache && !all_kept) state_->select_sources(sentences);
    if (all_kept) return;
    encoded_ = select_rows(encoded_, sentences);
  }

  const EncoderDecoder& model_;
  const PairSymbols& symbols_;
  const BeamOptions& options_;
  std::vector<Search> searches_;
  std::vector<std::int64_t> parents_;  // parents_[i] is the row that row i continues
  Tape tape_{no_grad};
  EncoderOutput encoded_;
  std::unique_ptr<DecoderState> state_;
};

}  // namespace

void check_options(const BeamOptions& options) {
  if (options.beam < 1) fail_usage("beam: expected at least 1, got ", options.beam);
  if (options.n_best < 1 || options.n_best > options.beam) {
    fail_usage("n-best: expected 1 to ", options.beam, " (the beam), got ", options.n_best);
  }
  if (!(options.length_penalty >= 0)) fail_usage("length penalty: expected at least 0, got ", options.length_penalty);
  if (options.batch < 1) fail_usage("batch: expected at least 1, got ", options.batch);
  if (options.max_length < 0) fail_usage("max length: expected at least 1 token, got ", options.max_length);
}

std::vector<std::vector<Hypothesis>> translate(const EncoderDecoder& model,
                                               std::span<const std::vector<std::int32_t>> sources,
                                               const PairSymbols& symbols, const BeamOptions& options,
                                               const ProgressCallback& progress) {
  check_options(options);
  const kernels::BatchInvariant batch_invariant;
  const std::int64_t vocab = model.target_vocab();
  check(symbols.target.end >= 0 && symbols.target.end < vocab, "translate: the end's id is ", symbols.target.end,
        ", expected 0 to ", vocab - 1);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto tokens = static_cast<std::int64_t>(sources[i].size()) + 1;
    const std::int64_t most = model.context().value_or(std::max<std::int64_t>(tokens, 2));
    check(tokens >= 2 && tokens <= most, "translate: source ", i + 1, " has ", tokens,
          " tokens with its end, expected 2 to ", most);
  }
  std::vector<std::size_t> order(sources.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return sources[i].size(); });
  std::vector<std::vector<Hypothesis>> results(sources.size());
  BatchSearch search(model, symbols, options);
  for (std::size_t begin = 0; begin < order.size(); begin += options.batch) {
    const std::size_t count = std::min<std::size_t>(options.batch, order.size() - begin);
    search.run(sources, std::span(order).subspan(begin, count), results);
    if (progress) progress(static_cast<double>(begin + count) / static_cast<double>(order.size()));
  }
  return results;
}

}  // namespace tapeformer
