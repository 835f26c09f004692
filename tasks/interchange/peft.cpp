#include "tasks/interchange/peft.h"

#include <algorithm>
#include <optional>
#include <set>

#include "core/files.h"
#include "core/json.h"
#include "data/chat/chat_format.h"
#include "nn/layers/layers.h"
#include "nn/optim/parameter_slab.h"
#include "tasks/common/models.h"
#include "tasks/interchange/huggingface_layout.h"
#include "tasks/interchange/peft_config.h"
#include "train/config/idle_keys.h"
#include "train/distributed/make_optimizer.h"
#include "train/run/checkpoint.h"
#include "train/run/disk.h"

namespace tapeformer {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kAdapterConfig = "adapter_config.json";
constexpr const char* kAdapterModel = "adapter_model.safetensors";
constexpr std::string_view kPrefix = "base_model.model.", kWeightEnd = ".weight";
constexpr std::string_view kDown = ".lora_A.weight", kUp = ".lora_B.weight";

// A linear module of the Hugging Face model. It is one or several of the matrices that one of our linear layers stacks.
struct AdaptedModule {
  std::string path;                   // "model.layers.0.self_attn.q_proj"
  std::string layer;                  // our layer: "blocks.0.attention.qkv"
  std::vector<std::string> matrices;  // the words of train.lora.targets for its matrices, in their order
  std::int64_t row = 0, rows = 0;     // of our layer's weight
  bool transposed = false;            // the weight is (in, out) in the file
};

// The names of the layers that can have adapters.
std::set<std::string> adaptable_layers(const Module& model) {
  std::set<std::string> layers;
  for (const NamedModule& named : model.named_modules()) {
    const auto* const linear = dynamic_cast<const Linear*>(named.module);
    if (linear && !linear->is_head()) layers.insert(named.name);
  }
  return layers;
}

// Returns the modules of all adaptable layers, in the Hugging Face layout that the model fits.
std::vector<AdaptedModule> modules_of(const ResolvedConfig& config, const Module& model) {
  const auto weights = model.state_dict();
  const std::set<std::string> layers = adaptable_layers(model);
  const TensorMap map = layout_for(config).names().map(shape_of(config.model.options));
  std::vector<AdaptedModule> modules;
  for (const TensorMapping& mapping : map.rows) {
    if (!mapping.parameter.ends_with(kWeightEnd)) continue;
    const std::string layer = mapping.parameter.substr(0, mapping.parameter.size() - kWeightEnd.size());
    if (!layers.contains(layer)) continue;
    const Tensor& weight = weights.at(mapping.parameter);
    const std::string word = layer.substr(layer.rfind('.') + 1);
    std::vector<std::string_view> stacked = stacked_names(word);
    if (stacked.empty()) stacked.push_back(word);
    const std::size_t each = stacked.size() / mapping.parts.size();
    std::int64_t row = 0;
    for (std::size_t i = 0; i < mapping.parts.size(); ++i) {
      const TensorPart& part = mapping.parts[i];
      const std::int64_t rows = part.rows > 0 ? part.rows : weight.size(0);
      AdaptedModule& module = modules.emplace_back();
      module = {part.name.substr(0, part.name.size() - kWeightEnd.size()), layer, {}, row, rows, mapping.transposed};
      for (std::size_t k = 0; k < each; ++k) module.matrices.emplace_back(stacked[i * each + k]);
      row += rows;
    }
  }
  return modules;
}

// The last two names of a path, which tell a module from the others of its layer: "self_attn.q_proj".
std::string target_of(const std::string& path) { return path.substr(path.rfind('.', path.rfind('.') - 1) + 1); }

// Returns the word of target_modules that stands for the module: its target_of() or, if another module without an
// adapter has such a path too, as the two output layers of BERT's blocks have, the whole path.
std::string target_among(const std::string& path, const std::vector<AdaptedModule>& modules,
                         const std::set<std::string>& adapted) {
  const std::string target = target_of(path);
  const bool is_ambiguous = std::ranges::any_of(modules, [&](const AdaptedModule& other) {
    return target_of(other.path) == target && !adapted.contains(other.path);
  });
  return is_ambiguous ? path : target;
}

// A and B of one module, made of the parts of a layer's adapter that lie in the module. Several parts become one
// adapter whose rank is the sum of their ranks and whose B is block-diagonal.
struct ModuleAdapter {
  Tensor a, b;
  std::int64_t parts = 0;
};

ModuleAdapter adapter_of(const AdaptedModule& module, const LoraWeights& lora) {
  const Tensor a = lora.a.value(), b = lora.b.value();
  const std::int64_t rank = b.size(1);
  std::int64_t b_row = 0;
  ModuleAdapter adapter;
  std::vector<std::pair<LoraPart, std::int64_t>> inside;  // with the row of B where the part begins
  std::int64_t first = 0;
  for (std::size_t i = 0; i < lora.parts.size(); b_row += lora.parts[i].rows, ++i) {
    const LoraPart& part = lora.parts[i];
    if (part.row < module.row || part.row >= module.row + module.rows) continue;
    if (inside.empty()) first = static_cast<std::int64_t>(i);
    inside.emplace_back(part, b_row);
  }
  adapter.parts = std::ssize(inside);
  if (inside.empty()) return adapter;
  adapter.a = a.slice(0, first * rank, (first + adapter.parts) * rank);
  adapter.b = Tensor::zeros({module.rows, adapter.parts * rank}, b.dtype());
  for (std::int64_t i = 0; i < adapter.parts; ++i) {
    const auto& [part, row] = inside[i];
    adapter.b.slice(0, part.row - module.row, part.row - module.row + part.rows)
        .slice(1, i * rank, (i + 1) * rank)
        .copy_from(b.slice(0, row, row + part.rows));
  }
  return adapter;
}

std::vector<std::string> write_peft(const TrainedTextModel& run, const fs::path& out, const std::string&) {
  const Config::Train& train = run.config.train;
  check(train.lora_rank > 0, "export: ", run.run.root.string(), ": expected a run with adapters (train.lora.rank)");
  const auto adapters = adapters_of(*run.model);
  NamedTensors tensors;
  std::set<std::string> targets, written, adapted;
  Json ranks = Json::object(), alphas = Json::object();
  bool transposed = false;
  const auto modules = modules_of(run.config, *run.model);
  std::vector<std::pair<AdaptedModule, ModuleAdapter>> with_adapters;
  for (const AdaptedModule& module : modules) {
    const auto lora = adapters.find(module.layer);
    if (lora == adapters.end()) continue;
    ModuleAdapter adapter = adapter_of(module, lora->second);
    if (adapter.parts == 0) continue;
    written.insert(module.layer), adapted.insert(module.path);
    with_adapters.emplace_back(module, std::move(adapter));
  }
  for (const auto& [module, adapter] : with_adapters) {
    tensors.emplace_back(str_cat(kPrefix, module.path, kDown), adapter.a);
    tensors.emplace_back(str_cat(kPrefix, module.path, kUp), adapter.b);
    const std::string target = target_among(module.path, modules, adapted);
    targets.insert(target);
    transposed = transposed || module.transposed;
    if (adapter.parts > 1) {
      ranks[target] = adapter.parts * train.lora_rank;
      alphas[target] = static_cast<double>(adapter.parts) * train.lora_alpha;
    }
  }
  for (const auto& adapter : adapters) {
    check(written.contains(adapter.first), "export: the adapter of ", adapter.first, " has no place in PEFT's files");
  }
  if (const NamedTensors buffers = run.model->named_buffers(); !buffers.empty()) {
    fail("export: ", buffers.front().first, ", which training has changed, has no place in PEFT's files");
  }
  const Json config = {{"peft_type", "LORA"},
                       {"task_type", run.config.model.type == "gpt" ? Json("CAUSAL_LM") : Json()},
                       {"base_model_name_or_path", train.init_from},
                       {"r", train.lora_rank},
                       {"lora_alpha", train.lora_alpha},
                       {"lora_dropout", train.lora_dropout},
                       {"target_modules", targets},
                       {"rank_pattern", ranks},
                       {"alpha_pattern", alphas},
                       {"fan_in_fan_out", transposed},
                       {"bias", "none"},
                       {"inference_mode", true}};
  write_folder(out, [&](const fs::path& folder) {
    write_safetensors(folder / kAdapterModel, tensors, {{"format", "pt"}});
    write_file_atomically(folder / kAdapterConfig, dump_json(config, 2) + "\n");
  });
  return {};
}

PublishedModel read_peft(const fs::path& folder) {
  fail_usage("import: ", folder.string(), " has adapters alone: give the run of the model that they change by --base");
}

// The tensors of a folder of adapters, and the largest rank.
struct PeftAdapters {
  fs::path path;
  std::map<std::string, Tensor> tensors;
  std::int64_t rank = 0;

