// Records the machine and the version that train a run: machine.json.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "train/config/config.h"
#include "train/run/run_folder.h"

namespace tapeformer {

// Returns the CPU's name as Linux gives it, such as "Intel(R) Xeon(R) Gold 6430"; the name of the architecture if Linux
// gives none.
std::string cpu_name();

// Returns an object with "cpu", "cores" (those that this process may use), "hardware_threads", "memory_gib", "system",
// "threads", "matmul" (the precision of matrix products and the instructions that compute them), "tapeformer" (its
// version and commit), "compiler" and "openblas".
nlohmann::ordered_json describe_machine(const ResolvedConfig& config);

// Reads machine.json: a list with an object for each machine or version that trained a part of the run: "step", after
// which that part begins (0 for the first), and the keys of describe_machine(). The list is empty if the file is
// missing or damaged.
nlohmann::ordered_json read_machines(const RunFolder& run);

// Records that the training continues from `step` on this machine, unless the newest entry says so already. Removes
// entries of later steps, which a resume has thrown away.
void record_machine(const RunFolder& run, std::int64_t step, const ResolvedConfig& config);

}  // namespace tapeformer
