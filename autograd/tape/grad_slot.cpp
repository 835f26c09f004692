#include "autograd/tape/grad_slot.h"

#include <utility>

namespace tapeformer {

GradTarget GradSlot::target() {
  GradCell& cell = *cell_;
  const bool first = !std::exchange(cell.written, true);
  if (cell.fixed_place) return {cell.gradient, first ? 0.0 : 1.0};
  if (first) {
    cell.gradient = Tensor::empty(sizes_, dtype_);
    return {cell.gradient, 0};
  }
  // Another holder may still read this tensor (a gradient passed to two inputs): then write to a copy.
  if (!cell.gradient.is_contiguous() || !cell.gradient.owns_storage_alone()) cell.gradient = cell.gradient.clone();
  return {cell.gradient, 1};
}

void GradSlot::accumulate(const Tensor& gradient) {
  check(gradient.sizes() == sizes_ && gradient.dtype() == dtype_, "gradient: expected ", sizes_, " ", dtype_, ", got ",
        gradient.sizes(), " ", gradient.dtype());
  if (cell_->written) {
    target().tensor.add_from(gradient);
  } else if (cell_->fixed_place) {
    target().tensor.copy_from(gradient);
  } else {
    cell_->gradient = gradient;
    cell_->written = true;
  }
}

}  // namespace tapeformer
