// What units share, for their tables: see Bf16Unit.
#pragma once

#include <type_traits>

#include "autograd/kernels/gemm/bf16/bf16_unit.h"

namespace tapeformer::kernels {

// The types of the functions that Bf16Unit points to.
template <class Pointer>
using FunctionOf = std::remove_pointer_t<Pointer>;
using PackRows = FunctionOf<decltype(Bf16Unit::pack_rows)>;
using PackColumns = FunctionOf<decltype(Bf16Unit::pack_columns)>;
using PackRoundedColumns = FunctionOf<decltype(Bf16Unit::pack_rounded_columns)>;
using MultiplyFewRows = FunctionOf<decltype(Bf16Unit::multiply_few_rows)>;
using RoundAndMultiplyFewRows = FunctionOf<decltype(Bf16Unit::round_and_multiply_few_rows)>;

// Those with avx512 in their names need a CPU with AVX512_BF16; the others run on any.
bool has_avx512_bf16();
PackRows pack_rows_avx512, pack_rows_by_software;
PackColumns pack_columns_avx512, pack_columns_by_software;
PackRoundedColumns pack_rounded_columns_avx512, pack_rounded_columns_by_software;
MultiplyFewRows multiply_few_rows_avx512, multiply_few_rows_by_software;
RoundAndMultiplyFewRows round_and_multiply_few_rows_avx512;

}  // namespace tapeformer::kernels
