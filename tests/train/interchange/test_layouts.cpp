// Our own models in the layouts of Hugging Face.
#include "tests/train/interchange/support.h"
#include "tokenizer/train_tokenizer.h"

using namespace tapeformer;

namespace {

namespace fs = std::filesystem;

// A run of a model with these keys and random weights, biases and weights of norms too.
RunFolder random_run(const fs::path& out, const std::string& tokenizer,
                     const std::map<std::string, std::string>& options) {
  Config config;
  for (const auto& [key, value] : options) apply_override(config, key, value);
  const ResolvedConfig resolved = resolve(config);
  const auto tokens = Tokenizer::from_json(tokenizer, "test");
  const auto model = make_model_with_heads(resolved, model_vocabulary(resolved, *tokens));
  std::uint64_t stream = 0;
  for (const auto& tensor : model->named_tensors())
    initialize(tensor.second, Init::normal(0.3), RandomKey{.seed = 7, .stream = stream++});
  const std::string toml = to_toml(resolved);
  return create_run(out, toml, {.source = tokens->to_json(), .target = ""},
                    [&](const RunFolder& run) { publish_weights(run, *model, toml); });
}

}  // namespace

TEST_CASE("interchange: our own models keep their logits through Hugging Face's layouts, zeros in place of no biases") {
  const std::string tokenizer = read_all(kGolden / "tokenizer.json");
  const std::map<std::string, std::string> size = {
      {"model.dim", "12"}, {"model.heads", "2"}, {"model.layers", "2"}, {"model.context", "16"}};
  const std::vector<std::map<std::string, std::string>> models = {
      {{"model.position", "learned"}, {"model.norm_kind", "layer"}, {"model.activation", "relu"}},
      {{"model.position", "learned"},
       {"model.norm_kind", "layer"},
       {"model.activation", "gelu"},
       {"model.bias", "true"},
       {"model.norm_bias", "false"},
       {"model.attention_scale", "none"},
       {"model.tie_embeddings", "none"}},
      {},
      {{"model.kv_heads", "1"}, {"model.head_dim", "8"}, {"model.ff_bias", "true"}},
      {{"model.attention_bias", "qkv"}},
      {{"model.qk_norm", "true"}, {"model.attention_bias", "true"}, {"model.position_base", "500"}},
      {{"model.type", "bert"}},
      {{"model.type", "bert"}, {"model.segments", "2"}, {"model.next_sentence", "true"}, {"model.bias", "false"}},
      {{"model.type", "bert"}, {"model.segments", "3"}, {"model.next_sentence", "true"}},
      {{"model.type", "bert"}, {"model.tie_embeddings", "none"}, {"model.segments", "3"}}};
  const std::map<std::string, Tensor> inputs{
      {"ids", Tensor::from<std::int32_t>({1, 5, 3, 3, 9, 20, 7, 2, 11, 0, 4, 8}, {2, 6})}};
  for (auto options : models) {
    options.insert(size.begin(), size.end());
    CAPTURE(nlohmann::json(options).dump());
    const TempFolder folder;
    const RunFolder run = random_run(folder.path / "run", tokenizer, options);
    const auto trained = load_run<TrainedTextModel>({run.root});
    huggingface().write(trained, folder.path / "out", "f32");
    const auto before = outputs_of(*trained.model, inputs);
    const RunFolder again = import_model(read_published(folder.path / "out"), folder.path / "again");
    const auto read = load_run<TrainedTextModel>({again.root});
    // The biases of GPT-2's layout are left out again, unless the model has some of them.
    if (!options.contains("model.type") && !options.contains("model.norm_bias"))
      CHECK(read.model->parameter_count() == trained.model->parameter_count());
    for (const auto& output : outputs_of(*read.model, inputs))
      CHECK(largest_difference(output.second, before.at(output.first)) == 0);
  }
}

TEST_CASE("interchange: [MASK] takes the space before it in the export of a BERT whose words begin with one") {
  const std::string_view text = "a cat sat";
  for (const std::string kind : {"bpe", "word", "char"}) {
    CAPTURE(kind);
    const auto tokenizer = train_tokenizer(
        {.kind = kind, .vocab = 270, .special_tokens = {"[PAD]", "[CLS]", "[SEP]", "[MASK]"}}, std::span(&text, 1));
    const TempFolder folder;
    const RunFolder run =
        random_run(folder.path / "run", tokenizer->to_json(),
                   {{"model.type", "bert"}, {"model.dim", "12"}, {"model.heads", "2"}, {"model.layers", "1"}});
    huggingface().write(load_run<TrainedTextModel>({run.root}), folder.path / "out", "f32");
    const auto exported = Tokenizer::load(folder.path / "out");
    const bool alike = exported->encode("a [MASK] sat", true) == exported->encode("a[MASK] sat", true);
    CHECK(alike == (kind != "char"));
  }
}

