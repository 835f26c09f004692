// The files of a run's folder without which its weights have no meaning: tokenizers and labels. Checkpoints store their
// hashes, so that changes of them are noticed. Also the weights that adapters change (base.safetensors).
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "train/run/run_folder.h"

namespace tapeformer {

using RunFileHashes = std::map<std::string, std::string>;  // by the files' names

// Returns the hashes of the present files of the folder.
RunFileHashes hash_run_files(const RunFolder& run);

// Throws Error when one of the files has changed since the checkpoint was saved. A checkpoint of an older version has
// no hashes, and passes. The checkpoint must be undamaged.
void require_run_files(const RunFolder& run, const std::filesystem::path& checkpoint);

}  // namespace tapeformer
