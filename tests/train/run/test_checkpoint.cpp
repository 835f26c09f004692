#include "train/run/checkpoint.h"

#include <doctest/doctest.h>

#include "autograd/tensor/allocator.h"
#include "core/error.h"
#include "tests/train/toy.h"
#include "train/run/optimizer_shards.h"

using namespace tapeformer;

namespace {

struct CheckpointFixture {
  CacheFolder folder;
  Toy toy;
  RunFolder run = create_run(folder.path / "run", to_toml(toy.resolved), {"{}", ""});
};

std::vector<float> moments(const Optimizer& optimizer) {
  std::vector<float> all;
  for (const auto& [name, tensor] : optimizer.state()) {
    for (const float value : tensor.to_vector<float>()) all.push_back(value);
  }
  return all;
}

}  // namespace

TEST_CASE("checkpoint: weights, moments and state come back bit for bit") {
  CheckpointFixture f;
  for (int step = 1; step <= 3; ++step) f.toy.step(step);
  const TrainingState state{.step = 3,
                            .tokens = 192,
                            .elapsed_s = 0.1 + 0.2,
                            .best_loss = 1.0 / 3,
                            .best_step = 2,
                            .data_hash = 0xfedcba9876543210,
                            .valid_hash = 0x0123456789abcdef};
  stage_checkpoint(f.run, f.toy.model, f.toy.optimizer, state, {.config_toml = to_toml(f.toy.resolved)})->publish();

  Toy other;
  const TrainingState loaded = load_checkpoint(f.run, 3, other.model, other.optimizer);
  CHECK(loaded.step == state.step);
  CHECK(loaded.tokens == state.tokens);
  CHECK(loaded.elapsed_s == state.elapsed_s);
  CHECK(loaded.best_loss == state.best_loss);
  CHECK(loaded.best_step == state.best_step);
  CHECK(loaded.data_hash == state.data_hash);
  CHECK(loaded.valid_hash == state.valid_hash);
  CHECK(other.weights() == f.toy.weights());
  CHECK(moments(other.optimizer) == moments(f.toy.optimizer));
  f.toy.step(4);
  other.step(4);
  CHECK(other.weights() == f.toy.weights());

  Toy weights_only;
  load_weights(f.run, f.run.checkpoint(3), weights_only.model);
  weights_only.step(4);
  CHECK_FALSE(weights_only.weights() == f.toy.weights());  // without the moments it is another step
}

TEST_CASE("checkpoint: the model's file names every parameter once, tied ones by their first name") {
  CheckpointFixture f;
  stage_checkpoint(f.run, f.toy.model, f.toy.optimizer, {.step = 1}, {.config_toml = "[model]\n"})->publish();
  const auto tensors = read_safetensors(f.run.checkpoint(1) / "model.safetensors");
  CHECK(tensors.size() == f.toy.slab.parts().size());
  CHECK(tensors.contains("token_embedding.weight"));
  CHECK_FALSE(tensors.contains("head.weight"));
  CHECK(read_safetensors(f.run.checkpoint(1) / "optimizer.safetensors").size() == 2 * tensors.size());
}

TEST_CASE("checkpoint: of another shape is refused, and no weight is changed") {
  CheckpointFixture f;
  stage_checkpoint(f.run, f.toy.model, f.toy.optimizer, {.step = 1}, {.config_toml = "[model]\n"})->publish();
  const std::string config_path = f.run.config().string(), folder = f.run.checkpoint(1).string();

  Config wider = f.toy.config;
  wider.model.options["ff_dim"] = 24;
  Toy other(wider);
  const std::vector<float> before = other.weights();
  CHECK_THROWS_WITH_AS(load_checkpoint(f.run, 1, other.model, other.optimizer),
                       str_cat(folder, " does not fit the model of ", config_path, ": optimizer state: ",
                               "m.blocks.0.feed_forward.up.weight: expected (24, 16) f32, got (64, 16) f32")
                           .c_str(),
                       Error);
  CHECK_THROWS_WITH_AS(
      load_weights(f.run, f.run.checkpoint(1), other.model),
      str_cat(folder, "/model.safetensors does not fit the model of ", config_path,
              ": load_state_dict: blocks.0.feed_forward.up.weight: the model has (24, 16) f32, ", "got (64, 16) f32")
          .c_str(),
      Error);
  CHECK(other.weights() == before);

  Config deeper = f.toy.config;
  deeper.model.options["layers"] = 3;
  Toy third(deeper);
  CHECK_THROWS_AS(load_checkpoint(f.run, 1, third.model, third.optimizer), Error);
  CHECK_THROWS_AS(load_weights(f.run, f.run.checkpoint(1), third.model), Error);
}

