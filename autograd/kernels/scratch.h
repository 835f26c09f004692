// Temporary memory of a kernel.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tapeformer::kernels {

inline constexpr std::size_t kCacheLine = 64;

namespace detail {
std::byte* push_scratch(std::int64_t bytes);
void pop_scratch() noexcept;
}  // namespace detail

// Room for n elements, aligned to a cache line and uninitialised, for as long as the object lives. Objects that live at
// the same time have different memory. The thread keeps the memory for its next Scratch, so that a training loop of
// fixed shapes allocates nothing here. Only for local variables: a thread destroys its objects in the reverse order.
template <class T>
class Scratch {
 public:
  explicit Scratch(std::int64_t n)
      : data_(reinterpret_cast<T*>(detail::push_scratch(n * static_cast<std::int64_t>(sizeof(T))))) {}
  ~Scratch() { detail::pop_scratch(); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  T* data() const { return data_; }

 private:
  T* data_;
};

}  // namespace tapeformer::kernels
