// On which machine and with which version a run is trained: machine.json.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "train/config/config.h"
#include "train/run/run_folder.h"

namespace tapeformer {

// The CPU's name as Linux gives it, such as "Intel(R) Xeon(R) Gold 6430"; that of the architecture where it gives none.
std::string cpu_name();

// {"cpu", "cores" that this process may use, "hardware_threads", "memory_gib", "system", "threads", "matmul" (what
// train.matmul stands for here), "tapeformer" (its version and commit), "compiler", "openblas"}
nlohmann::ordered_json describe_machine(const ResolvedConfig& config);

// machine.json: a list with an object for each machine or version on which the run went on: "step", after which it did
// so (0 at the beginning), and the keys of describe_machine(). Empty where the file is missing or broken.
nlohmann::ordered_json read_machines(const RunFolder& run);

// Notes that the training goes on from `step` on this machine, unless the newest entry says so. Entries of later steps,
// which a resume has thrown away, are removed.
void record_machine(const RunFolder& run, std::int64_t step, const ResolvedConfig& config);

}  // namespace tapeformer
