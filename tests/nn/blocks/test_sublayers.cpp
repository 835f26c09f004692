// The switches of positions, sublayers, norms and biases, beside a definition in elementary ops: logits and gradients.
// The architectures of support.h and transformer_support.h have them in the tests of caches, recomputation, documents
// and hooks too.
#include <set>

#include "autograd/ops/ops.h"
#include "nn/models/bert.h"
#include "tests/nn/family_support.h"
#include "tests/nn/transformer_support.h"

using namespace tapeformer;

namespace {

// The blocks of a model by their definition, with the parameters of the model.
class Definition {
 public:
  Definition(const Module& model, const BlockConfig& block, Tape& tape) : block_(block) {
    for (const NamedParameter& parameter : model.named_parameters())
      parameters_.emplace(parameter.name, parameter.variable.on(tape));
  }

  // x Wᵀ + b; `begin` and `end` choose rows of W.
  Variable linear(const Variable& x, const std::string& name, std::int64_t begin, std::int64_t end) const {
    const Variable y = matmul(x, transpose(slice(parameters_.at(name + ".weight"), 0, begin, end), 0, 1));
    const auto bias = parameters_.find(name + ".bias");
    return bias == parameters_.end() ? y : add(y, slice(bias->second, 0, begin, end));
  }
  Variable norm(const Variable& x, const std::string& name) const {
    const auto weight = parameters_.find(name + ".weight"), bias = parameters_.find(name + ".bias");
    if (weight == parameters_.end()) return x;
    return layer_norm(x, weight->second, bias == parameters_.end() ? Variable() : bias->second, block_.norm_eps);
  }
  // x and what it attends to, both (B, T, dim).
  Variable attention(const Variable& x, const Variable& source, const std::string& name, bool causal) const {
    const std::int64_t dim = block_.dim, d = dim / block_.heads, keys = source.size(1);
    const bool packed = parameters_.contains(name + ".qkv.weight");
    const std::int64_t first = packed ? dim : 0;  // the row of W where the keys begin
    const std::string of_q = name + (packed ? ".qkv" : ".q"), of_kv = name + (packed ? ".qkv" : ".kv");
    const auto heads = [&](const Variable& rows) {
      return transpose(reshape(rows, {rows.size(0), rows.size(1), block_.heads, d}), 1, 2);
    };
    const Variable q = heads(linear(x, of_q, 0, dim)), k = heads(linear(source, of_kv, first, first + dim)),
                   v = heads(linear(source, of_kv, first + dim, first + 2 * dim));
    const double factor = block_.attention_scale > 0 ? block_.attention_scale : 1 / std::sqrt(static_cast<double>(d));
    Variable scores = scale(matmul(q, transpose(k, 2, 3)), factor);
    if (causal) {
      const Tensor mask = Tensor::zeros({keys, keys}, DType::f64);
      for (std::int64_t i = 0; i < keys; ++i) {
        for (std::int64_t j = i + 1; j < keys; ++j) mask.data<double>()[i * keys + j] = -1e30;
      }
      scores = add(scores, Variable::constant(*x.tape(), mask));
    }
    const Variable read = transpose(matmul(softmax(scores), v), 1, 2);
    return linear(reshape(read, x.sizes()), name + ".out", 0, dim);
  }
  template <class Sub>
  Variable sublayer(const Variable& x, const std::string& norm_name, const Sub& sub) const {
    const bool pre = block_.norm == NormPlace::pre;
    const Variable y = sub(pre ? norm(x, norm_name) : x), sum = block_.residual ? add(x, y) : y;
    return pre ? sum : norm(sum, norm_name);
  }
  // All blocks whose names begin with the prefix, and the final norm.
  Variable stack(Variable x, const std::string& prefix, bool causal, const Variable& encoded = {}) const {
    for (int i = 0; parameters_.contains(str_cat(prefix, "blocks.", i, ".attention.qkv.weight")); ++i) {
      const std::string block = str_cat(prefix, "blocks.", i, ".");
      x = sublayer(x, block + "attention_norm",
                   [&](const Variable& y) { return attention(y, y, block + "attention", causal); });
      if (encoded.defined()) {
        x = sublayer(x, block + "cross_attention_norm",
                     [&](const Variable& y) { return attention(y, encoded, block + "cross_attention", false); });
      }
      if (block_.feed_forward == FeedForwardKind::none) continue;
      x = sublayer(x, block + "feed_forward_norm", [&](const Variable& y) {
        const std::string name = block + "feed_forward.";
        return linear(relu(linear(y, name + "up", 0, block_.ff_dim)), name + "down", 0, block_.dim);
      });
    }
    return norm(x, prefix + "final_norm");
  }
  Variable embed(const std::string& name, const Tensor& ids, double factor) const {
    const Variable& table = parameters_.at(name + ".weight");
    return scale(embedding(table, Variable::constant(*table.tape(), ids)), factor);
  }
  Variable logits(const Variable& features, const std::string& embedding) const {
    return matmul(features, transpose(parameters_.at(embedding + ".weight"), 0, 1));
  }

