#include "train/distributed/launch.h"

#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/error.h"
#include "core/parallel.h"
#include "core/text/parse_number.h"

namespace tapeformer {
namespace {

constexpr const char* kModule = "libtapeformer_mpi.so";

std::optional<int> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (!text || !*text) return std::nullopt;
  return std::atoi(text);
}

// Returns the seconds that a rank may be silent. Throws UsageError for a text that is no number of seconds.
int allowed_silence_s() {
  constexpr int kDefault = 15;
  const char* const text = std::getenv("TAPEFORMER_RANK_TIMEOUT");
  if (!text || !*text) return kDefault;
  const auto seconds = parse_number<int>(text);
  if (!seconds || *seconds < 1)
    fail_usage("TAPEFORMER_RANK_TIMEOUT: expected a whole number of seconds, 1 or more, got ", text);
  return *seconds;
}

std::filesystem::path find_module() {
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::filesystem::path installed = folder.parent_path() / "lib" / "tapeformer" / kModule;
  return std::filesystem::exists(installed) ? installed : folder / kModule;
}

ConnectFunction* load_module() {
  const std::filesystem::path path = find_module();
  check(std::filesystem::exists(path), "started as one of several ranks, but ", path.string(),
        " is missing: build with Open MPI installed (scripts/setup.sh --mpi)");
  // Open MPI loads modules of its own, which need the symbols of this one (RTLD_GLOBAL).
  void* const module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  check(module != nullptr, "the MPI module cannot be loaded: ", module ? "" : ::dlerror());
  void* const connect = ::dlsym(module, kConnectName);
  check(connect != nullptr, path.string(), ": there is no function ", kConnectName);
  return reinterpret_cast<ConnectFunction*>(connect);
}

// Returns a text that is the same for processes that may use the same cores of the same host.
std::string host_and_cores() {
  char host[256] = "";
  ::gethostname(host, sizeof(host) - 1);
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  ::sched_getaffinity(0, sizeof(allowed), &allowed);
  return std::string(host) + std::string(reinterpret_cast<const char*>(&allowed), sizeof(allowed));
}

}  // namespace

std::optional<int> launched_rank() {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"}) {
    const auto size = number_in(variable);
    if (size == 1) return std::nullopt;  // mpirun -n 1
    if (size) break;
  }
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
    if (const auto rank = number_in(variable)) return rank;
  }
  return std::nullopt;
}

std::string rank_prefix() {
  const auto rank = launched_rank();
  return rank ? str_cat("rank ", *rank, ": ") : "";
}

std::unique_ptr<Communicator> join_ranks(void (*lost)(const char* message)) {
  if (!launched_rank()) return std::make_unique<Communicator>();
  const int silence_s = allowed_silence_s();
  return std::make_unique<Communicator>(std::unique_ptr<Transport>(load_module()(silence_s, lost)));
}

std::optional<int> threads_of_environment() {
  constexpr int kMost = 4096;  // the largest value of train.threads
  const auto threads = number_in("OMP_NUM_THREADS");
  return threads && *threads >= 1 ? std::optional(std::min(*threads, kMost)) : std::nullopt;
}

int threads_of_rank(Communicator& ranks) {
  const auto wanted = threads_of_environment();
  if (ranks.size() == 1) return wanted.value_or(default_thread_count());
  // Also with a wanted number: the ranks of another host, whose environment has none, wait for the cores of all.
  const std::vector<std::string> cores = ranks.gather(host_and_cores());
  if (wanted) return *wanted;
  const auto sharing = static_cast<int>(std::ranges::count(cores, cores[ranks.rank()]));
  return std::max(1, default_thread_count() / sharing);
}

}  // namespace tapeformer
