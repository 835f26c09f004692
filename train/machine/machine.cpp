#include "train/machine/machine.h"

#include <sys/utsname.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "autograd/kernels/gemm/gemm.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "train/config/matmul_config.h"
#include "train/machine/build_name.h"

namespace tapeformer {
namespace {

using Json = nlohmann::ordered_json;

std::string compiler() {
#if defined(__clang__)
  return str_cat("clang ", __clang_major__, ".", __clang_minor__, ".", __clang_patchlevel__);
#else
  return str_cat("g++ ", __GNUC__, ".", __GNUC_MINOR__, ".", __GNUC_PATCHLEVEL__);
#endif
}

}  // namespace

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != line.npos) return line.substr(colon + 2);
  }
  utsname system{};
  uname(&system);
  return system.machine;
}

Json describe_machine(const ResolvedConfig& config) {
  utsname system{};
  uname(&system);
  const std::string architecture = system.machine;
  return {{"cpu", cpu_name()},
          {"cores", default_thread_count()},
          {"hardware_threads", std::thread::hardware_concurrency()},
          {"memory_gib", std::round(10 * static_cast<double>(machine_memory_bytes()) / (1 << 30)) / 10},
          {"system", str_cat(system.sysname, " ", system.release, " ", architecture)},
          {"threads", thread_count()},
          {"matmul", describe_matmul(matmul_precision(config))},
          {"tapeformer", build_name()},
          {"compiler", compiler()},
          {"openblas", kernels::blas_description()}};
}

Json read_machines(const RunFolder& run) {
  Json machines = Json::array();
  if (!std::filesystem::exists(run.machine())) return machines;
  Json stored;
  try {
    stored = parse_json<Json>(read_file(run.machine()));
  } catch (const IoError&) {
    throw;
  } catch (const Error&) {  // a damaged file is written anew
  }
  if (!stored.is_array()) return machines;
  for (Json& machine : stored) {
    const bool whole = machine.is_object() && machine.contains("step") && machine["step"].is_number_integer();
    if (whole) machines.push_back(std::move(machine));
  }
  return machines;
}

void record_machine(const RunFolder& run, std::int64_t step, const ResolvedConfig& config) {
  Json machines = Json::array();
  for (Json& machine : read_machines(run)) {
    if (machine["step"].get<std::int64_t>() <= step) machines.push_back(std::move(machine));
  }
  Json now{{"step", step}};
  now.update(describe_machine(config));
  if (!machines.empty()) {
    Json same = machines.back();
    same["step"] = step;
    if (same == now) now = nullptr;
  }
  if (!now.is_null()) machines.push_back(std::move(now));
  const std::string text = dump_json(machines, 1) + "\n";
  if (!std::filesystem::exists(run.machine()) || read_file(run.machine()) != text) {
    write_file_atomically(run.machine(), text);
  }
}

}  // namespace tapeformer