  explicit PeftAdapters(const fs::path& file) : path(file), tensors(read_safetensors(file)) {
    for (auto& [name, tensor] : tensors) {
      check(name.starts_with(kPrefix) && (name.ends_with(kDown) || name.ends_with(kUp)) && tensor.rank() == 2,
            path.string(), ": expected matrices ", kPrefix, "PATH", kDown, " and ", kUp, ", got ", name, " ",
            tensor.sizes());
      tensor = tensor.to(DType::f32);
      if (name.ends_with(kDown)) rank = std::max(rank, tensor.size(0));
    }
    check(rank > 0, path.string(), ": it has no adapters");
  }
  const Tensor* find(const std::string& module, std::string_view end) const {
    const auto found = tensors.find(str_cat(kPrefix, module, end));
    return found == tensors.end() ? nullptr : &found->second;
  }
};

// Copies the adapter of one module into the adapter of our layer; `scale` is the module's scale divided by ours.
void copy_adapter(const AdaptedModule& module, const PeftAdapters& adapters, double scale, const LoraWeights& lora) {
  const Tensor &a = *adapters.find(module.path, kDown), &b = *adapters.find(module.path, kUp);
  const std::int64_t rank = a.size(0), whole = lora.b.size(1);
  check(a.size(1) == lora.a.size(1) && b.sizes() == Dims{module.rows, rank}, adapters.path.string(), ": ", module.path,
        ": expected A (r, ", lora.a.size(1), ") and B (", module.rows, ", r), got ", a.sizes(), " and ", b.sizes());
  const Tensor scaled = b.clone();
  for (float& value : scaled.span<float>()) value *= static_cast<float>(scale);
  std::int64_t b_row = 0, a_row = 0;
  for (const LoraPart& part : lora.parts) {
    if (part.row >= module.row && part.row < module.row + module.rows) {
      lora.a.value().slice(0, a_row, a_row + rank).copy_from(a);
      lora.b.value()
          .slice(0, b_row, b_row + part.rows)
          .slice(1, 0, rank)
          .copy_from(scaled.slice(0, part.row - module.row, part.row - module.row + part.rows));
    }
    b_row += part.rows, a_row += whole;
  }
}

// Returns the tokenizer_config.json of a run of these adapters: with the chat template in their folder, where trainers
// save it, else that of the base. A token that the folder does not name beside its template is the base's.
std::string chat_of_adapters(const fs::path& folder, const RunFolder& base) {
  const fs::path file = base.tokenizer_config();
  std::optional<ChatSettings> own = ChatSettings::find_beside(folder);
  if (!own) return is_there(file) ? read_file(file) : "";
  const ChatSettings of_base = ChatSettings::beside(base.tokenizer());
  if (own->bos_token.empty()) own->bos_token = of_base.bos_token;
  if (own->eos_token.empty()) own->eos_token = of_base.eos_token;
  return own->to_json();
}

}  // namespace

