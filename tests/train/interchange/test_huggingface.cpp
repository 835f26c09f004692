// Models that Hugging Face's transformers has written (golden/make_golden.py).
#include "tasks/interchange/huggingface_layout.h"
#include "tests/train/interchange/support.h"

using namespace tapeformer;

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kModels[] = {"gpt2", "gpt2-erf", "llama", "llama-tied", "qwen2", "qwen3", "bert", "bert-untied"};

// A folder with a copy of a golden model and the tokenizer that all of them have.
struct GoldenModel : TempFolder {
  explicit GoldenModel(const std::string& name) : folder(path / name) {
    fs::copy(kGolden / name, folder);
    fs::copy_file(kGolden / "tokenizer.json", folder / "tokenizer.json");
  }
  // Changes a file of JSON by a merge patch, in which null removes a key.
  void patch(const std::string& name, const Json& changes) const {
    Json file = Json::parse(read_all(folder / name));
    file.merge_patch(changes);
    write(folder.filename() / name, file.dump());
  }
  RunFolder import(const std::string& name = "run") const { return import_model(read_published(folder), path / name); }

  fs::path folder;
};

void check_outputs(const fs::path& run, const std::map<std::string, Tensor>& expected) {
  const auto trained = load_run<TrainedTextModel>({run}, {});
  std::size_t compared = 0;
  for (const auto& output : outputs_of(*trained.model, expected)) {
    const std::string& name = output.first;
    CAPTURE(name);
    REQUIRE(expected.contains(name));
    CHECK(largest_difference(output.second, expected.at(name)) < 2e-5);
    ++compared;
  }
  CHECK(compared + 1 + expected.count("segments") == expected.size());
}

}  // namespace

TEST_CASE("interchange: models that transformers has written have its logits, whatever their dtype, shards and ties") {
  for (const std::string name : kModels) {
    CAPTURE(name);
    const GoldenModel golden(name);
    const RunFolder run = golden.import();
    check_outputs(run.root, read_safetensors(golden.folder / "expected.safetensors"));
    // The tokenizer has two tokens less than the model, and gets them.
    CHECK(Tokenizer::load(run.tokenizer())->vocab_size() == 31);
  }
}

TEST_CASE("interchange: what is exported has the tensors that were imported, and imports to the same values") {
  for (const std::string name : kModels) {
    CAPTURE(name);
    const GoldenModel golden(name);
    const RunFolder run = golden.import();
    const fs::path out = golden.path / "out";
    huggingface().write(load_run<TrainedTextModel>({run.root}), out, "f32");
    const PublishedModel before = read_published(golden.folder), after = read_published(out);
    for (const auto& tensor : before.tensors->tensors()) {
      CAPTURE(tensor.first);
      REQUIRE(after.tensors->tensors().contains(tensor.first));
      CHECK(largest_difference(before.tensors->read(tensor.first), after.tensors->read(tensor.first)) == 0);
    }
    CHECK(before.tensors->tensors().size() == after.tensors->tensors().size());
    const RunFolder again = import_model(after, golden.path / "again");
    CHECK((values_of(again) == values_of(run)));
    Json first = Json::parse(read_all(run.tokenizer())), second = Json::parse(read_all(again.tokenizer()));
    CHECK(second["post_processor"].is_null() == !name.starts_with("bert"));  // what an export of a BERT adds
    first.erase("post_processor"), second.erase("post_processor");
    CHECK(second == first);
    const Json was = Json::parse(read_all(golden.folder / "config.json"));
    Json is = Json::parse(read_all(out / "config.json"));
    // transformers 5 writes rope_parameters, and reads what version 4 wrote.
    if (was.contains("rope_parameters")) {
      is["rope_parameters"] = is["rope_scaling"].is_null() ? Json{{"rope_type", "default"}} : is["rope_scaling"];
      is["rope_parameters"]["rope_theta"] = is["rope_theta"];
    }
    for (const char* key :
         {"architectures", "model_type", "vocab_size", "n_positions", "hidden_size", "rope_parameters",
          "num_key_value_heads", "attention_bias", "layer_norm_epsilon", "rms_norm_eps", "scale_attn_weights",
          "activation_function", "tie_word_embeddings", "layer_norm_eps"}) {
      CAPTURE(key);
      if (was.contains(key)) CHECK(nlohmann::json(was[key]) == nlohmann::json(is[key]));
    }
  }
}

