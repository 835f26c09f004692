#include "nn/interfaces/model.h"

namespace tapeformer {

Tensor Batch::row_lengths() const {
  if (lengths.defined()) return lengths;
  return Tensor::full({inputs().size(0)}, DType::i32, static_cast<double>(inputs().size(1)));
}

Batch Batch::on(Tape& tape) const {
  Batch batch = *this;
  for (Variable* input : {&batch.input_ids, &batch.input_features}) {
    if (input->defined()) *input = Variable::constant(tape, input->value());
  }
  return batch;
}

const Variable& ids_of(const Batch& batch, std::string_view model) {
  check(batch.input_ids.defined(), model, ": expected a batch of tokens, got one without");
  check(batch.input_ids.value().rank() == 2, model, ": expected ids (B, T), got ", batch.input_ids.sizes());
  return batch.input_ids;
}

const Variable& only_ids(const Batch& batch, std::string_view model) {
  check(!batch.token_type_ids.defined(), model, ": the batch has token types, which the model does not read");
  return ids_of(batch, model);
}

}  // namespace tapeformer
