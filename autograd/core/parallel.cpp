#include "autograd/core/parallel.h"

#include <omp.h>
#include <sched.h>

#include <cmath>
#include <exception>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "autograd/core/error.h"

namespace tapeformer {
namespace {

// Cores, counting the hardware threads of one core once, among the CPUs of the affinity mask.
int physical_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    std::ifstream file(concat("/sys/devices/system/cpu/cpu", cpu, "/topology/thread_siblings_list"));
    std::string siblings;
    if (!std::getline(file, siblings)) siblings = concat("cpu", cpu);
    cores.insert(siblings);
  }
  return std::max(1, static_cast<int>(cores.size()));
}

// The CPU quota of a cgroup (v2 or v1), rounded up; 0 when there is none.
int cgroup_quota() {
  std::string quota;
  double period = 0;
  if (std::ifstream v2("/sys/fs/cgroup/cpu.max"); v2 >> quota >> period) {
    return quota == "max" || period <= 0 ? 0 : static_cast<int>(std::ceil(std::stod(quota) / period));
  }
  double quota_us = 0;
  std::ifstream quota_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"), period_file("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  if (quota_file >> quota_us && period_file >> period && quota_us > 0 && period > 0) {
    return static_cast<int>(std::ceil(quota_us / period));
  }
  return 0;
}

int& threads_in_use() {
  static int threads = [] {
    const int threads = default_thread_count();
    omp_set_num_threads(threads);
    return threads;
  }();
  return threads;
}

}  // namespace

int default_thread_count() {
  static const int threads = [] {
    const int cores = physical_cores(), quota = cgroup_quota();
    return quota > 0 ? std::min(cores, quota) : cores;
  }();
  return threads;
}

int thread_count() { return threads_in_use(); }

int available_threads() { return omp_in_parallel() ? 1 : thread_count(); }

void set_thread_count(int threads) {
  check(threads >= 1, "threads: expected at least 1, got ", threads);
  threads_in_use() = threads;
  omp_set_num_threads(threads);
}

namespace detail {

void run_chunks(std::int64_t chunks, void (*body)(const void*, std::int64_t), const void* context) {
  const int threads = static_cast<int>(std::min<std::int64_t>(available_threads(), chunks));
  if (threads <= 1) {
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) body(context, chunk);
    return;
  }
  std::exception_ptr error;
  std::mutex error_mutex;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    try {
      body(context, chunk);
    } catch (...) {
      const std::lock_guard lock(error_mutex);
      if (!error) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace detail
}  // namespace tapeformer
