#include "train/loop/dry_run.h"

#include <sys/resource.h>

#include <algorithm>
#include <new>
#include <numeric>
#include <vector>

#include "autograd/kernels/gemm/blas_buffers.h"
#include "autograd/tensor/allocator.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/steady_clock.h"
#include "train/config/matmul_config.h"
#include "train/distributed/make_optimizer.h"
#include "train/loop/trainer.h"

namespace tapeformer {
namespace {

class Stopwatch {
 public:
  double seconds() const { return steady_seconds() - begin_; }

 private:
  double begin_ = steady_seconds();
};

// While an object lives, this process cannot allocate more memory than the machine has: it gets std::bad_alloc or an
// Error before the system would kill it.
class MemoryBound {
 public:
  MemoryBound() {
    getrlimit(RLIMIT_AS, &before_);
    const std::int64_t room = machine_memory_bytes() - resident_bytes();
    rlimit bound = before_;
    bound.rlim_cur = std::min<rlim_t>(before_.rlim_cur, address_space_bytes() + std::max<std::int64_t>(room, 0));
    setrlimit(RLIMIT_AS, &bound);
  }
  ~MemoryBound() { setrlimit(RLIMIT_AS, &before_); }
  MemoryBound(const MemoryBound&) = delete;
  MemoryBound& operator=(const MemoryBound&) = delete;

 private:
  rlimit before_{};
};

struct Measurement {
  double micro_seconds = 0, update_seconds = 0;
  std::optional<double> evaluation_seconds;
  std::int64_t activation_bytes = 0, peak_bytes = 0;
  std::int64_t reserved_bytes = 0;  // of the tensor allocator, with the memory that it caches for the next step
};

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + std::ssize(values) / 2);
  return values[values.size() / 2];
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Estimates the time of a whole evaluation: stops it after `seconds`, and scales by the share that was done by then.
double evaluation_time(Objective& objective, double seconds) {
  struct SeenEnough {};
  const Stopwatch watch;
  double done = 1;
  try {
    objective.evaluate([&](double share) {
      if (share >= 1 || watch.seconds() < seconds) return;
      done = share;
      throw SeenEnough();
    });
  } catch (const SeenEnough&) {
  }
  return watch.seconds() / done;
}

// Runs steps of one micro-step for about `seconds`, and a part of an evaluation; for 0 seconds only one step, of which
// only the memory is measured.
Measurement measure(const ResolvedConfig& config, const DataReader& read, double seconds,
                    const ProgressCallback& progress) {
  std::unique_ptr<ObjectiveData> data = read(config);
  const bool shapes_vary = config.task_row().reads_sentences;

  const kernels::MatmulPrecisionScope precision(matmul_precision(config));
  // These buffers are reserved before the bound is set, because most of their address space is never used. Products of
  // less precision do without them.
  if (precision.current() == kernels::MatmulPrecision::highest) kernels::reserve_blas_buffers(thread_count());
  const MemoryBound bound;
  const auto objective = config.task_row().make(config, std::move(data));
  objective->model().initialize_parameters(static_cast<std::uint64_t>(config.train.seed));
  if (precision.current() == kernels::MatmulPrecision::medium) round_frozen_weights(objective->model());
  const ParameterSlab slab(objective->model(), objective->rates());
  const auto optimizer = make_optimizer(config, slab, Communicator::alone());
  const ScheduleSpec schedule = schedule_spec(config);
  reset_peak_memory();
  const std::int64_t state_bytes = memory_stats().in_use;

  // Updates with gradients of zero. The first update and the first step are slow, because the system has to provide the
  // memory. The first update is never counted, and the first step only if it takes so long that this hardly matters.
  std::vector<double> steps, updates;
  for (int i = 0; i < (seconds > 0 ? 3 : 1); ++i) {
    const Stopwatch watch;
    optimizer->step(learning_rate(schedule, 1), 1);
    if (i > 0) updates.push_back(watch.seconds());
  }
  // A single step would be no measure: the process may have had to wait for others meanwhile.
  constexpr std::int64_t kLeastSteps = 3;
  const auto needs_more = [&] {
    return std::ssize(steps) < kLeastSteps && kLeastSteps * *std::ranges::min_element(steps) < seconds;
  };
  std::int64_t step = 0;
  const Stopwatch all;
  do {
    ++step;
    const Stopwatch watch;
    train_step(*objective, slab, *optimizer, config, step, learning_rate(schedule, step), {.micro_step_limit = 1});
    if (step > 1 || watch.seconds() > 3 * seconds) steps.push_back(watch.seconds());
    if (progress && seconds > 0) progress(std::min(0.99, all.seconds() / seconds));
  } while (steps.empty() || all.seconds() < seconds || needs_more());
  Measurement result;
  result.reserved_bytes = memory_stats().reserved;
  if (seconds > 0) {
    result.update_seconds = median(updates);
    result.micro_seconds = std::max(0.0, (shapes_vary ? mean(steps) : median(steps)) - result.update_seconds);
    if (objective->can_evaluate()) {
      const kernels::MatmulPrecisionScope evaluating(inference_precision(precision.current()));
      result.evaluation_seconds = evaluation_time(*objective, seconds / 4);
    }
  }
  if (progress) progress(1);
  result.activation_bytes = memory_stats().peak - state_bytes;
  result.peak_bytes = peak_resident_bytes();
  return result;
}

DryRun result_of(const ResolvedConfig& config, const Measurement& measured, std::int64_t least_rows) {
  return {
      .step_seconds = static_cast<double>(config.train.accumulate) * measured.micro_seconds + measured.update_seconds,
      .evaluation_seconds = measured.evaluation_seconds,
      .activation_bytes = measured.activation_bytes,
      .peak_bytes = measured.peak_bytes,
      .least_rows = least_rows};
}

// Extrapolates linearly to micro-steps of `rows` rows from those of `part` rows, and of half as many: each further row
// takes the bytes by which `large` exceeds `small`, divided by its further rows, and the time of a row of `large`.
DryRun extrapolated(const ResolvedConfig& config, Measurement large, const Measurement& small, std::int64_t part,
                    std::int64_t least_rows) {
  const std::int64_t rows = micro_step_rows(config);
  const auto row_bytes = [&](std::int64_t Measurement::*bytes) {
    return (large.*bytes - small.*bytes) / (part - part / 2);
  };
  const std::int64_t resident_row_bytes = row_bytes(&Measurement::reserved_bytes);
  const double times = static_cast<double>(rows) / static_cast<double>(part);
  large.activation_bytes += row_bytes(&Measurement::activation_bytes) * (rows - part);
  large.peak_bytes += resident_row_bytes * (rows - part);
  large.micro_seconds *= times;
  // With eval.batches, an evaluation of smaller batches reads fewer rows.
  if (config.eval.batches > 0 && large.evaluation_seconds) *large.evaluation_seconds *= times;
  DryRun result = result_of(config, large, least_rows);
  result.scaled = true;
  result.row_bytes = resident_row_bytes;
  return result;
}

}  // namespace

