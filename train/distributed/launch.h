// Detects that mpirun (or srun) has started this process as one of several, and joins them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "train/distributed/communicator.h"

namespace tapeformer {

// Returns the rank that the process was started as; nullopt if it was started alone.
std::optional<int> launched_rank();

// Returns the beginning of this process's messages: "rank 2: ", or "" if it was started alone.
std::string rank_prefix();

// Joins the other ranks; a process that was started alone becomes rank 0 of 1. The MPI module libtapeformer_mpi.so is
// looked for beside the program and in ../lib/tapeformer; a program that was started alone does not need it.
// TAPEFORMER_RANK_TIMEOUT (15) is the time in seconds after which a silent rank ends the job: `lost` is called with one
// line about it. Throws UsageError if it is no whole number above 0, and Error when the module is missing or cannot be
// loaded.
std::unique_ptr<Communicator> join_ranks(void (*lost)(const char* message));

// Returns the number of threads that OMP_NUM_THREADS asks for; nullopt if it gives no number.
std::optional<int> threads_of_environment();

// Returns the number of threads for this rank: that of OMP_NUM_THREADS, or the number of cores that it may use, divided
// by the number of ranks that are bound to the same cores. Every rank calls it.
int threads_of_rank(Communicator& ranks);

}  // namespace tapeformer
