// Heads of attention that are removed: what is left is exact, and they come back to the bit.
#include "nn/attention/head_ablation.h"

#include <array>
#include <map>

#include "core/error.h"
#include "nn/attention/attention.h"
#include "nn/models/bert.h"
#include "nn/models/gpt.h"
#include "nn/models/transformer.h"
#include "tests/nn/support.h"

using namespace tapeformer;

namespace {

const BlockConfig kBlock{.dim = 12, .heads = 3, .ff_dim = 8, .init = Init::normal(0.5), .dtype = DType::f64};

std::vector<std::string> names_of_heads(const Module& model) {
  std::vector<std::string> names;
  for (const HeadIndex& index : all_heads(model)) names.push_back(head_name(index));
  return names;
}

// What the attention of block 1 returns, and what each of its heads adds (1, heads, T, dim).
struct Seen {
  Tensor output, heads;
};
Seen attention_of_block(const Gpt& model) {
  Seen seen;
  const HookHandle hook =
      model.module("blocks.1.attention").register_forward_hook([&](const Module&, const Variable& y) {
        seen.output = y.value().clone();
        return Variable();
      });
  const TensorObserver observer = [&](std::string_view name, const std::function<Tensor()>& tensor) {
    if (name == kSelfAttentionHeads) seen.heads = tensor().contiguous();  // in the end those of the last block
  };
  Tape tape({.record = false, .observer = &observer});
  model.forward(Variable::constant(tape, Tensor::from<std::int32_t>({3, 1, 4, 1, 5}, {1, 5})));
  return seen;
}

}  // namespace

TEST_CASE("heads: without some of them a layer gives the sum of the others and its bias; afterwards all is as before") {
  for (const std::int64_t kv_heads : {0, 1}) {
    BlockConfig block = kBlock;
    block.kv_heads = kv_heads, block.residual_init = block.init;
    Gpt model({.vocab = 9, .context = 8, .layers = 2, .block = block});
    model.initialize_parameters(1);
    model.state_dict().at("blocks.1.attention.out.bias").copy_from(Tensor::full({12}, DType::f64, 0.3));
    const Seen all = attention_of_block(model);
    const std::vector<double> weights = model.state_dict().at("blocks.1.attention.out.weight").to_vector<double>();
    const std::vector<HeadIndex> heads{find_head(model, "1.0"), find_head(model, "1.2")};
    {
      const HeadAblation ablation(model, heads);
      const std::vector<double> left = attention_of_block(model).output.to_vector<double>();
      for (std::size_t i = 0; i < left.size(); ++i) {
        const double middle = all.heads.data<double>()[left.size() + i];  // of head 1
        CHECK(left[i] == doctest::Approx(middle + 0.3).epsilon(1e-12));
      }
    }
    CHECK(model.state_dict().at("blocks.1.attention.out.weight").to_vector<double>() == weights);
    CHECK(attention_of_block(model).output.to_vector<double>() == all.output.to_vector<double>());
  }
}

TEST_CASE("heads: their names say the stack of an encoder-decoder; what a model does not have is refused") {
  Gpt gpt({.vocab = 9, .context = 8, .layers = 2, .block = kBlock});
  CHECK(names_of_heads(gpt) == std::vector<std::string>{"0.0", "0.1", "0.2", "1.0", "1.1", "1.2"});
  Bert bert({.vocab = 9, .context = 8, .layers = 1, .block = kBlock});
  CHECK(names_of_heads(bert) == std::vector<std::string>{"0.0", "0.1", "0.2"});
  TransformerConfig pair{.source_vocab = 9, .target_vocab = 9, .layers = 1, .block = kBlock};
  const Transformer transformer(pair);
  CHECK(names_of_heads(transformer) == std::vector<std::string>{"encoder.0.0", "encoder.0.1", "encoder.0.2",
                                                                "decoder.0.0", "decoder.0.1", "decoder.0.2",
                                                                "cross.0.0", "cross.0.1", "cross.0.2"});
  const auto zeros = [&](const char* head) {
    Transformer model(pair);
    model.initialize_parameters(1);
    remove_heads(model, std::array{find_head(model, head)});
    std::vector<std::string> changed;
    for (const auto& [name, weight] : model.state_dict()) {
      if (name.ends_with("out.weight") &&
          weight.slice(1, 4, 8).contiguous().to_vector<double>() == std::vector(48, 0.0))
        changed.push_back(name);
    }
    return changed;
  };
  CHECK(zeros("encoder.0.1") == std::vector<std::string>{"encoder.blocks.0.attention.out.weight"});
  CHECK(zeros("decoder.0.1") == std::vector<std::string>{"decoder.blocks.0.attention.out.weight"});
  CHECK(zeros("cross.0.1") == std::vector<std::string>{"decoder.blocks.0.cross_attention.out.weight"});
  CHECK_THROWS_WITH_AS(find_head(gpt, "2.0"), "head 2.0: expected one of 0.0, …, 1.2, which count from 0", UsageError);
  CHECK_THROWS_WITH_AS(find_head(Linear(2, 2, false, Init::zeros(), DType::f64), "0.0"),
                       "head 0.0: the model has no heads of attention", UsageError);
}