 private:
  BlockConfig block_;
  std::map<std::string, Variable> parameters_;
};

// Runs both on the model's parameters; returns the largest difference of their outputs and of the gradients of Σ
// output², as a part of the largest element of the output and of all gradients. (Without residual connections the
// gradients of some matrices are tiny differences of large numbers.)
template <class Model, class Forward, class Twin>
double distance_from_definition(const Model& model, const BlockConfig& block, const Forward& forward,
                                const Twin& twin) {
  const auto run = [&](const auto& compute) {
    model.zero_grad();
    Tape tape;
    const Variable y = compute(tape);
    tape.backward(sum(square(y)));
    std::vector<double> gradients;
    for (const auto& entry : gradients_of(model)) {
      const std::vector<double> values = values_of(entry.second);
      gradients.insert(gradients.end(), values.begin(), values.end());
    }
    const Tensor all = Tensor::from(std::span<const double>(gradients), {std::ssize(gradients)});
    return std::pair{y.value().clone(), all};
  };
  const auto result = run(forward);
  const auto expected = run([&](Tape& tape) { return twin(Definition(model, block, tape)); });
  return std::max(distance(result.first, expected.first), distance(result.second, expected.second));
}

double distance_of_gpt(const BlockConfig& block) {
  GptConfig config = small_gpt();
  config.block = block, config.position = NoPositions{}, config.embedding_scale = 1.7;
  const Gpt model(config);
  randomize(model);
  const Tensor ids = ids_tensor(random_ids(20, config.vocab, 1), {2, 10});
  return distance_from_definition(
      model, block, [&](Tape& tape) { return model.logits(model.forward(Variable::constant(tape, ids))); },
      [&](const Definition& definition) {
        return definition.logits(definition.stack(definition.embed("token_embedding", ids, 1.7), "", true),
                                 "token_embedding");
      });
}

double distance_of_transformer(const BlockConfig& block) {
  TransformerConfig config = small_transformer();
  config.block = block, config.position = NoPositions{}, config.embedding_scale = 0.6;
  const Transformer model(config);
  randomize(model);
  const PairBatch batch = full_batch(config, 2, 9, 7);
  return distance_from_definition(
      model, block,
      [&](Tape& tape) {
        return model.logits(model.decode(Variable::constant(tape, batch.inputs), model.encode(tape, batch.source)));
      },
      [&](const Definition& definition) {
        const auto embed = [&](const Tensor& ids) { return definition.embed("source_embedding", ids, 0.6); };
        const Variable encoded = definition.stack(embed(batch.source.ids), "encoder.", false);
        return definition.logits(definition.stack(embed(batch.inputs), "decoder.", true, encoded), "source_embedding");
      });
}

BlockConfig plain_block(NormPlace norm) {
  BlockConfig block = small_transformer().block;
  block.norm = norm;
  return block;
}

// Each switch alone, and all together.
std::vector<BlockConfig> switched_blocks() {
  std::vector<BlockConfig> blocks;
  for (const NormPlace norm : {NormPlace::pre, NormPlace::post}) {
    const auto add = [&](const auto& change) {
      BlockConfig& block = blocks.emplace_back(plain_block(norm));
      change(block);
    };
    add([](BlockConfig&) {});
    add([](BlockConfig& block) { block.attention_scale = 1; });
    add([](BlockConfig& block) { block.residual = false; });
    add([](BlockConfig& block) { block.norm_kind = NormKind::none; });
    add([](BlockConfig& block) { block.feed_forward = FeedForwardKind::none; });
    add([](BlockConfig& block) { block.final_norm = block.norm == NormPlace::post; });
    add([](BlockConfig& block) { block.bias.attention = block.bias.attention_out = false; });
    add([](BlockConfig& block) { block.bias.attention_out = false; });
    add([](BlockConfig& block) { block.bias.feed_forward = false; });
    add([](BlockConfig& block) { block.bias.norms = false; });
    add([](BlockConfig& block) {
      block.attention_scale = 0.3, block.residual = false, block.bias = false;
      block.norm_kind = NormKind::none, block.feed_forward = FeedForwardKind::none;
    });
  }
  return blocks;
}

}  // namespace

