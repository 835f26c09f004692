#include "train/distributed/same_job.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"
#include "data/text/byte_reader.h"
#include "train/config/data_kinds.h"
#include "train/config/key_text.h"

namespace tapeformer {

JobFacts program_and_config(const ResolvedConfig& config) {
  JobFacts facts{{"the program", to_hex(hash_bytes(MappedFile("/proc/self/exe").bytes()))}};
  for (const ConfigEntry& entry : config_entries(config.values())) {
    const std::string name = entry.name();
    if (name == "train.threads" || name == "train.max_minutes") continue;
    facts.emplace_back(name, command_line_text(entry.get(config.values())));
  }
  return facts;
}

std::uint64_t hash_of_weights(const Module& model) {
  Hasher hasher;
  for (const auto& named : model.named_tensors()) {
    const Tensor& tensor = named.second;
    dispatch_all(tensor.dtype(), [&]<class T>(T) {
      const std::span<const T> values = tensor.span<T>();
      hasher.update(std::string_view(reinterpret_cast<const char*>(values.data()), values.size_bytes()));
    });
  }
  return hasher.digest();
}

void require_micro_steps(const ResolvedConfig& config, const Communicator& ranks) {
  if (config.train.accumulate >= ranks.size()) return;
  fail_usage("train.accumulate: expected at least ", ranks.size(), ", a micro-step for each rank, got ",
             config.train.accumulate, " (more micro-steps of smaller train.batch make the same step)");
}

void require_rereadable_data(const ResolvedConfig& config, const Communicator& ranks) {
  if (ranks.size() == 1) return;
  for (const auto& [entry, validates] : data_files_keys(config.values())) {
    for (const std::string& path : texts_of(entry.get(config.values()))) {
      if (!is_read_once(path)) continue;
      fail_usage(entry.name(), ": expected files, which each of the ", ranks.size(), " ranks reads, got ",
                 shown_name(path), ", which can be read only once");
    }
  }
}

void require_same(const std::function<JobFacts()>& own_facts, Communicator& ranks) {
  if (ranks.size() == 1) return;
  const JobFacts facts = own_facts();
  std::string own;  // names and values, each followed by a zero byte
  for (const auto& [name, value] : facts) own += name + '\0' + value + '\0';
  const std::string first = ranks.broadcast(own);
  std::string_view left = first;
  const auto take = [&] {
    const std::string_view text = left.substr(0, left.find('\0'));
    left.remove_prefix(std::min(left.size(), text.size() + 1));
    return std::string(text);
  };
  for (const auto& [name, value] : facts) {
    const std::string first_name = take(), first_value = take();
    check(name == first_name, name, ": expected ", first_name, ", which rank 0 has there");
    check(value == first_value, name, ": expected ", first_value, ", which rank 0 has, got ", value);
  }
  ranks.barrier();  // no rank continues before all have compared
}

}  // namespace tapeformer
