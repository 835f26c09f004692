#include "train/run/checkpoint.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/parallel.h"

namespace tapeformer {
namespace {

constexpr const char* kModelFile = "model.safetensors";
constexpr const char* kOptimizerFile = "optimizer.safetensors";

[[noreturn]] void fail_to_fit(const std::filesystem::path& what, const RunFolder& run, const std::exception& error) {
  fail(what.string(), " does not fit the model of ", run.config().string(), ": ", error.what());
}

}  // namespace

std::unique_ptr<StagedCheckpoint> stage_checkpoint(const RunFolder& run, const Module& model,
                                                   const Optimizer& optimizer, const TrainingState& state) {
  const auto write_files = [&](const std::filesystem::path& staging) {
    NamedTensors weights;
    for (const NamedParameter& parameter : model.named_parameters()) {
      weights.emplace_back(parameter.name, parameter.variable.value());
    }
    const auto write = [&](std::int64_t file, std::int64_t) {
      if (file == 0) {
        write_safetensors(staging / kOptimizerFile, optimizer.state());
      } else {
        write_safetensors(staging / kModelFile, weights, {{"format", "pt"}});
      }
    };
    parallel_for(0, 2, 1, write);  // both at once: the system is busy with their pages, not with the disk
  };
  const nlohmann::ordered_json fields = {{"tokens", state.tokens},
                                         {"elapsed_s", state.elapsed_s},
                                         {"best_loss", state.best_loss},
                                         {"best_step", state.best_step},
                                         {"data_hash", state.data_hash}};
  return std::make_unique<StagedCheckpoint>(run, state.step, fields, write_files);
}

TrainingState load_checkpoint(const RunFolder& run, std::int64_t step, const Module& model, Optimizer& optimizer) {
  const std::filesystem::path folder = run.checkpoint(step);
  const nlohmann::ordered_json fields = read_checkpoint_state(folder);
  const auto optimizer_state = read_safetensors(folder / kOptimizerFile);
  TrainingState state;
  try {
    state = {.step = step,
             .tokens = fields.at("tokens").get<std::int64_t>(),
             .elapsed_s = fields.at("elapsed_s").get<double>(),
             .best_loss = fields.at("best_loss").get<double>(),
             .best_step = fields.at("best_step").get<std::int64_t>(),
             .data_hash = fields.at("data_hash").get<std::uint64_t>()};
    optimizer.load_state(optimizer_state);
  } catch (const std::exception& error) {
    fail_to_fit(folder, run, error);
  }
  load_weights(run, folder, model);
  return state;
}

void load_weights(const RunFolder& run, const std::filesystem::path& folder, const Module& model) {
  const std::filesystem::path file = folder / kModelFile;
  const auto weights = read_safetensors(file);
  try {
    model.load_state_dict(weights);
  } catch (const Error& error) {
    fail_to_fit(file, run, error);
  }
}

std::vector<std::int64_t> write_average(const RunFolder& run, std::int64_t count) {
  std::vector<std::int64_t> steps = list_checkpoints(run);
  check(!steps.empty(), run.root.string(), ": no checkpoints to average");
  steps.erase(steps.begin(), steps.end() - std::min<std::int64_t>(count, static_cast<std::int64_t>(steps.size())));
  std::map<std::string, Tensor> sums;  // in f64: the mean does not depend on who comes first
  DType dtype = DType::f32;
  for (const std::int64_t step : steps) {
    const std::filesystem::path folder = run.checkpoint(step);
    const auto reason = verify_checkpoint(folder);
    check(!reason.has_value(), "cannot average ", folder.string(), ": ", reason.value_or(""));
    for (const auto& [name, tensor] : read_safetensors(folder / kModelFile)) {
      dtype = tensor.dtype();
      const auto [sum, is_new] = sums.try_emplace(name, tensor.to(DType::f64));
      if (!is_new) sum->second.add_from(tensor.to(DType::f64));
    }
  }
  NamedTensors means;
  for (const auto& [name, sum] : sums) {
    for (double& value : sum.span<double>()) value /= static_cast<double>(steps.size());
    means.emplace_back(name, sum.to(dtype));
  }
  const auto write = [&](const std::filesystem::path& staging) {
    write_safetensors(staging / kModelFile, means, {{"format", "pt"}});
  };
  StagedCheckpoint::average(run, steps.back(), {{"averaged", steps}}, write)->publish();
  return steps;
}

}  // namespace tapeformer
