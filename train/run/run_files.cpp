#include "train/run/run_files.h"

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"
#include "train/run/checkpoint_store.h"

namespace tapeformer {

RunFileHashes hash_run_files(const RunFolder& run) {
  RunFileHashes hashes;
  for (const auto& path : {run.tokenizer(), run.target_tokenizer(), run.tokenizer_config(), run.labels(), run.base()}) {
    if (is_there(path)) hashes[path.filename().string()] = hash_file(InputFile(path));
  }
  return hashes;
}

void require_run_files(const RunFolder& run, const std::filesystem::path& checkpoint) {
  const auto state = read_checkpoint_state(checkpoint);
  for (const auto& [name, hash] : state.value("run_files", RunFileHashes())) {
    const std::filesystem::path path = run.root / name;
    const std::string found = hash_file(InputFile(path));
    check(found == hash, path.string(), " has changed since ", checkpoint.filename().string(),
          " was saved: expected the checksum ", hash, ", got ", found,
          ": the model's numbers mean what this file says; put the old one back");
  }
}

}  // namespace tapeformer
