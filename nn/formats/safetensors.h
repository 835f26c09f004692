// Reading and writing tensors in Hugging Face's safetensors format: an 8-byte little-endian length, a JSON header with
// each tensor's dtype, shape and place, then the raw little-endian values.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "autograd/tensor/tensor.h"

namespace tapeformer {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// Writes the tensors in the given order, with optional string metadata. Not atomic: write into a staging folder.
// Throws Error when the file cannot be written.
void write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                       const std::map<std::string, std::string>& metadata = {});

// Throws Error, naming the file, when it is missing, truncated or malformed. Reads F32, F64 and I32.
std::map<std::string, Tensor> read_safetensors(const std::filesystem::path& path);

}  // namespace tapeformer
