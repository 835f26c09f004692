// The entry of libFuzzer for the target FUZZ_TARGET.
#include <cstddef>
#include <cstdint>

#include "../targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tapeformer::fuzz::FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