TEST_CASE("interchange: of a model in bf16 the run has the matrices so, on disk and in memory, and the same results") {
  for (const std::string name : {"gpt2-erf", "llama", "qwen3", "bert"}) {
    CAPTURE(name);
    const GoldenModel golden(name), wide(name);
    NamedTensors halves, tensors;
    for (const auto& tensor : read_safetensors(golden.folder / "model.safetensors")) {
      halves.emplace_back(tensor.first, tensor.second.to(DType::bf16));
      tensors.emplace_back(tensor.first, halves.back().second.to(DType::f32));
    }
    write_safetensors(golden.folder / "model.safetensors", halves);
    write_safetensors(wide.folder / "model.safetensors", tensors);
    const RunFolder run = golden.import(), of_f32 = wide.import();
    const auto weights = read_safetensors(checkpoint_weights(run.checkpoint(0)));
    for (const auto& tensor : read_safetensors(checkpoint_weights(of_f32.checkpoint(0)))) {
      CAPTURE(tensor.first);
      const Tensor& same = weights.at(tensor.first);
      const bool is_position = tensor.first == "position_embedding.weight";  // which no product reads
      CHECK(tensor.second.dtype() == DType::f32);
      CHECK(same.dtype() == (same.rank() == 2 && !is_position ? DType::bf16 : DType::f32));
      CHECK(same.to(DType::f32).to_vector<float>() == tensor.second.to_vector<float>());
    }

    const auto inputs = read_safetensors(golden.folder / "expected.safetensors");
    for (const MatmulSetting matmul : {MatmulSetting::medium, MatmulSetting::highest}) {
      const LoadOptions options{.matmul = matmul, .default_weights = DefaultWeights::as_stored};
      const auto held = load_run<TrainedTextModel>({run.root}, options),
                 other = load_run<TrainedTextModel>({of_f32.root}, options);
      CHECK(held.weights == (matmul == MatmulSetting::medium ? WeightFormat::bf16 : WeightFormat::f32));
      CHECK(other.weights == WeightFormat::f32);
      const kernels::MatmulPrecisionScope precision(held.matmul);
      const auto outputs = outputs_of(*held.model, inputs);
      for (const auto& output : outputs_of(*other.model, inputs)) {
        CHECK(outputs.at(output.first).to_vector<float>() == output.second.to_vector<float>());
      }
    }
  }
}

TEST_CASE("interchange: old names and constants of published files are read, and heads that they lack are told") {
  const GoldenModel golden("bert");
  NamedTensors old;
  for (const auto& [name, tensor] : read_safetensors(golden.folder / "model.safetensors")) {
    if (name.starts_with("cls.")) continue;
    std::string was = name.substr(name.find('.') + 1);
    for (const auto& [now, before] :
         {std::pair{"LayerNorm.weight", "LayerNorm.gamma"}, {"LayerNorm.bias", "LayerNorm.beta"}})
      if (was.ends_with(now)) was.replace(was.size() - std::string(now).size(), was.npos, before);
    const Tensor values = Tensor::empty(tensor.sizes(), DType::f32);
    SafetensorsFile(golden.folder / "model.safetensors").read(name, values);
    old.emplace_back(was, values);
  }
  old.emplace_back("embeddings.position_ids", Tensor::zeros({1, 16}, DType::i32));
  write_safetensors(golden.folder / "model.safetensors", old);
  const PublishedModel model = read_published(golden.folder);
  REQUIRE(model.warnings.size() == 2);
  CHECK(model.warnings[0] == "the pooler is left out, since next-sentence prediction is missing");
  const RunFolder run = import_model(model, golden.path / "run");
  const auto weights = read_safetensors(run.checkpoint(0) / "model.safetensors");
  CHECK(weights.contains("embedding_norm.bias"));
  const std::vector<float> head = weights.at("head.transform.weight").to_vector<float>();
  CHECK(std::ranges::count(head, 0.0f) == 0);
}

