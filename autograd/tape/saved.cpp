#include "autograd/tape/saved.h"

#include "autograd/tape/tape.h"

namespace tapeformer {

// The op that made a value is on the tape before every op that saved it, so backward has not freed it yet.
Tensor Saved::get() const { return tape_ ? tape_->recompute_value(id_) : tensor_; }

}  // namespace tapeformer
