// How much memory this process has, and how much there is for it.
#pragma once

#include <cstdint>

namespace tapeformer {

// The bytes of this process that are in physical memory now, and the most that were since it began or since
// reset_peak_resident(). 0 where the system does not tell.
std::int64_t resident_bytes();
std::int64_t peak_resident_bytes();

// The bytes of this process's address space, used or not. 0 where the system does not tell.
std::int64_t address_space_bytes();

// Lets the peak begin anew at what is resident now, after memory that was freed is given back to the system. Where the
// system cannot do it, the peak stays that of the whole process.
void reset_peak_resident();

// The bytes that this process may have at most: the machine's memory, or the limit of its cgroup or of its address
// space (ulimit -v) if that is lower.
std::int64_t machine_memory_bytes();

}  // namespace tapeformer