std::int64_t micro_step_rows(const ResolvedConfig& config) {
  return config.train.batch_tokens > 0 ? config.train.batch_tokens : config.train.batch;
}

ResolvedConfig with_rows(const ResolvedConfig& config, std::int64_t rows) {
  Config changed = config.values();
  (changed.train.batch_tokens > 0 ? changed.train.batch_tokens : changed.train.batch) = rows;
  return resolve(std::move(changed));
}

DryRun dry_run(const ResolvedConfig& config, const DataReader& read, const DryRunOptions& options) {
  const std::int64_t rows = micro_step_rows(config);
  const bool by_tokens = config.train.batch_tokens > 0;
  const std::int64_t least_rows = by_tokens ? read(config)->least_batch_tokens() : 1;
  // The smallest size of the larger of the two micro-steps from which the result is extrapolated. The smaller one is
  // half of it.
  const std::int64_t least = by_tokens ? std::max<std::int64_t>(128, 2 * least_rows)
                                       : 2 * chunk_count(config.task_row().least_rows, config.train.accumulate);
  const double share = options.expected_micro_seconds > 0 ? options.seconds / options.expected_micro_seconds : 1;
  // Returns nullopt if the memory does not suffice, but throws if it does not suffice for the smallest micro-step.
  const auto try_rows = [&](std::int64_t tried, double seconds) -> std::optional<Measurement> {
    const auto measured = [&] { return measure(with_rows(config, tried), read, seconds, options.progress); };
    try {
      return measured();
    } catch (const OutOfMemory&) {
      if (tried <= least) throw;
    } catch (const std::bad_alloc&) {
      if (tried <= least) throw;
    }
    return std::nullopt;
  };
  if (share >= 1 || rows <= least) {
    if (const auto measured = try_rows(rows, options.seconds / 2)) return result_of(config, *measured, least_rows);
  }
  const auto begin_anew = [] {
    release_cached_memory();
    reset_peak_resident();
  };
  auto part = std::max(least, static_cast<std::int64_t>(static_cast<double>(rows) * std::min(share, 0.25)));
  begin_anew();
  std::optional<Measurement> large;
  while (!(large = try_rows(part, options.seconds / 4))) {
    part = std::max(least, part / 2);
    begin_anew();
  }
  begin_anew();
  const Measurement small = measure(with_rows(config, part / 2), read, 0, options.progress);
  return extrapolated(config, *large, small, part, least_rows);
}

}  // namespace tapeformer
