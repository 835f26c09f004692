// The memory that this process uses, and the memory that is available to it.
#pragma once

#include <cstdint>

namespace tapeformer {

// The resident memory of this process in bytes: the present value, and the peak since the process began or since
// reset_peak_resident(). 0 if the system does not tell.
std::int64_t resident_bytes();
std::int64_t peak_resident_bytes();

// The size of this process's address space in bytes, used or not. 0 if the system does not tell.
std::int64_t address_space_bytes();

// Returns freed memory to the system, and resets the peak to the memory that is resident now. If the system does not
// support this, the peak remains that of the whole process.
void reset_peak_resident();

// The largest memory of this process in bytes: the machine's memory, or the limit of its cgroup or of its address space
// (ulimit -v) if that is lower.
std::int64_t machine_memory_bytes();

}  // namespace tapeformer
