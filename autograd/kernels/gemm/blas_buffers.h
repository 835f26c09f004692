// The memory that OpenBLAS takes for its products.
#pragma once

namespace tapeformer::kernels {

// Makes the buffers in which OpenBLAS packs operands, one for each of so many threads that multiply at the same time.
// They stay until the process ends, and a call that finds them there costs next to nothing. Throws Error when the
// system does not give the address space.
void reserve_blas_buffers(int threads);

}  // namespace tapeformer::kernels
