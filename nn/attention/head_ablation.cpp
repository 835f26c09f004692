#include "nn/attention/head_ablation.h"

#include <algorithm>

#include "core/error.h"
#include "nn/attention/attention.h"

namespace tapeformer {
namespace {

// One attention layer of a model.
struct AttentionLayer {
  std::string stack;
  std::int64_t layer, heads;
  const Linear* output;  // its weight is W_O (dim, heads·d_v)
};

// Reads where an attention layer is from its module's name: "blocks.LAYER.attention", or in an encoder-decoder
// "STACK.blocks.LAYER.attention".
AttentionLayer layer_of(const std::string& name, bool cross, std::int64_t heads, const Linear& out) {
  constexpr std::string_view kBlocks = "blocks.";
  const std::size_t blocks = name.find(kBlocks);
  check(blocks != name.npos, "attention: expected the layer in a stack of blocks, got ", name);
  const std::string stack = cross ? "cross" : blocks == 0 ? "self" : name.substr(0, blocks - 1);
  return {stack, std::stoll(name.substr(blocks + kBlocks.size())), heads, &out};
}

std::vector<AttentionLayer> attention_layers(const Module& model) {
  std::vector<AttentionLayer> layers;
  for (const NamedModule& named : model.named_modules()) {
    if (const auto* const self = dynamic_cast<const MultiHeadAttention*>(named.module)) {
      layers.push_back(layer_of(named.name, false, self->heads(), self->out));
    } else if (const auto* const cross = dynamic_cast<const CrossAttention*>(named.module)) {
      layers.push_back(layer_of(named.name, true, cross->heads(), cross->out));
    }
  }
  return layers;
}

// Returns views of the columns of W_O that belong to the heads and, if W_O has an adapter, of the same columns of the
// adapter's matrix A.
std::vector<Tensor> columns_of(const Module& model, std::span<const HeadIndex> heads) {
  std::vector<Tensor> columns;
  for (const AttentionLayer& layer : attention_layers(model)) {
    const Tensor weight = layer.output->weight.value();
    const std::int64_t width = weight.size(1) / layer.heads;
    for (std::int64_t head = 0; head < layer.heads; ++head) {
      if (std::ranges::find(heads, HeadIndex{layer.stack, layer.layer, head}) == heads.end()) continue;
      columns.push_back(weight.slice(1, head * width, (head + 1) * width));
      if (!layer.output->has_adapter()) continue;
      columns.push_back(layer.output->adapter().a.value().slice(1, head * width, (head + 1) * width));
    }
  }
  return columns;
}

}  // namespace

std::string head_name(const HeadIndex& index) {
  return str_cat(index.stack == "self" ? "" : index.stack + '.', index.layer, '.', index.head);
}

std::vector<HeadIndex> all_heads(const Module& model) {
  std::vector<HeadIndex> heads;
  for (const AttentionLayer& layer : attention_layers(model)) {
    for (std::int64_t head = 0; head < layer.heads; ++head) heads.push_back({layer.stack, layer.layer, head});
  }
  return heads;
}

HeadIndex find_head(const Module& model, std::string_view name) {
  const std::vector<HeadIndex> heads = all_heads(model);
  if (heads.empty()) fail_usage("head ", name, ": the model has no heads of attention");
  const auto found = std::ranges::find(heads, name, head_name);
  if (found == heads.end()) {
    fail_usage("head ", name, ": expected one of ", head_name(heads.front()), ", …, ", head_name(heads.back()),
               ", which count from 0");
  }
  return *found;
}

void remove_heads(const Module& model, std::span<const HeadIndex> heads) {
  for (const Tensor& columns : columns_of(model, heads)) {
    columns.copy_from(Tensor::zeros(columns.sizes(), columns.dtype()));
  }
}

HeadAblation::HeadAblation(const Module& model, std::span<const HeadIndex> heads) : columns_(columns_of(model, heads)) {
  for (const Tensor& columns : columns_) values_.push_back(columns.clone());
  remove_heads(model, heads);
}

HeadAblation::~HeadAblation() {
  for (std::size_t i = 0; i < columns_.size(); ++i) columns_[i].copy_from(values_[i]);
}

}  // namespace tapeformer