PublishedFormat peft_format() {
  return {.name = "peft",
          .help = "a folder of PEFT with the adapters alone: adapter_config.json, adapter_model.safetensors",
          .types = {"f32"},
          .is_at = is_adapter_folder,
          .read = read_peft,
          .write = write_peft};
}

bool is_adapter_folder(const fs::path& path) { return is_folder(path) && is_there(path / kAdapterConfig); }

RunFolder import_adapters(const fs::path& folder, const RunSelection& base, const fs::path& out) {
  require_no_run(out);
  check(is_adapter_folder(folder), folder.string(), ": expected a folder with ", kAdapterConfig);
  const PeftConfig peft = read_peft_config(folder / kAdapterConfig);
  const PeftAdapters adapters(folder / kAdapterModel);
  const auto run = load_run<TrainedTextModel>(base, {});
  check(run.config.train.lora_rank == 0, "import: ", run.run.root.string(), " has adapters: expected a run without");

  std::vector<AdaptedModule> modules = modules_of(run.config, *run.model);
  std::erase_if(modules, [&](const AdaptedModule& module) { return !adapters.find(module.path, kDown); });
  std::set<std::string> known, targets;
  for (const AdaptedModule& module : modules) {
    known.insert({str_cat(kPrefix, module.path, kDown), str_cat(kPrefix, module.path, kUp)});
    targets.insert(module.matrices.begin(), module.matrices.end());
    check(adapters.find(module.path, kUp), adapters.path.string(), ": ", module.path, " has A, and no B");
  }
  for (const auto& tensor : adapters.tensors) {
    check(known.contains(tensor.first), adapters.path.string(), ": the tensor ", tensor.first,
          " has no place in the model of ", run.run.root.string());
  }
  Config config = run.config.values();
  config.train.init_from = absolute_path(run.run.root).string();
  config.train.lora_rank = adapters.rank;
  config.train.lora_alpha = peft.alpha;
  config.train.lora_dropout = peft.dropout;
  config.train.lora_targets = {targets.begin(), targets.end()};
  reset_idle_keys(config);  // such as optimizer.embedding_lr: the embedding is frozen now
  config.tokenizer.file = absolute_path(out / "tokenizer.json").string();
  const ResolvedConfig resolved = resolve(config);
  const auto model = make_model_with_heads(resolved, model_vocabulary(resolved, *run.tokenizer));
  model->initialize_parameters(static_cast<std::uint64_t>(resolved.train.seed));
  const auto base_weights = run.model->state_dict();
  for (const auto& [name, tensor] : model->named_tensors()) {
    if (!is_adapter(name)) tensor.copy_from(base_weights.at(name));
  }
  const auto ours = adapters_of(*model);
  const double scale = peft.alpha / static_cast<double>(adapters.rank);
  for (const AdaptedModule& module : modules) {
    const std::int64_t rank = adapters.find(module.path, kDown)->size(0);
    copy_adapter(module, adapters, peft.scale(module.path, rank) / scale, ours.at(module.layer));
  }
  const std::string toml = to_toml(resolved);
  const RunTokenizers tokenizers{
      .source = run.tokenizer->to_json(), .target = "", .chat = chat_of_adapters(folder, run.run)};
  const ParameterSlab slab(*model);
  const auto optimizer = make_optimizer(resolved, slab, Communicator::alone());
  return create_run(out, toml, tokenizers, [&](const RunFolder& made) {
    save_base(made, *model);
    const TrainingState state{.run_files = hash_run_files(made)};
    // With the optimizer's first state, so that the run can be resumed: train.init_from takes no run with adapters.
    stage_checkpoint(made, *model, *optimizer, state, {.config_toml = toml, .regular = false})->publish();
  });
}

}  // namespace tapeformer
