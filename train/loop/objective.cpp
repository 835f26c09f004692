#include "train/loop/objective.h"

#include <algorithm>
#include <map>

#include "core/error.h"
#include "train/loop/objective_data.h"

namespace tapeformer {

ParameterRates Objective::rates() const {
  const ParameterRates of_layers = layer_rates();
  const Config::Optimizer& optimizer = config_.optimizer;
  if (optimizer.embedding_lr == 1 && optimizer.head_lr == 1) return of_layers;
  const auto of_kind = [&](ParameterKind kind) {
    if (kind == ParameterKind::embedding) return optimizer.embedding_lr;
    return kind == ParameterKind::head ? optimizer.head_lr : 1.0;
  };
  std::map<std::string, double, std::less<>> factors;
  for (const NamedParameter& parameter : model().named_parameters()) {
    const double of_layer = of_layers ? of_layers(parameter.name) : 1;
    factors[parameter.name] = of_layer * of_kind(parameter.role.kind);
  }
  return [factors = std::move(factors)](std::string_view name) { return factors.find(name)->second; };
}

std::string Objective::parameters_text() const {
  const ParameterRates rates = this->rates();
  std::int64_t all = 0, learning = 0;
  for (const NamedParameter& parameter : model().named_parameters()) {
    const std::int64_t elements = parameter.variable.sizes().product();
    all += elements;
    if (parameter.variable.requires_grad() && !(rates && rates(parameter.name) == 0)) learning += elements;
  }
  return str_cat(all, " parameters", learning < all ? str_cat(", of which ", learning, " learn") : "");
}

void Objective::load_recurrent_state(const NamedTensors& state) {
  if (recurrent()) return recurrent()->load(state);
  check(state.empty(), "the checkpoint has a recurrent state: expected none, since ", config_.model.type,
        " carries nothing from row to row");
}

void Objective::share_with(Communicator& ranks) {
  const NamedTensors buffers = model().named_buffers();
  if (ranks.size() > 1 && !buffers.empty()) {
    fail_usage("mpirun: expected one rank for a model with running statistics, which belong to one rank, such as ",
               buffers.front().first, ", got ", ranks.size());
  }
  ranks_ = &ranks;
  for (const auto& part : parts_) part->share_with(ranks);
}

std::optional<double> Objective::take_nll_loss() {
  return parts_.empty() ? nll_.take() : parts_[part_]->take_nll_loss();
}

std::function<void()> Objective::hold_state() {
  const std::function<void()> restore_recurrent = recurrent() ? recurrent()->hold() : [] {};
  const NamedTensors buffers = model().named_buffers();
  std::vector<Tensor> values;
  for (const auto& buffer : buffers) values.push_back(buffer.second.clone());
  return [=] {
    restore_recurrent();
    for (std::size_t i = 0; i < values.size(); ++i) buffers[i].second.copy_from(values[i]);
  };
}

double Objective::evaluation_in_steps() {
  if (!can_evaluate()) return 0;
  const MicroSteps all{0, config_.train.accumulate};
  const auto of_step = static_cast<double>(std::max<std::int64_t>(step_size(1, all).tokens, 1));
  const ValidationFacts facts = validation();
  auto tokens = static_cast<double>(facts.read > 0 ? facts.read : facts.tokens);
  if (config_.eval.batches > 0) {
    tokens = std::min(tokens, of_step * static_cast<double>(config_.eval.batches) / static_cast<double>(all.size()));
  }
  const double context = static_cast<double>(config_.context().value_or(0)), stride = config_.eval.stride;
  const double windows = stride > 0 ? std::max(1.0, context / stride) : 1;  // each token is in so many windows
  return windows * tokens / (3 * of_step);
}

TapeOptions training_tape(const ResolvedConfig& config, std::int64_t step, std::int64_t micro_step) {
  return {.training = true,
          .recompute = config.train.recompute,
          .random = {.seed = static_cast<std::uint64_t>(config.train.seed),
                     .step = static_cast<std::uint32_t>(step),
                     .micro_step = static_cast<std::uint32_t>(micro_step)}};
}

std::optional<Baselines> Objective::baselines(double, const ProgressCallback&) { return std::nullopt; }

std::vector<TextSample> Objective::samples(const std::function<bool()>&) { return {}; }

std::unique_ptr<Objective> make_objective(const ResolvedConfig& config, const RunFolder* resumed,
                                          const ProgressMaker& progress) {
  const TaskRow& task = config.task_row();
  return task.make(config, task.prepare(config, resumed, progress));
}

double training_flops(const ForwardFlops& forward, const Config::Train& train) {
  const double blocks = static_cast<double>(forward.count);
  const double again = train.recompute ? forward.blocks * (blocks - 1) / blocks : 0;
  const double products = train.lora_rank > 0 ? 2 : 3;  // frozen weights have no gradients
  return products * (forward.blocks + forward.other) + again;
}

TrainingShape ObjectiveData::shape(const ResolvedConfig& config) const {
  const TaskHeads& heads = config.task_row().heads;
  const ModelVocabulary vocabulary = this->vocabulary(config);
  std::unique_ptr<Module> model;
  if (heads.make) {
    model = heads.make(config, vocabulary);
  } else {
    model = config.family().make_module(config.model.options, vocabulary);
    add_adapters(*model, config.lora());
  }
  const double of_heads = heads.flops ? heads.flops(config, *model, vocabulary) : 0;
  return {.model = std::move(model),
          .parts = heads.parts,
          .block_size = static_cast<double>(config.block_size()),
          .flops = [of_heads, train = config.train](ForwardFlops forward) {
            forward.other += of_heads;
            return training_flops(forward, train);
          }};
}

}  // namespace tapeformer