TEST_CASE("sublayers: with each switch a gpt and a transformer have the outputs and gradients of their definition") {
  for (const BlockConfig& block : switched_blocks()) {
    CHECK(distance_of_gpt(block) < 1e-11);
    CHECK(distance_of_transformer(block) < 1e-11);
  }
}

TEST_CASE("sublayers: a switched part has no parameters, and the others keep theirs") {
  const auto names = [](const char* family, std::initializer_list<std::pair<std::string, KeyValue>> options) {
    std::set<std::string> names;
    for (const auto& entry : model_of<Module>(family, options)->state_dict()) names.insert(entry.first);
    return names;
  };
  for (const char* family : {"gpt", "transformer", "bert"}) {
    CAPTURE(family);
    const std::pair<std::string, KeyValue> biases{"bias", true}, layer{"norm_kind", std::string("layer")};
    const std::set<std::string> all = names(family, {biases, layer});
    const auto lacks = [&](std::pair<std::string, KeyValue> option, const auto& is_part) {
      std::set<std::string> rest;
      for (const std::string& name : all) {
        if (!is_part(name)) rest.insert(name);
      }
      CHECK(rest.size() < all.size());
      CHECK(names(family, {biases, layer, std::move(option)}) == rest);
    };
    const auto contains = [](const std::string& name, std::string_view part) { return name.find(part) != name.npos; };
    const auto is_norm = [&](const std::string& name) { return contains(name, "norm."); };
    const auto is_bias_in = [&](const std::string& name, std::string_view part) {
      return name.ends_with(".bias") && contains(name, part) && !is_norm(name);
    };
    lacks({"feed_forward", std::string("none")},
          [&](const std::string& name) { return contains(name, "feed_forward"); });
    lacks({"attention_bias", std::string("false")},
          [&](const std::string& name) { return is_bias_in(name, "attention."); });
    lacks({"attention_bias", std::string("qkv")},
          [&](const std::string& name) { return is_bias_in(name, "attention.out"); });
    lacks({"ff_bias", std::string("false")},
          [&](const std::string& name) { return is_bias_in(name, "feed_forward."); });
    lacks({"norm_bias", std::string("false")},
          [&](const std::string& name) { return name.ends_with(".bias") && is_norm(name); });
    const std::set<std::string> without = names(family, {biases, {"norm_kind", std::string("none")}});
    CHECK(std::ranges::none_of(without, is_norm));
    CHECK(names(family, {{"position", std::string("none")}}).contains("position_embedding.weight") == false);
    for (const char* place : {"pre", "post"}) {
      for (const char* final_norm : {"auto", "true", "false"}) {
        const std::set<std::string> with =
            names(family, {{"norm", std::string(place)}, {"final_norm", std::string(final_norm)}});
        const bool expected = std::string(final_norm) == "auto" ? std::string(place) == "pre" : final_norm[0] == 't';
        CHECK(std::ranges::any_of(with, [&](auto& name) { return contains(name, "final_norm"); }) == expected);
      }
    }
  }
}

