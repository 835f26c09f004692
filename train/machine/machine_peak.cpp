#include "train/machine/machine_peak.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "autograd/kernels/gemm/gemm.h"
#include "autograd/kernels/gemm/int8/int8_gemm.h"
#include "autograd/tensor/tensor.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/steady_clock.h"
#include "data/text/token_cache.h"
#include "train/machine/machine.h"

namespace tapeformer {
namespace {

using Json = nlohmann::ordered_json;

// Returns the speed of the fastest of several products of (1024, 1024) matrices: other processes can only make a
// product slower.
double measure_peak_flops(kernels::MatmulPrecision precision) {
  constexpr std::int64_t kSize = 1024;
  constexpr double kBudget = 0.2, kFlops = 2.0 * kSize * kSize * kSize;
  const kernels::MatmulPrecisionScope scope(precision);
  const Tensor a = Tensor::full({kSize, kSize}, DType::f32, 0.5), c = Tensor::empty({kSize, kSize}, DType::f32);
  const double first = steady_seconds();
  double best = 1e9;
  for (int i = 0; i < 3 || steady_seconds() - first < kBudget; ++i) {
    const double begin = steady_seconds();
    const kernels::MatrixView<float> b{a.data<float>(), kSize, true};
    if (precision == kernels::MatmulPrecision::low) {
      kernels::int8_gemm(c.data<float>(), kSize, b.data, kSize, b, kSize, kSize, kSize, 0);
    } else {
      kernels::gemm(c.data<float>(), kSize, {b.data, kSize}, b, kSize, kSize, kSize, 1.0f, 0.0f);
    }
    best = std::min(best, steady_seconds() - begin);
  }
  return kFlops / best;
}

// Returns the stored peak. Measures it first if none is stored, or if `again`.
double peak_flops(kernels::MatmulPrecision precision, int threads, bool again) {
  const std::filesystem::path file = token_cache_folder() / "machine.json";
  const std::string cpu = cpu_name(), setting = str_cat(word_of(precision), ", threads: ", threads);
  std::error_code error;
  Json known;
  try {
    if (std::filesystem::exists(file, error)) known = parse_json<Json>(read_file(file));
  } catch (const Error&) {  // a damaged file, or one that cannot be read
  }
  if (!known.is_object()) known = Json::object();  // a missing or damaged file
  if (!known[cpu].is_object()) known[cpu] = Json::object();
  Json& stored = known[cpu][setting];
  const double kept = stored.is_number() ? stored.get<double>() : 0;
  if (kept > 0 && !again) return kept;
  const int before = thread_count();
  set_thread_count(threads);
  const double peak = std::max(kept, measure_peak_flops(precision));
  set_thread_count(before);
  reset_peak_resident();
  if (peak == kept) return kept;
  stored = peak;
  std::filesystem::create_directories(file.parent_path(), error);
  try {
    write_file_atomically(file, dump_json(known, 2) + "\n");
  } catch (const Error&) {  // the folder cannot be written: the next process measures again
  }
  return peak;
}

}  // namespace

double machine_peak_flops(kernels::MatmulPrecision precision, int threads) {
  return peak_flops(precision, threads, /*again=*/false);
}

double machine_peak_flops_again(kernels::MatmulPrecision precision, int threads) {
  return peak_flops(precision, threads, /*again=*/true);
}

}  // namespace tapeformer
