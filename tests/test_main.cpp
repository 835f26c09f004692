// Runs the tests of a program, with as many threads as OMP_NUM_THREADS says where it is set, as the command does.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>

#include "core/parallel.h"

int main(int argc, char** argv) {
  if (const char* threads = std::getenv("OMP_NUM_THREADS")) tapeformer::set_thread_count(std::atoi(threads));
  return doctest::Context(argc, argv).run();
}