TEST_CASE("sublayers: permuting the input of an encoder without positions permutes its output") {
  const std::vector<std::int32_t> ids = random_ids(9, 17, 3);
  const std::vector<std::size_t> order{4, 0, 8, 2, 6, 1, 7, 5, 3};
  std::vector<std::int32_t> permuted;
  for (const std::size_t from : order) permuted.push_back(ids[from]);
  // The largest distance of a token's vector from that of the same token in the permuted row.
  const auto moved = [&](const Model& model) {
    randomize(model);
    const auto vectors = [&](const std::vector<std::int32_t>& row) {
      Tape tape(no_grad);
      return model.features({.input_ids = Variable::constant(tape, ids_tensor(row, {1, 9}))}).value().contiguous();
    };
    const Tensor before = vectors(ids), after = vectors(permuted);
    double largest = 0;
    for (std::size_t to = 0; to < order.size(); ++to) {
      const auto at = [](const Tensor& x, std::size_t t) {
        return x.slice(1, static_cast<std::int64_t>(t), static_cast<std::int64_t>(t) + 1);
      };
      largest = std::max(largest, distance(at(after, to), at(before, order[to])));
    }
    return largest;
  };
  for (const NormPlace norm : {NormPlace::pre, NormPlace::post}) {
    TransformerConfig pair = small_transformer();
    BertConfig text{.vocab = 17, .context = 12, .layers = 2, .block = plain_block(norm)};
    pair.block.norm = norm;
    CHECK(moved(Transformer(pair)) > 1e-3);
    CHECK(moved(Bert(text)) > 1e-3);
    pair.position = NoPositions{}, text.position = NoPositions{};
    CHECK(moved(Transformer(pair)) < 1e-12);
    CHECK(moved(Bert(text)) < 1e-12);
  }
}

TEST_CASE("sublayers: without positions a gpt reads beyond its context, as it reads a row of that length") {
  const auto model = model_of<CausalModel>("gpt", {{"position", std::string("none")}, {"context", std::int64_t{8}}});
  CHECK(model->can_exceed_context());
  randomize(*model);
  const Tensor ids = ids_tensor(random_ids(20, 17, 1), {1, 20});
  CHECK(distance(logits_of(*model, ids).slice(1, 0, 8), logits_of(*model, ids.slice(1, 0, 8).contiguous())) < 1e-5);
}

TEST_CASE("sublayers: the standard deviation of residual outputs counts the additions that there are") {
  const auto deviation = [](BlockConfig block) {
    block.dim = 64, block.norm = NormPlace::pre, block.residual_init = Init::normal(0.5);
    const BlockStack stack(block, 2, LearnedPositions{});
    stack.initialize_parameters(1);
    double squares = 0;
    const std::vector<double> values = values_of(stack.state_dict().at("blocks.1.attention.out.weight"));
    for (const double value : values) squares += value * value;
    return std::sqrt(squares / static_cast<double>(values.size()));
  };
  BlockConfig block;
  CHECK(deviation(block) == doctest::Approx(0.5 / 2).epsilon(0.03));  // two sublayers in each of two blocks
  block.feed_forward = FeedForwardKind::none;
  CHECK(deviation(block) == doctest::Approx(0.5 / std::sqrt(2)).epsilon(0.03));
  block.residual = false;
  CHECK(deviation(block) == doctest::Approx(0.5).epsilon(0.03));
}

TEST_CASE("sublayers: attention alone costs the operations of its own weights") {
  const ModelFamily& family = find_model_family("gpt");
  KeyValues options(family.keys);
  options.set("feed_forward", std::string("none")), options.set("layers", std::int64_t{2});
  family.resolve(options, true);
  const ModelVocabulary vocabulary{.source = 17, .target = 17};
  const auto model = std::get<CausalModelMaker>(family.make)(options, vocabulary);
  const std::int64_t block = 4 * 128 * 128 + 128;
  CHECK(model->parameter_count("blocks.") == 2 * block);
  CHECK(family.flops(options, *model, vocabulary, 50).blocks == 2.0 * 2 * block + 2 * 2.0 * 128 * 50);
}

TEST_CASE("sublayers: keys that contradict each other are refused") {
  const auto refused = [](std::initializer_list<std::pair<std::string, KeyValue>> options, const char* message) {
    CHECK_THROWS_WITH_AS(model_of<Module>("gpt", options), message, UsageError);
  };
  refused({{"norm_kind", std::string("none")}, {"final_norm", std::string("true")}},
          "model.final_norm: expected auto or false beside model.norm_kind = none, got true");
  refused({{"residual", false}, {"zero_init", true}},
          "model.zero_init: expected false beside model.residual = false, where every output would be zero, got true");
}
