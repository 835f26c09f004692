#include "nn/attention/head_places.h"

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

// Reads the place of an attention layer from its module's name: "blocks.LAYER.attention", or in an encoder-decoder
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
std::vector<Tensor> columns_of(const Module& model, std::span<const HeadPlace> places) {
  std::vector<Tensor> columns;
  for (const AttentionLayer& layer : attention_layers(model)) {
    const Tensor weight = layer.output->weight.value();
    const std::int64_t width = weight.size(1) / layer.heads;
    for (std::int64_t head = 0; head < layer.heads; ++head) {
      if (std::ranges::find(places, HeadPlace{layer.stack, layer.layer, head}) == places.end()) continue;
      columns.push_back(weight.slice(1, head * width, (head + 1) * width));
      if (!layer.output->has_adapter()) continue;
      columns.push_back(layer.output->adapter().a.value().slice(1, head * width, (head + 1) * width));
    }
  }
  return columns;
}

}  // namespace

std::string head_name(const HeadPlace& place) {
  return str_cat(place.stack == "self" ? "" : place.stack + '.', place.layer, '.', place.head);
}

std::vector<HeadPlace> head_places(const Module& model) {
  std::vector<HeadPlace> places;
  for (const AttentionLayer& layer : attention_layers(model)) {
    for (std::int64_t head = 0; head < layer.heads; ++head) places.push_back({layer.stack, layer.layer, head});
  }
  return places;
}

HeadPlace find_head(const Module& model, std::string_view name) {
  const std::vector<HeadPlace> places = head_places(model);
  if (places.empty()) fail_usage("head ", name, ": the model has no heads of attention");
  const auto found = std::ranges::find(places, name, head_name);
  if (found == places.end()) {
    fail_usage("head ", name, ": expected one of ", head_name(places.front()), ", …, ", head_name(places.back()),
               ", which count from 0");
  }
  return *found;
}

void remove_heads(const Module& model, std::span<const HeadPlace> places) {
  for (const Tensor& columns : columns_of(model, places)) {
    columns.copy_from(Tensor::zeros(columns.sizes(), columns.dtype()));
  }
}

HeadsOff::HeadsOff(const Module& model, std::span<const HeadPlace> places) : columns_(columns_of(model, places)) {
  for (const Tensor& columns : columns_) values_.push_back(columns.clone());
  remove_heads(model, places);
}

HeadsOff::~HeadsOff() {
  for (std::size_t i = 0; i < columns_.size(); ++i) columns_[i].copy_from(values_[i]);
}

}  // namespace tapeformer