TEST_CASE("interchange: a model that fits no layout is refused, naming the key in the way, and nothing is written") {
  const std::string tokenizer = read_all(kGolden / "tokenizer.json");
  const auto error = [&](std::map<std::string, std::string> options) {
    options.insert({{"model.dim", "12"}, {"model.heads", "2"}, {"model.layers", "1"}, {"model.context", "16"}});
    const TempFolder folder;
    const RunFolder run = random_run(folder.path / "run", tokenizer, options);
    const auto trained = load_run<TrainedTextModel>({run.root});
    const std::string message = message_of([&] { huggingface().write(trained, folder.path / "out", "f32"); });
    CHECK(folder.entries() == 1);
    return message;
  };
  const std::pair<std::string, std::string> layer{"model.norm_kind", "layer"}, learned{"model.position", "learned"},
      gelu{"model.activation", "gelu"};
  CHECK(error({layer}) == "export: model.position: expected learned for GPT-2's layout, got rotary");
  CHECK(error({layer, learned}) ==
        "export: model.activation: expected gelu, gelu_tanh, relu or relu2 for GPT-2's layout, got swiglu");
  CHECK(error({layer, learned, gelu, {"model.norm", "post"}}) ==
        "export: model.final_norm: expected true for GPT-2's layout, got false");
  CHECK(error({layer, learned, gelu, {"model.kv_heads", "1"}}) ==
        "export: model.kv_heads: expected 2 for GPT-2's layout, got 1");
  CHECK(error({layer, learned, gelu, {"model.head_dim", "4"}}) ==
        "export: model.head_dim: expected 6 for GPT-2's layout, got 4");
  CHECK(error({layer, learned, gelu, {"model.attention_scale", "0.5"}}) ==
        "export: model.attention_scale: expected auto or none for GPT-2's layout, got 0.5");
  CHECK(error({layer, learned, gelu, {"model.qk_norm", "true"}}) ==
        "export: model.qk_norm: expected false for GPT-2's layout, got true");
  CHECK(error({{"model.norm_kind", "batch"}, learned, gelu}) ==
        "export: model.norm_kind: expected layer for GPT-2's layout, got batch");
  CHECK(error({{"model.position", "sinusoidal"}}) ==
        "export: model.position: expected rotary for Llama's layout, got sinusoidal");
  CHECK(error({{"model.activation", "geglu"}}) ==
        "export: model.activation: expected swiglu for Llama's layout, got geglu");
  CHECK(error({{"model.rotary_pairs", "interleaved"}}) ==
        "export: model.rotary_pairs: expected halves for Llama's layout, got interleaved");
  CHECK(error({{"model.value_dim", "4"}}) == "export: model.value_dim: expected 6 for Llama's layout, got 4");
  CHECK(error({{"model.attention_window", "4"}}) ==
        "export: model.attention_window: expected 0 for Llama's layout, got 4");
  CHECK(error({{"model.logit_softcap", "5"}}) == "export: model.logit_softcap: expected 0 for Llama's layout, got 5.0");
  CHECK(error({{"model.value_residual", "true"}}) ==
        "export: model.value_residual: expected false for Llama's layout, got true");
  CHECK(error({{"model.residual", "false"}}) == "export: model.residual: expected true for Llama's layout, got false");
  CHECK(error({{"model.feed_forward", "none"}}) ==
        "export: model.feed_forward: expected mlp for Llama's layout, got none");
  CHECK(error({{"model.embedding_scale", "2"}}) ==
        "export: model.embedding_scale: expected auto for Llama's layout, got 2.0");
  CHECK(error({{"model.qk_norm", "true"}, {"model.attention_bias", "qkv"}}) ==
        "export: model.attention_bias: expected true or false for Qwen3's layout, got qkv");
  CHECK(error({{"model.qk_norm", "true"}, {"model.ff_bias", "true"}}) ==
        "export: model.ff_bias: expected false for Qwen3's layout, got true");
  CHECK(error({{"model.type", "bert"}, {"model.norm", "pre"}}) ==
        "export: model.final_norm: expected false for BERT's layout, got true");
  CHECK(error({{"model.type", "bert"}, {"model.activation", "relu"}}) ==
        "export: model.activation: expected gelu for BERT's layout, got relu");
  const TempFolder folder;
  const RunFolder run = random_run(folder.path / "run", tokenizer, {{"model.type", "rnn"}});
  const auto trained = load_run<TrainedTextModel>({run.root});
  CHECK(message_of([&] { huggingface().write(trained, folder.path / "out", "f32"); }) ==
        "model.type: expected gpt or bert, whose layouts are known, got rnn");
}