TEST_CASE("checkpoint: a file that is missing or cut short is told") {
  CheckpointFixture f;
  stage_checkpoint(f.run, f.toy.model, f.toy.optimizer, {.step = 1}, {.config_toml = "[model]\n"})->publish();
  Toy other;
  std::filesystem::resize_file(f.run.checkpoint(1) / "model.safetensors", 100);
  CHECK_THROWS_AS(load_checkpoint(f.run, 1, other.model, other.optimizer), Error);
  std::filesystem::remove(f.run.checkpoint(1) / "optimizer.safetensors");
  CHECK_THROWS_AS(load_checkpoint(f.run, 1, other.model, other.optimizer), Error);
  CHECK_THROWS_AS(load_checkpoint(f.run, 2, other.model, other.optimizer), Error);
}

TEST_CASE("checkpoint: it holds its own configuration, verified with its other files") {
  CheckpointFixture f;
  stage_checkpoint(f.run, f.toy.model, f.toy.optimizer, {.step = 1}, {.config_toml = "[train]\nsteps = 7\n"})
      ->publish();
  const std::filesystem::path folder = f.run.checkpoint(1), file = folder / "config.toml";
  CHECK(checkpoint_config(f.run, folder) == file);
  CHECK(read_all(file) == "[train]\nsteps = 7\n");
  CHECK_FALSE(verify_checkpoint(folder).has_value());
  std::ofstream(file) << "[train]\nsteps = 8\n";
  CHECK(verify_checkpoint(folder) == "config.toml is damaged: its checksum differs");
  std::filesystem::remove(file);  // as an older version wrote it
  CHECK(checkpoint_config(f.run, folder) == f.run.config());
}

TEST_CASE("checkpoint: loading one takes no memory beside the places of its values") {
  CheckpointFixture f;
  stage_checkpoint(f.run, f.toy.model, f.toy.optimizer, {.step = 1}, {.config_toml = ""})->publish();
  Toy other;
  const MemoryStats before = memory_stats();
  reset_peak_memory();
  load_checkpoint(f.run, 1, other.model, other.optimizer);
  CHECK(memory_stats().peak == before.in_use);
  CHECK(memory_stats().system_requests == before.system_requests);
}

TEST_CASE("checkpoint: moments of parameters that do not learn any more are left out") {
  const CacheFolder folder;
  Toy toy;
  toy.step(1);
  write_safetensors(folder.path / "optimizer.safetensors", toy.optimizer.state());
  const auto learns = [](std::string_view name) { return !name.starts_with("final_norm."); };
  Toy other;
  const ParameterSlab slab(other.model, [&](std::string_view name) { return learns(name) ? 1 : 0; });
  const auto optimizer = make_optimizer(other.resolved, slab);
  OptimizerShards(folder.path).load(*optimizer, 0, 1);
  const NamedTensors state = optimizer->state();
  std::size_t found = 0;
  for (const auto& [name, values] : toy.optimizer.state()) {
    const auto same = [&, &name = name](const auto& entry) { return entry.first == name; };
    const auto place = std::ranges::find_if(state, same);
    const bool kept = learns(std::string_view(name).substr(name.find('.') + 1));
    CHECK((place != state.end()) == kept);
    if (!kept) continue;
    ++found;
    CHECK(place->second.to_vector<float>() == values.to_vector<float>());
  }
  CHECK(found == state.size());
  CHECK(found > 4);
}
