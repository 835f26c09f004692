#include "autograd/gradcheck/op_cases.h"

#include <utility>

#include "autograd/gradcheck/op_table.h"

namespace tapeformer {

// Each input's random numbers depend on the number of inputs before it.
std::vector<OpCase> op_cases() {
  OpTable table;
  add_arithmetic(table);
  add_views(table);
  add_reductions(table);
  add_functions(table);
  add_products(table);
  add_layers(table);
  add_attention(table);
  add_head_transforms(table);
  add_recurrent(table);
  add_losses(table);
  add_recompute(table);
  add_value_widths(table);
  add_hooks(table);
  add_convolutions(table);
  return std::move(table.rows);
}

}  // namespace tapeformer
