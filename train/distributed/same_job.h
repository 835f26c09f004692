// Checks that all ranks of a job use the same program, configuration, data and weights.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "train/config/config.h"
#include "train/distributed/communicator.h"

namespace tapeformer {

// Facts that must be the same on all ranks: names, with their values as text.
using JobFacts = std::vector<std::pair<std::string, std::string>>;

// The program's own file, and every configuration key except those that do not change the result (train.threads,
// train.max_minutes).
JobFacts program_and_config(const ResolvedConfig& config);

// Throws UsageError where there are more ranks than micro-steps in a step.
void require_micro_steps(const ResolvedConfig& config, const Communicator& ranks);

// On a rank that differs from rank 0, throws Error about the first difference. Every rank calls it. `facts` is called
// only where there are several ranks.
void require_same(const std::function<JobFacts()>& facts, Communicator& ranks);

}  // namespace tapeformer
