#include "cli/training/run_setup.h"

#include <utility>

#include "autograd/kernels/gemm/blas_buffers.h"
#include "core/files.h"
#include "core/parallel.h"
#include "train/config/matmul_config.h"
#include "train/distributed/launch.h"
#include "train/distributed/same_job.h"

namespace tapeformer::cli {
namespace {

void set_threads(const ResolvedConfig& config, Communicator& ranks) {
  const int own = threads_of_rank(ranks);
  set_thread_count(config.train.threads > 0 ? static_cast<int>(config.train.threads) : own);
}

}  // namespace

ResolvedConfig resolve_for_training(Config config) {
  const ResolvedConfig resolved = resolve(std::move(config));
  require_data(resolved.values());
  return resolved;
}

void prepare_ranks(const ResolvedConfig& config, Communicator& ranks) {
  require_same([&] { return program_and_config(config); }, ranks);
  require_micro_steps(config, ranks);
  require_rereadable_data(config, ranks);
  if (ranks.size() > 1 && config.train.watch > 0) {
    fail_usage("train.watch: expected 0 under mpirun, where no rank has the whole gradient, got ", config.train.watch);
  }
  set_threads(config, ranks);
  if (matmul_precision(config) == kernels::MatmulPrecision::highest) kernels::reserve_blas_buffers(thread_count());
}

RunFolder make_run(const std::string& path, std::string_view config_toml, const RunTokenizers& tokenizers,
                   const std::function<void(const RunFolder&)>& prepare, Communicator& ranks) {
  RunFolder run{path};
  if (ranks.is_root()) {
    run = create_run(path, config_toml, tokenizers, prepare);
  } else {
    prepare(run);
  }
  ranks.barrier();
  check(is_there(run.config()), path,
        ": rank 0 has made the run there, and this rank does not see it: ", "the ranks must share the folder");
  return run;
}

std::unique_ptr<RunLock> lock_run(const RunFolder& run, const Communicator& ranks) {
  return ranks.is_root() ? std::make_unique<RunLock>(run) : nullptr;
}

}  // namespace tapeformer::cli
