// TEST_CASE("..." * long_test()): a test that takes long by code that shorter tests run as well, but for a dozen
// branches at most. It is left out of a build with AddressSanitizer, where it takes many times as long. Which branches
// a test alone runs is in the files that clang's -fsanitize-coverage=trace-pc-guard writes, test by test.
#pragma once

#include <doctest/doctest.h>

#include "core/sanitizers.h"

inline doctest::skip long_test() {
#ifdef TAPEFORMER_ADDRESS_SANITIZER
  return doctest::skip(true);
#else
  return doctest::skip(false);
#endif
}
