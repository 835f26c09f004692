#include "autograd/kernels/scratch.h"

#include <memory>
#include <new>
#include <vector>

namespace tapeformer::kernels::detail {
namespace {

struct Buffer {
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{kCacheLine}); }
  };
  std::unique_ptr<std::byte, Free> memory;
  std::size_t capacity = 0;
};

// A thread's buffers: the first `live` belong to Scratch objects, the oldest object has the first one.
struct Stack {
  std::vector<Buffer> buffers;
  std::size_t live = 0;
};
thread_local Stack stack;

}  // namespace

std::byte* push_scratch(std::int64_t bytes) {
  Stack& mine = stack;
  if (mine.live == mine.buffers.size()) mine.buffers.emplace_back();
  Buffer& buffer = mine.buffers[mine.live];
  if (const auto wanted = static_cast<std::size_t>(bytes); wanted > buffer.capacity) {
    buffer.memory.reset();  // first, so that the old and the new memory are never held together
    buffer.capacity = 0;
    buffer.memory.reset(static_cast<std::byte*>(::operator new (wanted, std::align_val_t{kCacheLine})));
    buffer.capacity = wanted;
  }
  ++mine.live;
  return buffer.memory.get();
}

void pop_scratch() noexcept { --stack.live; }

}  // namespace tapeformer::kernels::detail
