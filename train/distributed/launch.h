// How a process finds out that mpirun (or srun) has started it as one of several, and joins them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "train/distributed/communicator.h"

namespace tapeformer {

// The rank that the process was started as; nothing when it was started alone.
std::optional<int> launched_rank();

// "rank 2: " for messages of such a process, else nothing.
std::string rank_prefix();

// Joins the other ranks, or is alone. The MPI module libtapeformer_mpi.so is looked for beside the program and in
// ../lib/tapeformer; a program that was started alone does not need it. TAPEFORMER_RANK_TIMEOUT (15) is the time in
// seconds after which a silent rank ends the job: `lost` is called with one line about it. Throws Error when the module
// is missing or cannot be loaded.
std::unique_ptr<Communicator> join_ranks(void (*lost)(const char* message));

// The threads that OMP_NUM_THREADS asks for; nothing where it names none.
std::optional<int> threads_of_environment();

// As many threads as this rank should have: those of the environment, or the cores that it may use, shared with the
// ranks that are bound to the same ones. Every rank calls it.
int threads_of_rank(Communicator& ranks);

}  // namespace tapeformer
