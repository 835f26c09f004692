// What all trainings of the command `train` need before their first step, on each of the ranks.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "train/config/config.h"
#include "train/distributed/communicator.h"
#include "train/run/checkpoint.h"
#include "train/run/run_folder.h"

namespace tapeformer::cli {

// Resolves the configuration of a training, which must name its data.
ResolvedConfig resolve_for_training(Config config);

// Checks that all ranks would do the same steps, sets their threads, and checks that matrix products work with them.
void prepare_ranks(const ResolvedConfig& config, Communicator& ranks);

// Rank 0 makes the run's folder; all ranks take part in `prepare`.
RunFolder make_run(const std::string& path, std::string_view config_toml, const RunTokenizers& tokenizers,
                   const std::function<void(const RunFolder&)>& prepare, Communicator& ranks);

// Only rank 0 locks the run: it alone writes to it, apart from the other ranks' shares of checkpoints.
std::unique_ptr<RunLock> lock_run(const RunFolder& run, const Communicator& ranks);

}  // namespace tapeformer::cli
