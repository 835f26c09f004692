#include "autograd/kernels/scratch.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <initializer_list>

using namespace tapeformer;
using kernels::Scratch;

TEST_CASE("scratch: objects that live at the same time have memory of their own, aligned to cache lines") {
  const Scratch<float> first(100);
  for (int i = 0; i < 100; ++i) first.data()[i] = 1;
  {
    const Scratch<float> second(100);
    const Scratch<double> third(1000);
    for (int i = 0; i < 100; ++i) second.data()[i] = 2;
    for (int i = 0; i < 1000; ++i) third.data()[i] = 3;
    for (const void* data :
         {static_cast<void*>(first.data()), static_cast<void*>(second.data()), static_cast<void*>(third.data())}) {
      CHECK(reinterpret_cast<std::uintptr_t>(data) % 64 == 0);
    }
    for (int i = 0; i < 100; ++i) CHECK(second.data()[i] == 2);
  }
  for (int i = 0; i < 100; ++i) CHECK(first.data()[i] == 1);
}

TEST_CASE("scratch: the memory is kept for the next object") {
  const void* before = Scratch<float>(5000).data();
  CHECK(Scratch<float>(5000).data() == before);
  CHECK(Scratch<std::int32_t>(10).data() == before);
  CHECK_NOTHROW(Scratch<float>(0));
}
