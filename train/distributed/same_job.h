// Whether all ranks of a job do the same: programs, configurations, data and weights.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "train/config/config.h"
#include "train/distributed/communicator.h"

namespace tapeformer {

// What must be the same on all ranks: names, and values as text.
using JobFacts = std::vector<std::pair<std::string, std::string>>;

// The program's own file, and every key of the configuration but those that say nothing of the result (train.threads,
// train.max_minutes).
JobFacts program_and_config(const ResolvedConfig& config);

// Throws UsageError where there are more ranks than micro-steps in a step.
void require_micro_steps(const ResolvedConfig& config, const Communicator& ranks);

// Throws Error on a rank that differs from rank 0, about the first difference. Every rank calls it. The facts are asked
// for where there are several ranks.
void require_same(const std::function<JobFacts()>& facts, Communicator& ranks);

}  // namespace tapeformer
