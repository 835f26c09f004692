#include "nn/formats/huggingface.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/json.h"

namespace tapeformer {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWeightsFile = "model.safetensors";
constexpr const char* kIndexFile = "model.safetensors.index.json";

bool ends_as_one_of(std::string_view name, const std::vector<std::string_view>& ends) {
  return std::ranges::any_of(ends, [&](std::string_view end) { return name.ends_with(end); });
}

// Returns the name that new files have for a tensor: with the prefix of the model, and with "weight" and "bias" where
// the norms of the first BERT files have "gamma" and "beta".
std::string present_name(std::string name, const HuggingFaceNames& names) {
  if (!name.starts_with(names.prefix) && !name.starts_with(names.head_prefix)) name.insert(0, names.prefix);
  for (const auto& [old, now] :
       {std::pair{"LayerNorm.gamma", "LayerNorm.weight"}, {"LayerNorm.beta", "LayerNorm.bias"}}) {
    if (name.ends_with(old)) name.replace(name.size() - std::string_view(old).size(), name.npos, now);
  }
  return name;
}

// Reads an index: the file of each tensor.
std::map<std::string, std::string> read_index(const fs::path& path) {
  const auto index = parse_json<nlohmann::json>(read_file(path), path.string() + ": ");
  const auto files = index.is_object() ? index.find("weight_map") : index.end();
  check(index.is_object() && files != index.end() && files->is_object(), path.string(),
        ": expected an object weight_map with the file of each tensor");
  std::map<std::string, std::string> file_of;
  for (const auto& [tensor, file] : files->items()) {
    check(file.is_string(), path.string(), ": tensor ", tensor, ": expected the name of a file, got ", dump_json(file));
    const auto name = file.get<std::string>();
    check(!name.empty() && name != "." && name != ".." && name.find('/') == name.npos, path.string(), ": tensor ",
          tensor, ": expected a file in the same folder, got ", dump_json(file));
    file_of[tensor] = name;
  }
  return file_of;
}

}  // namespace

HuggingFaceWeights::HuggingFaceWeights(const fs::path& folder, const HuggingFaceNames& names) : folder_(folder) {
  const fs::path index = folder / kIndexFile;
  if (is_there(folder / kWeightsFile)) {
    add_file(folder / kWeightsFile, names);
    return;
  }
  check(is_there(index), folder.string(), ": expected ", kWeightsFile, " or ", kIndexFile, ", got neither",
        is_there(folder / "pytorch_model.bin") ? "; pytorch_model.bin is a program, which is not run" : "");
  const std::map<std::string, std::string> file_of = read_index(index);
  std::set<std::string> files;
  for (const auto& entry : file_of) files.insert(entry.second);
  std::map<std::string, std::size_t> numbers;
  for (const std::string& file : files) {
    numbers[file] = files_.size();
    add_file(folder / file, names);
  }
  for (const auto& [tensor, file] : file_of) {
    const SafetensorsFile& weights = files_[numbers[file]];
    check(weights.entries().contains(tensor) || weights.skipped().contains(tensor), index.string(), ": tensor ", tensor,
          " is not in ", file);
  }
}

void HuggingFaceWeights::add_file(const fs::path& path, const HuggingFaceNames& names) {
  files_.emplace_back(path, SafetensorsFile::OtherDtypes::skipped);
  for (const auto& [name, dtype] : files_.back().skipped()) {
    check(ends_as_one_of(name, names.constants), path.string(), ": tensor ", name,
          ": expected F32, F16, BF16 or F64, got ", dtype);
  }
  for (const auto& [name, entry] : files_.back().entries()) {
    if (ends_as_one_of(name, names.constants)) continue;
    check(entry.dtype() == DType::f32 || entry.dtype() == DType::bf16 || entry.dtype() == DType::f64, path.string(),
          ": tensor ", name, ": expected F32, F16, BF16 or F64, got ", entry.dtype());
    const std::string now = present_name(name, names);
    check(places_.emplace(now, Place{files_.size() - 1, name}).second, path.string(), ": the tensor ", now,
          " is there twice");
    sizes_.emplace(now, entry.sizes());
  }
}

DType HuggingFaceWeights::dtype(const std::string& name) const {
  const Place& place = places_.at(name);
  return files_[place.file].entries().at(place.name).dtype() == DType::bf16 ? DType::bf16 : DType::f32;
}

void HuggingFaceWeights::read_to(const Tensor& place, const std::string& name) const {
  const Place& from = places_.at(name);
  const SafetensorsFile& file = files_[from.file];
  if (file.entries().at(from.name).dtype() == DType::f64) return place.copy_from(file.read(from.name).to(DType::f32));
  file.read(from.name, place);
}

}  // namespace tapeformer
