// The weights of models in Hugging Face's folders: model.safetensors, or several files with an index, and the names of
// their tensors.
#pragma once

#include <filesystem>
#include <string_view>

#include "nn/formats/tensor_map.h"

namespace tapeformer {

// The names of an architecture's tensors. Old files have slightly different names, which are changed to these when they
// are read.
struct HuggingFaceNames {
  TensorMap (*map)(const TransformerShape&);
  // The prefix of the names of the model's tensors ("transformer."), which files without a head leave out; and the
  // prefix of the names of its heads.
  std::string_view prefix, head_prefix;
  std::vector<std::string_view> constants;  // suffixes of names: such tensors are not weights, and are not read
  std::string embedding, head;              // the matrices of tokens, which are one if the model is tied
};

// GPT-2 (GPT2LMHeadModel): blocks with layer norms and learned positions; all its matrices are (in, out).
const HuggingFaceNames& gpt2_names();
// Llama, Qwen2 and Qwen3 (LlamaForCausalLM): rotary positions, RMS norms, gated feed-forward layers.
const HuggingFaceNames& llama_names();
// BERT (BertForPreTraining, BertForMaskedLM): with segments, the head that predicts tokens, and perhaps next-sentence
// prediction.
const HuggingFaceNames& bert_names();

// The tensors of a folder, F32, F16, BF16 or F64.
class HuggingFaceWeights : public TensorSource {
 public:
  // Throws Error, naming the file, if there are no weights, if a file is malformed, or if an index names a file outside
  // of the folder, or a file that lacks a tensor that the index assigns to it.
  HuggingFaceWeights(const std::filesystem::path& folder, const HuggingFaceNames& names);

  std::string origin() const override { return folder_.string(); }
  const std::map<std::string, Dims>& tensors() const override { return sizes_; }
  DType dtype(const std::string& name) const override;
  void read_to(const Tensor& place, const std::string& name) const override;

 private:
  struct Place {
    std::size_t file;  // an index of files_
    std::string name;  // in that file
  };
  void add_file(const std::filesystem::path& path, const HuggingFaceNames& names);

  std::filesystem::path folder_;
  std::vector<SafetensorsFile> files_;
  std::map<std::string, Place> places_;
  std::map<std::string, Dims> sizes_;
};

}  // namespace tapeformer
