// Results that do not depend on what else is in the batch.
#pragma once

#include <utility>

namespace tapeformer::kernels {

// While an object lives, every matrix product and attention that its thread starts gives each row the same bits,
// however many other rows the call has and however far the row is padded. Generation uses this, so that a translation
// depends on its own sentence alone. Otherwise gemm chooses the fastest kernel for the number of rows, and kernels add
// up in different orders.
class BatchInvariant {
 public:
  explicit BatchInvariant(bool on = true) : before_(std::exchange(on_, on)) {}
  ~BatchInvariant() { on_ = before_; }
  BatchInvariant(const BatchInvariant&) = delete;
  BatchInvariant& operator=(const BatchInvariant&) = delete;

  // On the calling thread. A parallel loop does not hand it on to other threads: ask before the loop.
  static bool is_on() { return on_; }

 private:
  static inline thread_local bool on_ = false;
  bool before_;
};

}  // namespace tapeformer::kernels