TEST_CASE("interchange: of two biases of BERT's logits that differ, the decoder's is read, as in transformers") {
  const GoldenModel golden("bert-untied");
  const fs::path file = golden.folder / "model.safetensors";
  NamedTensors tensors;
  for (const auto& tensor : read_safetensors(file)) tensors.emplace_back(tensor);
  const auto bias = std::ranges::find(tensors, "cls.predictions.decoder.bias", &NamedTensors::value_type::first);
  REQUIRE(bias != tensors.end());
  bias->second = Tensor::full(bias->second.sizes(), DType::f32, 0.5);
  const auto count = static_cast<std::size_t>(bias->second.numel());
  write_safetensors(file, tensors);
  CHECK(values_of(golden.import()).at("head.bias") == std::vector<float>(count, 0.5F));
}

TEST_CASE("interchange: a head with values of its own is refused where config.json ties it to the embedding") {
  for (const std::string name : {"llama-tied", "bert"}) {
    CAPTURE(name);
    const std::string embedding =
                          name == "bert" ? "bert.embeddings.word_embeddings.weight" : "model.embed_tokens.weight",
                      head = name == "bert" ? "cls.predictions.decoder.weight" : "lm_head.weight";
    const GoldenModel golden(name);
    const fs::path file = golden.folder / "model.safetensors";
    std::map<std::string, Tensor> weights = read_safetensors(file);
    const auto write = [&] { write_safetensors(file, NamedTensors(weights.begin(), weights.end())); };
    weights[head] = weights.at(embedding);
    write();
    CHECK_NOTHROW(golden.import("same"));
    weights[head] = Tensor::zeros(weights.at(embedding).sizes(), DType::f32);
    write();
    CHECK(message_of([&] { golden.import("other"); }) ==
          str_cat(golden.folder.string(), ": the tensor ", head, " has other values than ", embedding,
                  ", to which it is tied: expected tie_word_embeddings = false in config.json"));
    CHECK_FALSE(fs::exists(golden.path / "other"));
    golden.patch("config.json", {{"tie_word_embeddings", false}});
    CHECK_NOTHROW(golden.import("untied"));
  }
}

TEST_CASE("interchange: of rope_scaling and rope_parameters the first is read, as in transformers") {
  const GoldenModel golden("llama");
  const auto scaling = [&](const std::string& name) {
    const auto run = load_run<TrainedTextModel>({golden.import(name).root}, {});
    return run.config.model.options.text("position_scaling");
  };
  CHECK(scaling("rope_parameters") == "llama3");
  const Json linear = Json::parse(R"({"rope_scaling": {"type": "linear", "factor": 4.0}})");
  golden.patch("config.json", linear);
  CHECK(scaling("both") == "linear");
  Json config = Json::parse(read_all(golden.folder / "config.json"));
  config["rope_parameters"] = nullptr;
  golden.write(golden.folder.filename() / "config.json", config.dump());
  CHECK(scaling("rope_scaling") == "linear");
  golden.patch("config.json", Json::parse(R"({"rope_scaling": {"type": "linear", "factor": 1.0}})"));
  CHECK(scaling("factor_1") == "none");
  golden.patch("config.json", Json::parse(R"({"rope_scaling": {"type": "yarn"}})"));
  CHECK(message_of([&] { golden.import("yarn"); }).find("rope_scaling.rope_type: \"yarn\" is not supported") !=
        std::string::npos);
}

TEST_CASE("interchange: the original context of llama3 beside rope_scaling is read before the one in it") {
  Json config = Json::parse(R"({"rope_scaling": {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0,
      "high_freq_factor": 4.0, "original_max_position_embeddings": 60}})");
  const auto original = [&] { return options_of(layout_of_type("llama"), config).at("position_original"); };
  CHECK(original() == "60");
  config["original_max_position_embeddings"] = 20;
  CHECK(original() == "20");
  config["original_max_position_embeddings"] = nullptr;
  CHECK(original() == "60");
}

TEST_CASE("interchange: the sizes of a gpt2 are read by the names that other models have for them, too") {
  const HuggingFaceLayout& gpt2 = layout_of_type("gpt2");
  const Json sizes = {
      {"hidden_size", 24}, {"num_hidden_layers", 2}, {"num_attention_heads", 4}, {"max_position_embeddings", 64}};
  const auto options = options_of(gpt2, sizes);
  CHECK(options.at("dim") == "24");
  CHECK(options.at("ff_dim") == "96");
  CHECK(options.at("layers") == "2");
  CHECK(options.at("heads") == "4");
  CHECK(options.at("context") == "64");
  CHECK(options_of(gpt2, {{"n_head", 2}, {"num_attention_heads", 4}}).at("heads") == "4");
  CHECK(options_of(gpt2, {{"n_head", 2}, {"num_attention_heads", nullptr}}).at("heads") == "2");
}

