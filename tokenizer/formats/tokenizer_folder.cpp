#include "tokenizer/tokenizer_folder.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/text/parse_number.h"

namespace tapeformer {
namespace {

using AddedJson = nlohmann::ordered_json;
using AddedEntries = std::map<std::int64_t, AddedJson>;  // by id, as in the added_tokens of a tokenizer.json

// Returns the object in a file; an empty one if there is no such file.
AddedJson object_in(const std::filesystem::path& file) {
  if (!is_there(file)) return AddedJson::object();
  auto json = parse_json<AddedJson>(read_file(file), file.string() + ": ");
  check(json.is_object(), file.string(), ": expected a JSON object, got ", json.type_name());
  return json;
}

// Adds the token of a value, "<s>" or {"content": "<s>"}, if it is one.
void add_name(const AddedJson& value, std::set<std::string>& names) {
  const AddedJson name = value.is_object() ? value.value("content", AddedJson()) : value;
  if (name.is_string()) names.insert(name.get<std::string>());
}

// The tokens that settings name as special ones, by keys such as bos_token and additional_special_tokens.
std::set<std::string> special_names(const AddedJson& config, const AddedJson& special_tokens_map) {
  std::set<std::string> names;
  for (const AddedJson* const settings : {&config, &special_tokens_map}) {
    for (const auto& [key, value] : settings->items()) {
      if (key.ends_with("_token")) add_name(value, names);
      if (!key.ends_with("_tokens") || !value.is_array()) continue;
      for (const AddedJson& one : value) add_name(one, names);
    }
  }
  return names;
}

AddedEntries read_decoder(const AddedJson& decoder, const std::string& where) {
  check(decoder.is_object(), where, ": expected an object, got ", dump_json(decoder));
  AddedEntries entries;
  for (const auto& [key, token] : decoder.items()) {
    const auto id = parse_number<std::int64_t>(key);
    check(id && *id >= 0 && token.is_object(), where, ": expected ids and an object for each, got ", key, " and ",
          dump_json(token));
    AddedJson entry = token;
    entry["id"] = *id;
    if (!entry.contains("special")) entry["special"] = false;
    entries.emplace(*id, std::move(entry));
  }
  return entries;
}

AddedEntries entries_beside(const std::filesystem::path& folder) {
  const std::filesystem::path settings = folder / "tokenizer_config.json", older = folder / "added_tokens.json";
  const AddedJson config = object_in(settings);
  if (const auto decoder = config.find("added_tokens_decoder"); decoder != config.end())
    return read_decoder(*decoder, settings.string() + ": added_tokens_decoder");
  const std::set<std::string> special = special_names(config, object_in(folder / "special_tokens_map.json"));
  const AddedJson added = object_in(older);
  AddedEntries entries;
  for (const auto& [token, id] : added.items()) {
    check(id.is_number_unsigned(), older.string(), ": expected an id for each token, got ", dump_json(id));
    entries.emplace(id.get<std::int64_t>(),
                    AddedJson{{"id", id}, {"content", token}, {"special", special.contains(token)}});
  }
  return entries;
}

// Whether the tokenizer finds the token of an entry in every text, whatever its id.
bool has_added(const Tokenizer& tokenizer, const AddedJson& entry) {
  const AddedJson content = entry.value("content", AddedJson());
  if (!content.is_string()) return false;
  const std::string text = content.get<std::string>();
  return tokenizer.special(text) ||
         std::ranges::any_of(tokenizer.added_tokens(), [&](const AddedToken& token) { return token.text == text; });
}

// Whether it is the id of a token that is neither special nor added.
bool is_plain(const Tokenizer& tokenizer, std::int64_t id) {
  if (id < 0 || id >= tokenizer.vocab_size()) return false;
  return !tokenizer.is_special(static_cast<std::int32_t>(id)) &&
         std::ranges::none_of(tokenizer.added_tokens(), [&](const AddedToken& token) { return token.id == id; });
}

}  // namespace

std::filesystem::path tokenizer_file_in(const std::filesystem::path& folder) {
  for (const char* const name : {"tokenizer.json", "vocab.txt", "vocab.json"}) {
    if (is_there(folder / name)) return folder / name;
  }
  fail(folder.string(), ": expected a tokenizer, got a folder without tokenizer.json, vocab.txt or vocab.json");
}

std::unique_ptr<Tokenizer> with_added_tokens(std::unique_ptr<Tokenizer> tokenizer, const std::filesystem::path& folder,
                                             std::int64_t vocab, std::vector<std::string>& warnings) {
  std::vector<AddedJson> more;
  std::int64_t next = tokenizer->vocab_size();
  for (const auto& [id, entry] : entries_beside(folder)) {
    if (has_added(*tokenizer, entry)) continue;
    AddedJson token = entry;
    if (!is_plain(*tokenizer, id)) token["id"] = next++;  // transformers does not use the id of the file either
    if (token["id"].get<std::int64_t>() < vocab) {
      more.push_back(std::move(token));
    } else {
      warnings.push_back(str_cat("the added token ", dump_json(token.value("content", AddedJson())), " with the id ",
                                 token["id"].get<std::int64_t>(), " is left out: the model has ", vocab, " tokens"));
    }
  }
  if (more.empty()) return tokenizer;
  auto file = parse_json<AddedJson>(tokenizer->to_json());
  for (AddedJson& entry : more) file["added_tokens"].push_back(std::move(entry));
  return Tokenizer::from_json(dump_json(file), folder.string());
}

}  // namespace tapeformer
