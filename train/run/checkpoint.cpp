#include "train/run/checkpoint.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/parallel.h"
#include "train/run/optimizer_shards.h"

namespace tapeformer {
namespace {

constexpr const char* kModelFile = "model.safetensors";
constexpr const char* kConfigFile = "config.toml";
constexpr const char* kRecurrentStateFile = "carried.safetensors";

// Rethrows an IoError, and reports any other error as a file that does not fit the model. Call it only in a catch
// block.
[[noreturn]] void fail_to_fit(const std::filesystem::path& what, const RunFolder& run, const std::exception& error) {
  if (dynamic_cast<const IoError*>(&error)) throw;
  fail(what.string(), " does not fit the model of ", run.config().string(), ": ", error.what());
}

void write_text(const std::filesystem::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  check(!file.fail(), path.string(), ": cannot be written: ", std::strerror(errno));
}

// Returns the fields of state.json.
nlohmann::ordered_json fields_of(const TrainingState& state, bool regular) {
  nlohmann::ordered_json fields = {{"tokens", state.tokens},
                                   {"elapsed_s", state.elapsed_s},
                                   {"best_loss", state.best_loss},
                                   {"best_step", state.best_step},
                                   {"data_hash", state.data_hash},
                                   {"valid_hash", state.valid_hash},
                                   {"regular", regular}};
  if (!state.scored_by.empty()) fields["scored_by"] = state.scored_by;
  if (state.terms_since > 0) fields["terms_since"] = state.terms_since;
  if (const auto& best = state.scheduled_best) fields["scheduled_best"] = {{"loss", best->loss}, {"step", best->step}};
  if (!state.evaluated) fields["evaluated"] = false;
  if (state.num_bad_epochs > 0) fields["stalls"] = state.num_bad_epochs;
  if (const auto& plan = state.clock) {
    fields["clock"] = {
        {"begin", plan->cooldown.begin}, {"progress", plan->cooldown.progress}, {"end", plan->cooldown.end},
        {"minutes", plan->minutes},      {"deadline_s", plan->deadline_s},      {"moved", plan->moved},
        {"steps", plan->steps}};
  }
  if (!state.run_files.empty()) fields["run_files"] = state.run_files;
  if (state.metrics.bytes > 0) fields["metrics"] = {{"bytes", state.metrics.bytes}, {"hash", state.metrics.hash}};
  return fields;
}

}  // namespace

std::unique_ptr<StagedCheckpoint> stage_checkpoint(const RunFolder& run, const Module& model,
                                                   const Optimizer& optimizer, const TrainingState& state,
                                                   const CheckpointOptions& options, Communicator& ranks) {
  const auto write_shard = [&](const std::filesystem::path& staging) {
    write_safetensors(staging / optimizer_file(ranks.rank(), ranks.size()), optimizer.state());
  };
  if (!ranks.is_root()) {
    ranks.barrier();  // waits until the staging folder exists
    write_shard(run.staging(state.step));
    ranks.barrier();
    return nullptr;
  }
  const auto write_files = [&](const std::filesystem::path& staging) {
    ranks.barrier();
    write_text(staging / kConfigFile, options.config_toml);
    const NamedTensors weights = model.learned_tensors();
    const auto write = [&](std::int64_t file, std::int64_t) {
      if (file == 0) {
        write_shard(staging);
      } else {
        write_safetensors(staging / kModelFile, weights, {{"format", "pt"}});
      }
    };
    if (!state.recurrent_state.empty()) write_safetensors(staging / kRecurrentStateFile, state.recurrent_state);
    parallel_for(0, 2, 1, write);  // both at once: the time is spent copying to the file cache, not on the disk
    ranks.barrier();               // waits until all shards are written
  };
  return std::make_unique<StagedCheckpoint>(run, state.step, fields_of(state, options.regular), write_files);
}

void publish_weights(const RunFolder& run, const Module& model, std::string_view config_toml) {
  const TrainingState state{.run_files = hash_run_files(run)};
  StagedCheckpoint checkpoint(run, 0, fields_of(state, /*regular=*/false), [&](const std::filesystem::path& staging) {
    write_text(staging / kConfigFile, config_toml);
    write_safetensors(staging / kModelFile, model.learned_tensors(), {{"format", "pt"}});
  });
  checkpoint.publish();
}

namespace {

// Returns the training state of these fields of state.json.
TrainingState state_of(const nlohmann::ordered_json& fields, std::int64_t step) {
  TrainingState state = {.step = step,
                         .tokens = fields.at("tokens").get<std::int64_t>(),
                         .elapsed_s = fields.at("elapsed_s").get<double>(),
                         .best_loss = fields.at("best_loss").get<double>(),
                         .best_step = fields.at("best_step").get<std::int64_t>(),
                         .evaluated = fields.value("evaluated", true),
                         .num_bad_epochs = fields.value("stalls", std::int64_t{0}),
                         .data_hash = fields.at("data_hash").get<std::uint64_t>(),
                         .valid_hash = fields.value("valid_hash", std::uint64_t{0}),
                         .terms_since = fields.value("terms_since", std::int64_t{0}),
                         .scored_by = fields.value("scored_by", std::string()),
                         .run_files = fields.value("run_files", RunFileHashes())};
  if (const auto mark = fields.find("metrics"); mark != fields.end()) {
    state.metrics = {mark->at("bytes").get<std::int64_t>(), mark->at("hash").get<std::uint64_t>()};
  }
  if (const auto plan = fields.find("clock"); plan != fields.end()) {
    state.clock = {.cooldown = {.begin = plan->at("begin").get<std::int64_t>(),
                                .progress = plan->at("progress").get<double>(),
                                .end = plan->at("end").get<std::int64_t>()},
                   .minutes = plan->at("minutes").get<double>(),
                   .steps = plan->value("steps", std::int64_t{0}),
                   .deadline_s = plan->at("deadline_s").get<double>(),
                   .moved = plan->at("moved").get<bool>()};
  }
  if (const auto best = fields.find("scheduled_best"); best != fields.end()) {
    state.scheduled_best = {best->at("loss").get<double>(), best->at("step").get<std::int64_t>()};
  }
  return state;
}

}  // namespace

TrainingState read_training_state(const RunFolder& run, std::int64_t step) {
  const std::filesystem::path folder = run.checkpoint(step);
  const nlohmann::ordered_json fields = read_checkpoint_state(folder);
  try {
    return state_of(fields, step);
  } catch (const std::exception& error) {
    fail(folder.string(), ": ", error.what());
  }
}

std::optional<TrainingState> newest_training_state(const RunFolder& run) {
  const auto latest = latest_step(run);
  if (!latest) return std::nullopt;
  try {
    return read_training_state(run, *latest);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::int64_t terms_since(const RunFolder& run) {
  const auto state = newest_training_state(run);
  return state ? state->terms_since : 0;
}

TrainingState load_checkpoint(const RunFolder& run, std::int64_t step, const Module& model, Optimizer& optimizer,
                              const Communicator& ranks) {
  const std::filesystem::path folder = run.checkpoint(step);
  const nlohmann::ordered_json fields = read_checkpoint_state(folder);
  const OptimizerShards shards(folder);
  TrainingState state;
  try {
    state = state_of(fields, step);
    shards.load(optimizer, ranks.rank(), ranks.size());
    if (is_there(folder / kRecurrentStateFile)) {
      for (auto& [name, tensor] : read_safetensors(folder / kRecurrentStateFile))
        state.recurrent_state.emplace_back(name, tensor);
    }
  } catch (const std::exception& error) {
    fail_to_fit(folder, run, error);
  }
  load_weights(run, folder, model);
  return state;
}

void load_weights(const RunFolder& run, const std::filesystem::path& folder, const Module& model,
                  std::string_view unread) {
  const auto load = [&](const std::filesystem::path& path, const NamedTensors& tensors) {
    const SafetensorsFile file(path);
    try {
      Module::load_tensors(tensors, file, unread);
    } catch (const Error& error) {
      fail_to_fit(path, run, error);
    }
  };
  if (const NamedTensors frozen = model.frozen_tensors(); !frozen.empty()) load(run.base(), frozen);
  load(checkpoint_weights(folder), model.learned_tensors());
}

void save_base(const RunFolder& run, const Module& model) {
  const NamedTensors frozen = model.frozen_tensors();
  if (frozen.empty()) return;
  write_safetensors(run.base(), frozen, {{"format", "pt"}});
  sync_to_disk(run.base());
}

std::filesystem::path checkpoint_weights(const std::filesystem::path& folder) { return folder / kModelFile; }

std::filesystem::path checkpoint_config(const RunFolder& run, const std::filesystem::path& folder) {
  const std::filesystem::path own = folder / kConfigFile;
  return is_there(own) ? own : run.config();
}

namespace {

// Stages weights that were made from the checkpoints of these steps, with more fields for the state.
StagedAverage stage_weights(const RunFolder& run, std::vector<std::int64_t> steps, const NamedTensors& weights,
                            nlohmann::ordered_json fields) {
  const std::filesystem::path last = run.checkpoint(steps.back());
  const std::string config = read_file(checkpoint_config(run, last));
  const auto write = [&](const std::filesystem::path& staging) {
    write_text(staging / kConfigFile, config);
    write_safetensors(staging / kModelFile, weights, {{"format", "pt"}});
  };
  const auto state = read_checkpoint_state(last);
  if (state.contains("run_files")) fields["run_files"] = state["run_files"];
  auto checkpoint = StagedCheckpoint::average(run, steps.back(), fields, write);
  return {std::move(steps), std::move(checkpoint)};
}

void require_valid(const std::filesystem::path& checkpoint) {
  const auto reason = verify_checkpoint(checkpoint);
  check(!reason.has_value(), "cannot average ", checkpoint.string(), ": ", reason.value_or(""));
}

}  // namespace

StagedAverage stage_average(const RunFolder& run, std::int64_t count) {
  const std::vector<std::int64_t> all = list_checkpoints(run);
  check(!all.empty(), run.root.string(), ": no checkpoints to average");
  std::vector<std::int64_t> steps = list_regular_checkpoints(run);
  if (steps.empty() || steps.back() != all.back()) steps.push_back(all.back());
  steps.erase(steps.begin(), steps.end() - std::min(count, std::ssize(steps)));

  std::vector<SafetensorsFile> files;
  for (const std::int64_t step : steps) {
    const std::filesystem::path folder = run.checkpoint(step);
    require_valid(folder);
    files.emplace_back(folder / kModelFile);
  }
  NamedTensors means;
  for (const auto& [name, entry] : files.back().entries()) {
    const Tensor sum = files.front().read(name).to(DType::f64);  // in f64 the order of the files does not matter
    for (std::size_t i = 1; i < files.size(); ++i) sum.add_from(files[i].read(name).to(DType::f64));
    for (double& value : sum.span<double>()) value /= static_cast<double>(files.size());
    means.emplace_back(name, sum.to(entry.dtype()));
  }
  const nlohmann::ordered_json fields = {{"averaged", steps}};
  return stage_weights(run, std::move(steps), means, fields);
}

StagedAverage stage_moving_average(const RunFolder& run) {
  const std::vector<std::int64_t> all = list_checkpoints(run);
  check(!all.empty(), run.root.string(), ": no checkpoints to average");
  const std::filesystem::path folder = run.checkpoint(all.back());
  require_valid(folder);
  const SafetensorsFile file(folder / kModelFile);
  const OptimizerShards shards(folder);
  NamedTensors weights, averages;
  for (const auto& [name, entry] : file.entries()) {
    weights.emplace_back(name, file.read(name));
    const std::string average = str_cat(Optimizer::kMovingAverage, ".", name);
    if (shards.contains(average)) averages.emplace_back(average, weights.back().second);
  }
  shards.read(averages);  // into the memory of `weights`
  return stage_weights(run, {all.back()}, weights, {{"moving_average", true}});
}

}  // namespace tapeformer
