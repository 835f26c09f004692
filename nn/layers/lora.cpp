#include "nn/layers/lora.h"

#include <algorithm>
#include <set>

#include "autograd/tensor/allocator.h"
#include "core/error.h"
#include "core/text/joined.h"
#include "nn/layers/layers.h"

namespace tapeformer {
namespace {

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

// Returns the indices of the stacked matrices of this layer that the targets name; the index 0 for a layer of one
// matrix. Adds the targets that name something to `found`.
std::vector<std::size_t> targeted(std::string_view name, const std::vector<std::string>& targets,
                                  std::set<std::string>& found) {
  const std::string_view layer = last_part(name);
  const std::vector<std::string_view> stacked = stacked_names(layer);
  const auto is_target = [&](std::string_view word) {
    const auto target = std::ranges::find(targets, word);
    if (target == targets.end()) return false;
    found.insert(*target);
    return true;
  };
  const bool whole = targets.empty() || is_target(layer);
  std::vector<std::size_t> matrices;
  for (std::size_t i = 0; i < std::max<std::size_t>(stacked.size(), 1); ++i) {
    const bool named = !stacked.empty() && is_target(stacked[i]);
    if (whole || named) matrices.push_back(i);
  }
  return matrices;
}

// The words that can be targets of a model with these linear layers.
std::vector<std::string> possible_targets(const std::vector<std::string>& layers) {
  std::set<std::string> words;
  for (const std::string& name : layers) {
    words.emplace(last_part(name));
    for (const std::string_view word : stacked_names(last_part(name))) words.emplace(word);
  }
  return {words.begin(), words.end()};
}

}  // namespace

bool is_adapter(std::string_view parameter) { return last_part(parameter).starts_with("lora_"); }

std::vector<std::string_view> stacked_names(std::string_view layer) {
  if (layer == "qkv") return {"q", "k", "v"};
  if (layer == "kv") return {"k", "v"};
  if (layer == "gate_up") return {"gate", "up"};
  return {};
}

void add_adapters(Module& model, const LoraOptions& options) {
  if (options.rank == 0) return;
  for (const NamedParameter& parameter : model.named_parameters()) parameter.variable.freeze();
  std::set<std::string> found;
  std::vector<std::string> layers;
  model.for_each_module([&](const std::string& name, Module& module) {
    auto* const linear = dynamic_cast<Linear*>(&module);
    if (!linear || linear->is_head() || linear->has_adapter()) return;
    layers.push_back(name);
    const std::vector<std::size_t> matrices = targeted(name, options.targets, found);
    if (!matrices.empty()) linear->add_adapter(options, matrices);
  });
  const std::vector<std::string> words = possible_targets(layers);
  if (words.empty()) fail_usage("train.lora.rank: expected 0 for a model without linear layers, got ", options.rank);
  for (const std::string& target : options.targets) {
    if (found.count(target) == 0) {
      fail_usage("train.lora.targets: expected linear layers of the model (", joined(words, ", "), "), got ", target);
    }
  }
}

void round_frozen_weights(const Module& model) {
  for (const NamedModule& named : model.named_modules()) {
    const auto* const linear = dynamic_cast<const Linear*>(named.module);
    if (!linear || linear->weight.requires_grad() || linear->weight.dtype() != DType::f32) continue;
    linear->weight.replace_frozen(linear->weight.value().to(DType::bf16));
  }
  release_cached_memory();
}

std::map<std::string, LoraWeights> adapters_of(const Module& model) {
  std::map<std::string, LoraWeights> adapters;
  for (const NamedModule& named : model.named_modules()) {
    const auto* const linear = dynamic_cast<const Linear*>(named.module);
    if (linear && linear->has_adapter()) adapters.emplace(named.name, linear->adapter());
  }
  return adapters;
}

void merge_adapters(Module& model) {
  model.for_each_module([](const std::string&, Module& module) {
    if (auto* const linear = dynamic_cast<Linear*>(&module)) linear->merge_adapter();
  });
}

}  // namespace tapeformer
