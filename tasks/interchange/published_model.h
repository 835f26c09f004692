// Models of other programs: a model that was read from their file or folder, described by the keys of this program.
// Each format has a reader, which makes a PublishedModel, and a writer, which takes a TrainedTextModel.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nn/formats/tensor_map.h"
#include "tasks/common/load_run.h"
#include "tokenizer/tokenizer.h"

namespace tapeformer {

struct PublishedModel {
  std::string family;                          // model.type: "gpt" or "bert"
  std::map<std::string, std::string> options;  // keys of [model] as one writes them on the command line: {"dim", "768"}
  std::unique_ptr<Tokenizer> tokenizer;        // as many tokens as the model has
  std::string chat = {};                       // RunTokenizers::chat
  std::unique_ptr<TensorSource> tensors;
  std::function<TensorMap(const TransformerShape&)> map;
  // Whether some parameters have no row in the map, and get random initial values. If not, every parameter must have a
  // row.
  bool has_new_parameters = false;
  std::vector<std::string> warnings = {};
};

// Makes a run of the model: its configuration, its tokenizer and a checkpoint of step 0, whose matrices are bf16 if the
// files have all of them so. The memory holds the model only once. Throws Error if `out` is a run already, if the model
// needs more memory than the machine has, or if the tensors do not fit; then `out` is no run.
RunFolder import_model(const PublishedModel& model, const std::filesystem::path& out);

// Removes the biases from a model in GPT-2's layout if all of them are zeros, and adds a warning. An export writes such
// zeros for a model without biases, so that an import of it gives the same model again.
void leave_out_zero_biases(PublishedModel& model);

// A format of published models.
struct PublishedFormat {
  std::string name, help;                            // the value of --format; what the format is, for --help
  std::vector<std::string> types;                    // the values of --type, the default first
  bool (*is_at)(const std::filesystem::path& path);  // whether the path leads to a model in this format
  PublishedModel (*read)(const std::filesystem::path& path);
  // Writes the model to `out`, which does not exist; it appears as a whole or not at all. Throws Error if the format
  // has no place for it. Returns what the user should know of what was written, a sentence each.
  std::vector<std::string> (*write)(const TrainedTextModel& run, const std::filesystem::path& out,
                                    const std::string& type);
};
const std::vector<PublishedFormat>& published_formats();
// Returns what the user of an exported model should know, whatever its format, a sentence each.
std::vector<std::string> notes_on_export(const ResolvedConfig& config);
// Reads a model in the format that the path has. Throws Error if it has none.
PublishedModel read_published(const std::filesystem::path& path);

// Returns the shape of the model that resolved options of [model] describe.
TransformerShape shape_of(const KeyValues& options);

// Returns what a run's chat template calls eos_token. nullopt for a run without a template, or if the tokenizer has no
// such special token.
std::optional<std::int32_t> template_end_token(const TrainedTextModel& run);

// Returns the token that ends an answer, at which other programs end a text: the end mark of the answers if the run was
// trained on conversations and the mark is a special token, else template_end_token().
std::optional<std::int32_t> answer_end_token(const TrainedTextModel& run);

// Returns the tokenizer with special tokens <|unused_ID|> behind its own, so that it has `vocab` tokens: models often
// have more, to make their number a round one. Throws Error if it has more than `vocab`, naming `origin`.
std::unique_ptr<Tokenizer> with_vocab(std::unique_ptr<Tokenizer> tokenizer, std::int64_t vocab,
                                      const std::string& origin);

// Throws Error unless a model has these values of [model], each as one writes it on the command line. `layout` is the
// name of what it is exported to: "GPT-2's layout".
void require_options(const ResolvedConfig& config, const std::map<std::string, std::string>& options,
                     std::string_view layout);
// Throws Error unless the attention heads' values are as wide as their keys. If `plain`, also requires that each head
// is dim / heads wide, and that there are as many heads of keys and values as of queries.
void require_heads(const ResolvedConfig& config, bool plain, std::string_view layout);

// Returns the configuration of a model with these keys, all others having their defaults. Throws Error, naming
// `origin`, for a value that a key does not accept.
ResolvedConfig model_config(const std::string& family, const std::map<std::string, std::string>& options,
                            const std::string& origin);

}  // namespace tapeformer
