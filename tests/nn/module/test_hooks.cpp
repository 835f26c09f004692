// Hooks on modules: what they see and change in every family, and that they cost nothing where there are none.
#include <functional>
#include <set>

#include "autograd/ops/ops.h"
#include "nn/interfaces/encoder_for_classification.h"
#include "nn/models/bert.h"
#include "nn/models/nplm.h"
#include "nn/models/rnn.h"
#include "nn/models/rnn_seq2seq.h"
#include "nn/models/word2vec.h"
#include "tests/long_test.h"
#include "tests/nn/heads_support.h"
#include "tests/nn/transformer_support.h"

using namespace tapeformer;

namespace {

// A model and its loss on some batch.
struct Case {
  std::string name;
  std::unique_ptr<Module> model;
  std::function<Variable(Tape&)> loss;
  double value() const {
    Tape tape(no_grad);
    return loss(tape).value().item();
  }
  double add_gradients(const TapeOptions& options = {}) const {
    Tape tape(options);
    const Variable root = loss(tape);
    tape.backward(root);
    return root.value().item();
  }
  std::pair<double, Gradients> step(const TapeOptions& options = {}) const {
    model->zero_grad();
    const double loss = add_gradients(options);
    return {loss, gradients_of(*model)};
  }
};

// Every family, and of the Transformers the blocks that differ.
std::vector<Case> all_cases() {
  std::vector<Case> cases;
  const Tensor ids = ids_tensor(random_ids(20, 17, 1), {2, 10}), targets = ids_tensor(random_ids(20, 17, 2), {2, 10});
  const auto add = [&](std::string name, auto model, const auto& loss_of) {
    randomize(*model);
    const auto* const kept = model.get();
    cases.push_back({std::move(name), std::move(model), [=](Tape& tape) { return loss_of(*kept, tape); }});
  };
  const auto of_text = [=](const CausalModel& model, Tape& tape) {
    return model.loss(Variable::constant(tape, ids), Variable::constant(tape, targets), {.deferred = true});
  };
  const auto of_pairs = [=](const EncoderDecoder& model, Tape& tape) {
    const std::vector<std::int64_t> sources{6, 3}, lengths{4, 5};
    struct Vocabularies {
      std::int64_t source_vocab = 13, target_vocab = 13;
    };
    const PairBatch batch = batch_of(Vocabularies{}, random_pairs(Vocabularies{}, sources, lengths), 6, 5);
    return model.loss(batch.source, Variable::constant(tape, batch.inputs), Variable::constant(tape, batch.targets),
                      {});
  };
  for (const GptConfig& config : architectures()) {
    add("gpt, " + name_of(config), std::make_unique<Gpt>(config), of_text);
  }
  for (const TransformerConfig& config : transformer_architectures()) {
    add("transformer, " + name_of(config), std::make_unique<Transformer>(config), of_pairs);
  }
  const RecurrentConfig stack{.layers = 2, .input_dim = 6, .dim = 8, .dtype = DType::f64};
  add("rnn", std::make_unique<Rnn>(RnnConfig{.vocab = 17, .stack = stack}), of_text);
  for (const AttentionOrder order : {AttentionOrder::previous, AttentionOrder::current}) {
    RnnSeq2SeqConfig config{.source_vocab = 13, .target_vocab = 13, .stack = stack, .order = order};
    config.stack.cell = CellKind::gru;
    add("rnn_seq2seq, " + std::string(word_of(order)), std::make_unique<RnnSeq2Seq>(config), of_pairs);
  }
  add("nplm", std::make_unique<Nplm>(NplmConfig{.vocab = 17, .embedding_dim = 4, .dim = 6, .dtype = DType::f64}),
      of_text);
  BertConfig bert{.vocab = 17, .context = 12, .layers = 2, .block = small_gpt().block, .segments = 2};
  bert.block.norm = NormPlace::post;
  const auto of_masked = [=](const MaskedBert& model, Tape& tape) {
    return model.loss({.text = {.input_ids = Variable::constant(tape, ids)},
                       .targets = targets,
                       .sentence_labels = ids_tensor(std::vector<std::int32_t>{0, 1}, {2})},
                      {});
  };
  add("bert", std::make_unique<MaskedBert>(bert), of_masked);
  add("bilm", std::make_unique<BidirectionalBilm>(BilmConfig{.vocab = 17, .stack = stack}),
      [=](const BidirectionalBilm& model, Tape& tape) {
        return model.loss({Variable::constant(tape, ids), {}}, {});
      });
  add("word2vec", std::make_unique<SkipGramWord2vec>(Word2vecConfig{.vocab = 17, .dim = 5, .dtype = DType::f64}),
      [=](const SkipGramWord2vec& model, Tape& tape) {
        return model.loss({Variable::constant(tape, ids_tensor(random_ids(2, 17, 3), {2, 1})),
                           Variable::constant(tape, ids.reshape({2, 5, 2}))},
                          1);
      });
  add("glove", std::make_unique<GloveWord2vec>(Word2vecConfig{.vocab = 17, .dim = 5, .dtype = DType::f64}),
      [=](const GloveWord2vec& model, Tape& tape) {
        const Cooccurrence pairs[] = {{3, 5, 2.0}, {5, 3, 2.0}, {7, 7, 120.0}};
        return model.loss(tape, pairs, {}, 3);
      });
  add("labels",
      std::make_unique<EncoderForClassification>(std::make_unique<Bert>(bert),
                                                 ClassificationOptions{.labels = 3, .pooled = true, .mix = true}),
      [=](const EncoderForClassification& model, Tape& tape) {
        const Tensor places = ids_tensor(std::vector<std::int32_t>{0, 13}, {2});
        return sum(square(model.logits({.input_ids = Variable::constant(tape, ids)}, places)));
      });
  return cases;
}

bool can_be_hooked(const Module& module) {
  try {
    module.register_forward_hook([](const Module&, const Variable&) { return Variable(); }).remove();
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::vector<std::string> ops_of(const Case& c) {
  Tape tape;
  c.loss(tape);
  return tape.node_names();
}

}  // namespace

TEST_CASE("hooks: in every family they see every module forward and backward, and reading changes nothing") {
  for (const Case& c : all_cases()) {
    for (const bool recompute : {false, true}) {
      CAPTURE(c.name);
      CAPTURE(recompute);
      const TapeOptions options{.training = true, .recompute = recompute};
      const auto [loss, gradients] = c.step(options);
      const std::vector<std::string> ops = ops_of(c);
      std::set<const Module*> forward, backward;
      std::vector<HookHandle> handles;
      for (const NamedModule& named : c.model->named_modules()) {
        if (!can_be_hooked(*named.module)) continue;
        handles.push_back(named.module->register_forward_hook([&](const Module& module, const Variable& output) {
          CHECK(output.value().numel() > 0);
          forward.insert(&module);
          return Variable();
        }));
        handles.push_back(named.module->register_full_backward_hook([&](const Module& module, const Tensor& gradient) {
          CHECK(gradient.numel() > 0);
          backward.insert(&module);
          return Tensor();
        }));
      }
      const auto [hooked_loss, hooked_gradients] = c.step(options);
      CHECK(hooked_loss == doctest::Approx(loss).epsilon(1e-13));
      CHECK(distance(hooked_gradients, gradients) < 1e-11);
      for (const NamedModule& named : c.model->named_modules()) {
        CAPTURE(named.name);
        // What the loss does not need: a labeller reads BERT's layers, not its heads, nor what it makes of the last.
        const bool unused = c.name == "labels" && (named.name == "head" || named.name.starts_with("head.") ||
                                                   named.name == "pooler" || named.name == "next_sentence");
        const bool wraps =
            c.name == "labels" && ((named.name.empty() && named.module != c.model.get()) || named.name == "task");
        if (unused || wraps || !can_be_hooked(*named.module)) continue;
        const bool constant = named.module->named_parameters().empty();  // sinusoidal positions
        CHECK(forward.contains(named.module));
        CHECK(backward.contains(named.module) == !constant);
      }
      // Without them everything is as it was, to the bit.
      handles.clear();
      CHECK(ops_of(c) == ops);
      const auto [again, gradients_again] = c.step(options);
      CHECK(again == loss);
      CHECK(same_bits(gradients_again, gradients));
    }
  }
}

TEST_CASE("hooks: what a forward hook puts in the place of an output is what the model goes on with, backward too" *
          long_test()) {
  for (const Case& c : all_cases()) {
    if (c.name == "word2vec") continue;  // its largest gradients are large: the differences are coarse
    const auto modules = c.model->named_modules();
    // A module in the middle, and one at the bottom.
    for (const std::size_t i : {modules.size() / 2, std::size_t{1}}) {
      const NamedModule& named = modules[i];
      CAPTURE(c.name);
      CAPTURE(named.name);
      if (!can_be_hooked(*named.module)) continue;
      const HookHandle handle = named.module->register_forward_hook(
          [](const Module&, const Variable& output) { return scale(tanh(output), 0.9); });
      const auto [loss, gradients] = c.step();
      if (gradients.size() < c.model->named_parameters().size()) continue;
      check_gradients(
          *c.model, gradients, [&] { return c.value(); }, 0);
    }
  }
}

TEST_CASE("hooks: the hook of a model changes its features and its last hidden states alike") {
  const Gpt gpt(small_gpt());
  const Bert bert({.vocab = 17, .context = 12, .layers = 2, .block = small_gpt().block});
  const std::vector<const Model*> models{&gpt, &bert};
  for (const Model* const model : models) {
    randomize(*model);
    const HookHandle twice = model->register_forward_hook([](const Module&, const Variable& y) { return scale(y, 2); });
    Tape tape(no_grad);
    const Batch batch{.input_ids = Variable::constant(tape, ids_tensor(random_ids(20, 17, 1), {2, 10}))};
    CHECK(same_bits(model->hidden_states(batch).back().value(), model->features(batch).value()));
  }
}

TEST_CASE("hooks: a backward hook sees the derivative of the loss by the output, also in a fused op") {
  for (const char* const name : {"blocks.0", "blocks.0.attention.qkv", "blocks.1.feed_forward.up",
                                 "blocks.1.feed_forward.down", "blocks.1.feed_forward", "final_norm", ""}) {
    CAPTURE(name);
    const Gpt model(small_gpt());
    randomize(model);
    const Tensor ids = ids_tensor(random_ids(20, 17, 1), {2, 10});
    const Module& module = model.module(name);
    Tensor gradient, output;
    {
      const HookHandle forward = module.register_forward_hook([&](const Module&, const Variable& y) {
        output = y.value();
        return Variable();
      });
      const HookHandle backward = module.register_full_backward_hook([&](const Module&, const Tensor& dy) {
        gradient = dy.clone();
        return Tensor();
      });
      add_gradients(model, ids, ids);
    }
    REQUIRE(gradient.sizes() == output.sizes());
    const Tensor direction = Tensor::empty(output.sizes(), DType::f64);
    initialize(direction, Init::normal(1), {.seed = 5});
    double expected = 0;
    const std::vector<double> dy = values_of(gradient), along = values_of(direction);
    for (std::size_t i = 0; i < dy.size(); ++i) expected += dy[i] * along[i];
    const auto loss = [&](double step) {
      const HookHandle move = module.register_forward_hook([&](const Module&, const Variable& y) {
        return add(y, scale(Variable::constant(*y.tape(), direction), step));
      });
      return add_gradients(model, ids, ids);
    };
    CHECK(std::abs(expected) > 1e-3);
    CHECK((loss(1e-5) - loss(-1e-5)) / 2e-5 == doctest::Approx(expected).epsilon(1e-6));
  }
}

TEST_CASE("hooks: a hook may keep what it is shown; no op writes to it later") {
  const Gpt model(modern_gpt());
  randomize(model);
  const Tensor ids = ids_tensor(random_ids(20, 17, 1), {2, 10});
  std::vector<std::pair<Tensor, Tensor>> kept;  // and a copy of it
  std::vector<HookHandle> handles;
  for (const NamedModule& named : model.named_modules()) {
    if (!can_be_hooked(*named.module)) continue;
    handles.push_back(named.module->register_forward_hook([&](const Module&, const Variable& y) {
      kept.emplace_back(y.value(), y.value().clone());
      return Variable();
    }));
    handles.push_back(named.module->register_full_backward_hook([&](const Module&, const Tensor& dy) {
      kept.emplace_back(dy, dy.clone());
      return Tensor();
    }));
  }
  add_gradients(model, ids, ids);
  logits_of(model, ids);  // without recording, too
  CHECK(kept.size() > 60);
  for (const auto& pair : kept) CHECK(same_bits(pair.first, pair.second));
}

TEST_CASE("hooks: a backward hook changes the gradient of everything below, and of nothing above") {
  const Gpt model(small_gpt());
  randomize(model);
  const Tensor ids = ids_tensor(random_ids(20, 17, 1), {2, 10});
  add_gradients(model, ids, ids);
  const Gradients plain = gradients_of(model);
  model.zero_grad();
  const HookHandle handle = model.module("blocks.0").register_full_backward_hook([](const Module&, const Tensor& dy) {
    const Tensor twice = dy.clone();
    twice.add_from(dy);
    return twice;
  });
  add_gradients(model, ids, ids);
  const Gradients doubled = gradients_of(model);
  for (const auto& entry : plain) {
    const std::string& name = entry.first;
    CAPTURE(name);
    if (name == "token_embedding.weight") continue;  // the head's matrix, too
    const Tensor expected = entry.second.clone();
    if (name.starts_with("blocks.0") || name == "position_embedding.weight") expected.add_from(entry.second);
    CHECK(distance(doubled.at(name), expected) < 1e-12);
  }
}

TEST_CASE("hooks: they are called in their order, each with what the one before made, until they are removed") {
  const Linear layer(3, 2, true, Init::normal(1), DType::f64);
  layer.initialize_parameters(1);
  const auto sum_of = [&] {
    Tape tape;
    return sum(layer.forward(Variable::constant(tape, Tensor::full({4, 3}, DType::f64, 1)))).value().item();
  };
  const double plain = sum_of();
  HookHandle twice = layer.register_forward_hook([](const Module&, const Variable& y) { return scale(y, 2); });
  {
    const HookHandle more = layer.register_forward_hook([](const Module&, const Variable& y) { return y + 1.0; });
    CHECK(sum_of() == doctest::Approx(2 * plain + 8));
  }
  CHECK(sum_of() == doctest::Approx(2 * plain));
  CHECK(layer.has_hooks());
  HookHandle moved = std::move(twice);
  CHECK(sum_of() == doctest::Approx(2 * plain));
  moved.remove();
  CHECK(sum_of() == plain);
  CHECK(!layer.has_hooks());
  // A hook may remove itself, and a handle may outlive its module.
  int calls = 0;
  HookHandle once;
  once = layer.register_forward_hook([&](const Module&, const Variable&) {
    ++calls;
    once.remove();
    return Variable();
  });
  sum_of(), sum_of();
  CHECK(calls == 1);
  HookHandle last;
  {
    const Linear gone(3, 2, true, Init::normal(1), DType::f64);
    last = gone.register_forward_hook([](const Module&, const Variable&) { return Variable(); });
  }
  last.remove();
}
