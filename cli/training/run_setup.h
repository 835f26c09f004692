// The preparation that every training needs before its first step, on each rank.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "train/config/config.h"
#include "train/distributed/communicator.h"
#include "train/run/run_folder.h"

namespace tapeformer::cli {

// Resolves the configuration of a training. Throws UsageError if it names no data.
ResolvedConfig resolve_for_training(Config config);

// Checks that all ranks have the same program and configuration, and that each has a micro-step to do and can read the
// data; sets the number of threads; and reserves the memory that OpenBLAS needs for them.
void prepare_ranks(const ResolvedConfig& config, Communicator& ranks);

// Rank 0 makes the run's folder. Every rank calls `prepare`, which may write into it.
RunFolder make_run(const std::string& path, std::string_view config_toml, const RunTokenizers& tokenizers,
                   const std::function<void(const RunFolder&)>& prepare, Communicator& ranks);

// Locks the run on rank 0; null on other ranks, which write only their shares of checkpoints.
std::unique_ptr<RunLock> lock_run(const RunFolder& run, const Communicator& ranks);

}  // namespace tapeformer::cli
