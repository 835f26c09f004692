#!/usr/bin/env bash
# Builds examples/fit as a project of its own, which takes this one by add_subdirectory, and runs it. What only the
# program needs is hidden from CMake, and no library of the tokenizer, the data or the training may be built.
#   tests/check_example.sh [BUILD_FOLDER]
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
build=${1:-build-fit}
hidden=()
for package in CLI11 spdlog tomlplusplus ZLIB doctest; do hidden+=("-DCMAKE_DISABLE_FIND_PACKAGE_$package=ON"); done
# Without optimisation, and without two of the instruction sets: what is checked is what is built.
cmake --no-warn-unused-cli -G Ninja -S examples/fit -B "$build" -DCMAKE_BUILD_TYPE=Debug \
  -DCMAKE_CXX_FLAGS_DEBUG="-O0 -DTAPEFORMER_LEFT_OUT='(HWY_AVX2|HWY_AVX3)'" \
  "${hidden[@]}" >/dev/null
cmake --build "$build"
built=$(find "$build" -name '*.a' -printf '%f\n' | sort | xargs)
expected="libtapeformer_core.a libtapeformer_kernels.a libtapeformer_nn.a libtapeformer_ops.a"
expected+=" libtapeformer_tape.a libtapeformer_tensor.a"
[ "$built" = "$expected" ] || { echo "check_example: expected the libraries $expected; got $built" >&2; exit 1; }
"$build/fit"
