#include "tasks/interchange/huggingface_folder.h"

#include <algorithm>

#include "core/json.h"
#include "data/chat/chat_format.h"
#include "nn/models/shared/tied_embeddings.h"
#include "tasks/interchange/huggingface_layout.h"
#include "tokenizer/masked_symbols.h"
#include "tokenizer/special_tokens.h"
#include "tokenizer/tokenizer_folder.h"
#include "train/run/disk.h"

namespace tapeformer {
namespace {

namespace fs = std::filesystem;
using Json = HuggingFaceLayout::Json;

constexpr const char *kConfigJson = "config.json", *kTokenizerConfig = "tokenizer_config.json";

// Some published files of BERT have no head that predicts tokens, or a pooler without the head for next-sentence
// prediction that reads it. A missing token head gets initial values; a pooler without its head is left out. The bias
// of the logits may be there under two names: of both, transformers adds that of the decoder, which alone learns where
// the head is not tied.
void fit_heads(PublishedModel& model, HuggingFaceWeights& weights) {
  const auto has = [&](const char* name) { return weights.tensors().contains(name); };
  const bool token_head = has("cls.predictions.transform.dense.weight"),
             next_sentence = has("cls.seq_relationship.weight");
  const bool spare_pooler = has("bert.pooler.dense.weight") && !next_sentence;
  const char* const decoder_bias = "cls.predictions.decoder.bias";
  const bool has_decoder_bias = has(decoder_bias);
  model.options["next_sentence"] = next_sentence ? "true" : "false";
  if (spare_pooler) model.warnings.push_back("the pooler is left out, since next-sentence prediction is missing");
  if (!token_head) {
    model.warnings.push_back(
        "the files have no head that predicts masked tokens: its values are random until it is trained");
    model.has_new_parameters = true;
  }
  model.map = [=, whole = model.map](const TransformerShape& shape) {
    TensorMap map = whole(shape);
    if (spare_pooler) map.spare.insert(map.spare.end(), {"bert.pooler.dense.weight", "bert.pooler.dense.bias"});
    if (has_decoder_bias) {
      const auto row = std::ranges::find(map.rows, "head.bias", &TensorMapping::parameter);
      map.spare.push_back(row->parts.front().name);
      row->parts.front().name = decoder_bias;
    }
    if (!token_head) std::erase_if(map.rows, [](const auto& row) { return row.parameter.starts_with("head."); });
    return map;
  };
}

// Throws Error if the files have a head with other values than the embedding to which config.json ties it: they would
// be lost, while transformers takes them.
void check_tied_head(const PublishedModel& model, const HuggingFaceWeights& weights, const HuggingFaceNames& names) {
  const std::string &embedding = names.embedding, &head = names.head;
  const auto has = [&](const std::string& name) { return weights.tensors().contains(name); };
  if (model.options.at("tie_embeddings") == "none" || !has(embedding) || !has(head)) return;
  const Tensor a = weights.read(embedding), b = weights.read(head);
  check(std::ranges::equal(a.span<float>(), b.span<float>()), weights.origin(), ": the tensor ", head,
        " has other values than ", embedding, ", to which it is tied: expected tie_word_embeddings = false in ",
        kConfigJson);
}

bool is_huggingface(const fs::path& path) { return is_folder(path) && is_there(path / kConfigJson); }

PublishedModel read_huggingface(const fs::path& folder) {
  const fs::path config_path = folder / kConfigJson;
  const auto config = parse_json<Json>(read_file(config_path), config_path.string() + ": ");
  PublishedModel model;
  std::int64_t vocab = 0;
  const HuggingFaceLayout* layout = nullptr;
  try {
    check(config.is_object(), "expected an object");
    const Json type = config.value("model_type", Json());
    check(type.is_string(), "model_type: expected a string, got ", dump_json(type));
    layout = &layout_of_type(type.get<std::string>());
    model.options = options_of(*layout, config);
    vocab = vocab_of(*layout, config);
  } catch (const std::exception& error) {
    fail(config_path.string(), ": ", error.what());
  }
  model.family = layout->family;
  model.map = layout->names().map;
  auto weights = std::make_unique<HuggingFaceWeights>(folder, layout->names());
  // vocab.json and merges.txt do not say how text is split: only a gpt2 splits it by GPT-2's pattern.
  check(layout->model_type == "gpt2" || layout->family == "bert" || is_there(folder / "tokenizer.json"),
        folder.string(), ": expected a tokenizer.json, which says how the text of a ", layout->model_type,
        " is split, got none");
  auto tokenizer = with_added_tokens(Tokenizer::load(tokenizer_file_in(folder)), folder, vocab, model.warnings);
  model.tokenizer = with_vocab(std::move(tokenizer), vocab, folder.string());
  if (layout->family == "bert") {
    fit_heads(model, *weights);
    masked_symbols(*model.tokenizer);
  }
  check_tied_head(model, *weights, layout->names());
  if (const auto chat = ChatSettings::find_beside(folder)) model.chat = chat->to_json();
  model.tensors = std::move(weights);
  if (layout->model_type == "gpt2") leave_out_zero_biases(model);
  return model;
}

// The ids of the tokens that begin and end a text; null for one that the tokenizer does not have.
Json text_ends(const Tokenizer& tokenizer, bool bert) {
  const auto json = [](std::optional<std::int32_t> id) { return id ? Json(*id) : Json(); };
  const TextFrame frame = bert ? TextFrame() : tokenizer.frame();
  const auto begin = frame.before.empty() ? text_begin_token(tokenizer) : frame.before.front();
  const auto end = frame.after.empty() ? text_end_token(tokenizer) : frame.after.front();
  return {{"bos_token_id", json(begin)}, {"eos_token_id", json(end)}};
}

// Returns tokenizer.json; for BERT it says that [CLS] and [SEP] are put around a text, and that [MASK] takes the space
// before it where the tokens of words have that space, as `fill` does.
std::string tokenizer_json(const Tokenizer& tokenizer, bool bert) {
  if (!bert) return tokenizer.to_json();
  auto file = parse_json<Json>(tokenizer.to_json());
  const auto special = [](std::string_view name, int type) {
    return Json{{"SpecialToken", {{"id", name}, {"type_id", type}}}};
  };
  const auto text = [](const char* name, int type) { return Json{{"Sequence", {{"id", name}, {"type_id", type}}}}; };
  Json tokens = Json::object();
  for (const std::string_view name : {kClassToken, kSeparatorToken}) {
    tokens[std::string(name)] = {
        {"id", name}, {"ids", Json::array({*tokenizer.special(name)})}, {"tokens", Json::array({name})}};
  }
  Json single = Json::array({special(kClassToken, 0), text("A", 0), special(kSeparatorToken, 0)}), pair = single;
  pair.push_back(text("B", 1)), pair.push_back(special(kSeparatorToken, 1));
  for (Json& token : file["added_tokens"]) {
    const bool is_mask = token["content"].get<std::string>() == kMaskToken;
    if (is_mask && (tokenizer.kind() == "bpe" || tokenizer.kind() == "word")) token["lstrip"] = true;
  }
  file["post_processor"] = {
      {"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", tokens}};
  return dump_json(file, 2) + "\n";
}

Json tokenizer_config(const Tokenizer& tokenizer, const Json& ends, std::int64_t context, bool bert) {
  Json json = {{"tokenizer_class", "PreTrainedTokenizerFast"},
               {"model_max_length", context},
               {"clean_up_tokenization_spaces", false}};
  const auto name = [&](const char* key, const Json& id) {
    if (!id.is_null()) json[key] = tokenizer.token_bytes(id.get<std::int32_t>());
  };
  name("bos_token", ends["bos_token_id"]), name("eos_token", ends["eos_token_id"]);
  if (tokenizer.unknown_id()) name("unk_token", *tokenizer.unknown_id());
  if (!bert) return json;
  json["pad_token"] = kPadToken, json["cls_token"] = kClassToken;
  json["sep_token"] = kSeparatorToken, json["mask_token"] = kMaskToken;
  return json;
}

// Returns what the user of an exported model should know.
std::vector<std::string> notes_on(const HuggingFaceLayout& layout) {
  if (layout.model_type != "qwen2") return {};
  return {
      "transformers 5 splits the texts of a qwen2 as Qwen2 does, whatever tokenizer.json says, unless its tokenizer "
      "is read by PreTrainedTokenizerFast"};
}

std::vector<std::string> write_huggingface(const TrainedTextModel& run, const fs::path& out, const std::string&) {
  const HuggingFaceLayout& layout = layout_for(run.config);
  const bool bert = layout.family == "bert";
  const Tokenizer& tokenizer = *run.tokenizer;
  const KeyValues& options = run.config.model.options;
  Json config = config_json(layout, run.config, tokenizer.vocab_size());
  Json ends = text_ends(tokenizer, bert);
  if (const auto end = answer_end_token(run)) ends["eos_token_id"] = *end;
  config.update(ends);
  if (bert) {
    config["pad_token_id"] = masked_symbols(tokenizer).padding;
    if (options.boolean("next_sentence")) config["architectures"] = Json::array({"BertForPreTraining"});
  }
  const TensorMap map = layout.names().map(shape_of(options));
  NamedTensors tensors = mapped_tensors(run.model->named_tensors(), map);
  if (bert && !ties_embeddings(options)) {
    const auto bias = std::ranges::find(tensors, "cls.predictions.bias", &NamedTensors::value_type::first);
    tensors.emplace_back("cls.predictions.decoder.bias", bias->second);
  }
  write_folder(out, [&](const fs::path& folder) {
    write_safetensors(folder / "model.safetensors", tensors, {{"format", "pt"}});
    const auto write = [&](const char* name, const std::string& text) { write_file_atomically(folder / name, text); };
    write(kConfigJson, dump_json(config, 2) + "\n");
    if (!bert) write("generation_config.json", dump_json(ends, 2) + "\n");
    write("tokenizer.json", tokenizer_json(tokenizer, bert));
    Json settings = tokenizer_config(tokenizer, ends, options.integer("context"), bert);
    if (const fs::path chat = run.run.tokenizer_config(); is_there(chat)) {
      settings.update(parse_json<Json>(read_file(chat), chat.string() + ": "));
    }
    write(kTokenizerConfig, dump_json(settings, 2) + "\n");
  });
  return notes_on(layout);
}

}  // namespace

PublishedFormat huggingface_format() {
  return {.name = "hf",
          .help = "a folder of Hugging Face: config.json, model.safetensors, tokenizer.json",
          .types = {"f32"},
          .is_at = is_huggingface,
          .read = read_huggingface,
          .write = write_huggingface};
}

}  // namespace tapeformer
