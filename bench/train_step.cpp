// Measures training steps on random tokens of fixed shapes. A step zeroes the gradients, runs forward, cross-entropy
// and backward, clips by the global norm and updates by AdamW or Muon. Prints one JSON line; bench/peers/torch_step.py
// prints the same keys for PyTorch.
#include <iostream>
#include <optional>

#include "autograd/tape/tape.h"
#include "bench/model_work.h"
#include "bench/profile_report.h"
#include "core/keys.h"
#include "core/parallel.h"
#include "core/random.h"
#include "nn/layers/lora.h"
#include "nn/optim/moment_slab.h"
#include "nn/optim/optimizers.h"
#include "train/loop/layer_watch.h"

namespace tapeformer::bench {
namespace {

Tensor random_ids(const Work& work, std::uint64_t stream) {
  const Tensor ids = Tensor::empty({work.batch, work.length}, DType::i32);
  RandomStream random(RandomKey{.seed = 1, .stream = stream});
  for (std::int32_t& id : ids.span<std::int32_t>()) id = static_cast<std::int32_t>(random.below(work.vocab));
  return ids;
}

struct StepOptions {
  bool profile = false, recompute = false, watch = false;
  std::string optimizer = "adamw", state = "f32";
  std::int64_t lora = 0;
};

// Measures steps of a model; loss(tape) puts its loss on a tape.
template <class Loss>
nlohmann::ordered_json measure(const Work& work, Module& model, const Loss& loss_of, const StepOptions& options) {
  add_adapters(model, {.rank = options.lora});
  model.initialize_parameters(1);
  if (work.matmul == kernels::MatmulPrecision::medium) round_frozen_weights(model);
  const ParameterSlab slab(model);
  const auto optimizer =
      make_optimizer(options.optimizer, slab,
                     {{"beta2", 0.95}, {"eps", 1e-8}, {"weight_decay", 0.1}, {"clip", 1.0}, {"state", options.state}});
  int step = 0;
  double loss_value = 0;
  const auto train_one = [&] {
    std::optional<LayerWatch> watch;
    if (options.watch) watch.emplace(model, slab);
    slab.zero_grad();
    {
      Tape tape(
          {.training = true, .recompute = options.recompute, .random = {.step = static_cast<std::uint32_t>(step)}});
      const Variable loss = loss_of(tape);
      tape.backward(loss);
      loss_value = loss.value().item();
    }
    optimizer->step(3e-4, ++step);
    if (watch) watch->norms();
  };
  const double step_seconds = median_seconds(work, train_one);
  if (options.profile) print_profile(std::cout, work, train_one);
  return report(work, model,
                {{"recompute", options.recompute},
                 {"watch", options.watch},
                 {"optimizer", options.optimizer},
                 {"lora", options.lora},
                 {"state", options.state},
                 {"step_ms", 1e3 * step_seconds},
                 {"tokens_per_s", static_cast<double>(work.batch * work.length) / step_seconds},
                 {"loss", loss_value}});
}

nlohmann::ordered_json measure(const Work& work, const StepOptions& options) {
  set_thread_count(work.threads);
  const kernels::MatmulPrecisionScope precision(work.matmul);
  const Tensor ids = random_ids(work, 0), targets = random_ids(work, 1);
  const auto language_model = [&](CausalModel&& model) {
    const auto loss = [&](Tape& tape) {
      return model.loss(Variable::constant(tape, ids), Variable::constant(tape, targets), {.deferred = true});
    };
    return measure(work, model, loss, options);
  };
  if (work.arch == "gpt" || work.arch == "llama") return language_model(Gpt(gpt_config(work)));
  if (work.arch == "rnn") return language_model(Rnn(rnn_config(work)));
  Transformer model(transformer_config(work));
  const Tensor lengths = Tensor::full({work.batch}, DType::i32, static_cast<double>(work.length));
  const auto loss = [&](Tape& tape) {
    const Variable outputs = Variable::constant(tape, targets);
    return model.loss({ids, lengths}, outputs, outputs, {.smoothing = 0.1, .deferred = true});
  };
  return measure(work, model, loss, options);
}

}  // namespace
}  // namespace tapeformer::bench

int main(int argc, char** argv) {
  tapeformer::bench::Work work;
  tapeformer::bench::StepOptions options;
  CLI::App app("Training throughput on random tokens; one JSON line");
  tapeformer::bench::add_work_options(app, work);
  app.add_flag("--profile", options.profile, "First print where the time goes, by op and by kernel");
  app.add_flag("--recompute", options.recompute, "Compute the blocks' activations again in backward");
  app.add_flag("--watch", options.watch, "Take the norms of every layer in every step, as train.watch = 1 does");
  app.add_option("--optimizer", options.optimizer)->check(CLI::IsMember({"adamw", "muon"}))->capture_default_str();
  app.add_option("--lora", options.lora, "Rank of adapters, beside which the weights are frozen")
      ->capture_default_str();
  app.add_option("--state", options.state, "How the optimizer keeps its moments")
      ->check(CLI::IsMember(tapeformer::words_of<tapeformer::StateFormat>()));
  CLI11_PARSE(app, argc, argv);
  try {
    std::cout << tapeformer::bench::measure(work, options) << '\n';
  } catch (const std::exception& error) {
    std::cerr << "train_step: " << error.what() << '\n';
    return 1;
  }
}
