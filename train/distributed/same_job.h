// Checks that all ranks of a job use the same program, configuration, data and weights.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "nn/module/module.h"
#include "train/config/config.h"
#include "train/distributed/communicator.h"

namespace tapeformer {

// Facts that must be the same on all ranks: names, with their values as text.
using JobFacts = std::vector<std::pair<std::string, std::string>>;

// Returns the checksum of the program's file, and every configuration key except those that do not change the result
// (train.threads, train.max_minutes).
JobFacts program_and_config(const ResolvedConfig& config);

// Returns the hash of all weights of a model and of its buffers, also of those that are not trained.
std::uint64_t hash_of_weights(const Module& model);

// Throws UsageError if there are more ranks than micro-steps in a step.
void require_micro_steps(const ResolvedConfig& config, const Communicator& ranks);

// Throws UsageError if there are several ranks and a key of the data names what can be read only once: a rank that is
// not the first to open a pipe would wait for it for ever.
void require_rereadable_data(const ResolvedConfig& config, const Communicator& ranks);

// Throws Error on a rank whose facts differ from those of rank 0, and names the first difference. Every rank calls it.
// Calls `facts` only if there are several ranks.
void require_same(const std::function<JobFacts()>& facts, Communicator& ranks);

}  // namespace tapeformer