TEST_CASE("interchange: null as the number of key heads is that of all heads, and a missing one the architecture's") {
  const auto kv_heads = [](const char* type, const Json& config) {
    return options_of(layout_of_type(type), config).at("kv_heads");
  };
  for (const char* type : {"llama", "qwen2", "qwen3"}) {
    CAPTURE(type);
    CHECK(kv_heads(type, {{"num_key_value_heads", nullptr}}) == "0");
    CHECK(kv_heads(type, {{"num_key_value_heads", 2}}) == "2");
    CHECK(kv_heads(type, Json::object()) == (std::string(type) == "llama" ? "0" : "32"));
  }
}

TEST_CASE("interchange: malformed and foreign models are refused in one line, and leave no run") {
  const auto error = [](const std::string& name, const std::function<void(const GoldenModel&)>& damage) {
    const GoldenModel golden(name);
    damage(golden);
    const std::string message = message_of([&] { golden.import(); });
    CHECK_FALSE(fs::exists(golden.path / "run"));
    CHECK(message.find('\n') == message.npos);
    const std::size_t at = message.find(golden.folder.string());
    return at == 0 ? message.substr(golden.folder.string().size()) : message;
  };
  const auto config = [&](const std::string& name, const Json& changes) {
    return error(name, [&](const GoldenModel& golden) { golden.patch("config.json", changes); });
  };
  CHECK(config("gpt2", {{"model_type", "mamba"}}) ==
        "/config.json: model_type: \"mamba\" is not supported, only gpt2, llama, qwen2, qwen3, bert");
  CHECK(config("gpt2", {{"model_type", nullptr}}) == "/config.json: model_type: expected a string, got null");
  CHECK(config("gpt2", {{"scale_attn_by_inverse_layer_idx", true}}) ==
        "/config.json: scale_attn_by_inverse_layer_idx: true is not supported, only false");
  CHECK(
      config("gpt2", {{"activation_function", "tanh"}}) ==
      "/config.json: activation_function: \"tanh\" is not supported, only gelu_new, gelu_pytorch_tanh, gelu, relu and "
      "relu2");
  CHECK(config("gpt2", {{"n_embd", "12"}}) == "/config.json: n_embd: expected a whole number, got \"12\"");
  CHECK(config("gpt2", {{"n_embd", 11111111111111111111U}}) ==
        "/config.json: n_embd: expected a whole number of 32 bits, got 11111111111111111111");
  CHECK(config("gpt2", {{"n_layer", 0}}) == ": model.layers: expected 1 <= value <= 8192, got 0");
  CHECK(config("gpt2", {{"n_layer", 8192}}) == ": it has 28 tensors, too few for 8192 layers");
  CHECK(config("gpt2", {{"n_head", 5}}) == ": model.heads: expected a divisor of model.dim, which is 12, got 5");
  CHECK(config("gpt2", {{"n_inner", 19}}) ==
        ": tensor transformer.h.0.mlp.c_fc.weight: expected (12, 19), got (12, 20)");
  CHECK(config("gpt2", {{"vocab_size", 28}}) == ": the tokenizer has 29 tokens, the model 28");
  CHECK(config("gpt2", {{"vocab_size", 32}}) == ": tensor transformer.wte.weight: expected (32, 12), got (31, 12)");
  CHECK(config("gpt2", {{"vocab_size", 99999}}) ==
        ": the tokenizer has 29 tokens, the model 99999: expected at most 1000 more");
  CHECK(config("gpt2", {{"tie_word_embeddings", false}}) == ": the tensor lm_head.weight is missing");
  CHECK(config("gpt2", {{"quantization_config", {{"bits", 4}}}}) ==
        "/config.json: quantization_config: {\"bits\":4} is not supported, only none");
  CHECK(config("llama", {{"hidden_act", "gelu"}}) ==
        "/config.json: hidden_act: \"gelu\" is not supported, only \"silu\"");
  CHECK(config("llama", {{"is_causal", false}}) == "/config.json: is_causal: false is not supported, only true");
  CHECK(config("llama", {{"attention_bias", false}}) ==
        ": the tensor model.layers.0.self_attn.k_proj.bias has no place in the model that the configuration describes");
  CHECK(config("llama", {{"rope_parameters", {{"rope_type", "yarn"}}}}) ==
        "/config.json: rope_parameters.rope_type: \"yarn\" is not supported, only default, linear and llama3");
  CHECK(config("llama", {{"rope_parameters", {{"factor", nullptr}}}}) ==
        "/config.json: rope_parameters: expected factor beside rope_type = \"llama3\"");
  CHECK(config("llama", {{"rope_parameters", {{"high_freq_factor", 0.5}}}}) ==
        ": model.position_high_freq: expected more than model.position_low_freq, which is 1, got 0.5");
  CHECK(config("llama", {{"partial_rotary_factor", 0.5}}) ==
        "/config.json: partial_rotary_factor: 0.5 is not supported, only 1");
  CHECK(
      config("llama", {{"num_hidden_layers", 1}}) ==
      ": the tensor model.layers.1.input_layernorm.weight has no place in the model that the configuration describes");
  CHECK(config("qwen2", {{"use_sliding_window", true}}) ==
        "/config.json: use_sliding_window: true is not supported, only false");
  CHECK(config("qwen3", {{"layer_types", {"sliding_attention"}}}) ==
        "/config.json: layer_types: \"sliding_attention\" is not supported, only \"full_attention\"");
  CHECK(config("bert", {{"position_embedding_type", "relative_key"}}) ==
        "/config.json: position_embedding_type: \"relative_key\" is not supported, only \"absolute\"");
  CHECK(config("bert", {{"type_vocab_size", 1}}) ==
        "/config.json: type_vocab_size: 1 is not supported, only 2 or more");
  CHECK(config("gpt2", {{"n_positions", 1 << 20}, {"n_embd", 1 << 20}, {"n_inner", 12}}).find(": the model needs ") ==
        0);

  CHECK(error("qwen2", [](const GoldenModel& golden) {
          fs::rename(golden.folder / "tokenizer.json", golden.folder / "vocab.json");
        }) == ": expected a tokenizer.json, which says how the text of a qwen2 is split, got none");

  const auto index = [&](const Json& changes) {
    return error("gpt2", [&](const GoldenModel& golden) {
      golden.patch("model.safetensors.index.json", {{"weight_map", changes}});
    });
  };
  const std::string prefix = "/model.safetensors.index.json: ";
  CHECK(index({{"transformer.wte.weight", "../model.safetensors"}}) ==
        prefix + "tensor transformer.wte.weight: expected a file in the same folder, got \"../model.safetensors\"");
  CHECK(index({{"transformer.wte.weight", ".."}}) ==
        prefix + "tensor transformer.wte.weight: expected a file in the same folder, got \"..\"");
  CHECK(index({{"transformer.wte.weight", 3}}) ==
        prefix + "tensor transformer.wte.weight: expected the name of a file, got 3");
  CHECK(index({{"a", "model-00001-of-00002.safetensors"}}) ==
        prefix + "tensor a is not in model-00001-of-00002.safetensors");
  CHECK(index({{"a", "b.safetensors"}}).find("/b.safetensors") != std::string::npos);
  CHECK(error("gpt2", [](const GoldenModel& golden) {
          golden.patch("model.safetensors.index.json", {{"weight_map", nullptr}});
        }) == prefix + "expected an object weight_map with the file of each tensor");
  CHECK(error("bert", [](const GoldenModel& golden) { fs::remove(golden.folder / "model.safetensors"); }) ==
        ": expected model.safetensors or model.safetensors.index.json, got neither");
  CHECK(error("bert", [](const GoldenModel& golden) {
          fs::remove(golden.folder / "config.json");
        }).find(": expected a folder of Hugging Face") == 0);
  CHECK(error("gpt2", [](const GoldenModel& golden) {
          fs::copy_file(golden.folder / "model-00001-of-00002.safetensors", golden.folder / "model.safetensors");
        }).find(" is missing") != std::string::npos);
  CHECK(error("llama", [](const GoldenModel& golden) {
          fs::resize_file(golden.folder / "model.safetensors", 4000);
        }).find("/model.safetensors: not a valid safetensors file: ") == 0);
}
