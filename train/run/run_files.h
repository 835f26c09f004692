// The files of a run's folder that give its weights their meaning: tokenizers and labels. Checkpoints remember their
// hashes, so that damage to them is noticed.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "train/run/run_folder.h"

namespace tapeformer {

using RunFileHashes = std::map<std::string, std::string>;  // by the files' names

// Those that the folder has now.
RunFileHashes hash_run_files(const RunFolder& run);

// Throws Error when one of the files is not what it was when the checkpoint was saved. A checkpoint of an older version
// remembers no hashes. The checkpoint must be whole.
void require_run_files(const RunFolder& run, const std::filesystem::path& checkpoint);

}  // namespace tapeformer
