#include "tokenizer/formats/tokenizer_parts.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "core/error.h"
#include "core/json.h"
#include "tokenizer/formats/json_text.h"
#include "tokenizer/pretokenizer.h"

namespace tapeformer {

using nlohmann::json;

void expect(const json& object, const char* key, const json& expected, const std::string& where) {
  const auto entry = object.find(key);
  if (entry == object.end() || *entry == expected) return;
  fail(where, ".", key, ": ", show(*entry), " is not supported, only ", show(expected));
}

bool is_type(const json& value, const char* type) { return value.is_object() && value.value("type", json()) == type; }

bool flag_of(const json& object, const char* key, bool otherwise, const std::string& where) {
  const auto entry = object.find(key);
  if (entry == object.end()) return otherwise;
  check(entry->is_boolean(), where, ".", key, ": expected true or false, got ", show(*entry));
  return entry->get<bool>();
}

std::vector<json> components(const json& value, const char* list) {
  if (value.is_null()) return {};
  if (!is_type(value, "Sequence")) return {value};
  const json parts = value.value(list, json());
  check(parts.is_array(), list, ": expected a list, got ", show(parts));
  return parts.get<std::vector<json>>();
}

namespace {

// The special tokens of one side of a template, whose list has them around the text "A".
void read_template(const json& processor, std::size_t vocab, TextFrame& frame) {
  const std::string where = "post_processor: TemplateProcessing";
  const json& single = member(processor, "single", where);
  check(single.is_array(), where, ".single: expected a list, got ", show(single));
  bool before = true;
  for (const json& piece : single) {
    if (piece.is_object() && piece.contains("Sequence")) {
      before = false;
      continue;
    }
    const std::string& name = text_of(member(member(piece, "SpecialToken", where), "id", where), where);
    const json& token = member(member(processor, "special_tokens", where), name.c_str(), where);
    const json& ids = member(token, "ids", where);
    check(ids.is_array(), where, ": token ", show(name), ": expected a list of ids, got ", show(ids));
    for (const json& value : ids) {
      const std::int32_t id = id_of(value, where);
      check(static_cast<std::size_t>(id) < vocab, where, ": the id ", id, " is outside the vocabulary of ", vocab);
      (before ? frame.before : frame.after).push_back(id);
    }
  }
}

// Accepts the processors that change no ids of the text itself: ByteLevel changes offsets only.
TextFrame read_frame(const json& processor, std::size_t vocab) {
  TextFrame frame;
  for (const json& part : components(processor, "processors")) {
    if (is_type(part, "ByteLevel")) continue;
    check(is_type(part, "TemplateProcessing"), "post_processor: ", show(part),
          " is not supported, only null, ByteLevel and TemplateProcessing");
    check(frame.json.empty(), "post_processor: two templates are not supported");
    read_template(part, vocab, frame);
    if (!frame.before.empty() || !frame.after.empty()) frame.json = dump_json(processor);
  }
  return frame;
}

}  // namespace

Vocabulary read_vocabulary(const json& file, const json& vocab) {
  std::map<std::int32_t, std::string> by_id = read_vocab(vocab, "model.vocab");
  std::unordered_set<std::string> listed;
  Vocabulary vocabulary;
  const auto added = file.find("added_tokens");
  if (added != file.end()) {
    check(added->is_array(), "added_tokens: expected a list, got ", show(*added));
    for (const json& entry : *added) {
      const std::string& content = text_of(member(entry, "content", "added_tokens"), "added_tokens: content");
      const std::string where = str_cat("added_tokens: token ", show(content));
      const std::int32_t id = id_of(member(entry, "id", where), where);
      check(!content.empty(), "added_tokens: the token with id ", id, " is empty");
      expect(entry, "single_word", false, where);
      const auto in_vocab = vocab.find(content);
      check(in_vocab == vocab.end() || *in_vocab == id, where, " has id ", id, ", but in model.vocab ",
            in_vocab == vocab.end() ? "" : show(*in_vocab));
      check(listed.insert(content).second, where, " is listed twice");
      const auto [other, is_new] = by_id.try_emplace(id, content);
      check(is_new || other->second == content, where, " has the id ", id, " of the token ", show(other->second));
      const bool special = flag_of(entry, "special", true, where);
      const TokenFlags flags{flag_of(entry, "normalized", !special, where), flag_of(entry, "lstrip", false, where),
                             flag_of(entry, "rstrip", false, where)};
      if (special) {
        vocabulary.special_ids.push_back(id);
        if (flags.normalized || flags.strips()) vocabulary.special_flags[id] = flags;
        continue;
      }
      check(safe_cut(content, 1) == content.size(), where,
            ": white space behind a letter or a digit is not supported in a token that is not special");
      check(!flags.rstrip || safe_cut(content + " ", 1) > content.size(), where,
            ": rstrip is not supported behind a letter or a digit in a token that is not special");
      vocabulary.added.push_back({id, content, flags, in_vocab != vocab.end()});
    }
  }
  std::ranges::sort(vocabulary.special_ids);
  std::ranges::sort(vocabulary.added, {}, &AddedToken::id);
  vocabulary.tokens = tokens_by_id(by_id, "model.vocab");
  vocabulary.frame = read_frame(file.value("post_processor", json()), vocabulary.tokens.size());
  return vocabulary;
}

std::string where_merge(const json& list, std::size_t index) {
  return str_cat("model.merges: merge ", index + 1, " of ", list.size());
}

std::vector<WrittenPair> read_pairs(const json& list) {
  check(list.is_array(), "model.merges: expected a list, got ", show(list));
  std::vector<WrittenPair> pairs;
  for (const json& merge : list) {
    std::optional<WrittenPair> pair;
    if (merge.is_string()) pair = read_written_pair(merge.get_ref<const std::string&>());
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      pair = WrittenPair{merge[0], merge[1]};
    }
    if (!pair) {
      fail(where_merge(list, pairs.size()), ": expected \"a b\" or [\"a\", \"b\"], got ", show(merge));
    }
    pairs.push_back(std::move(*pair));
  }
  return pairs;
}

TextFrame make_frame(const std::vector<std::string>& tokens, std::vector<std::int32_t> before,
                     std::vector<std::int32_t> after) {
  json single = json::array(), pair = json::array(), named = json::object();
  const auto add = [&](json& to, const std::vector<std::int32_t>& ids, int type) {
    for (const std::int32_t id : ids) {
      const std::string& name = tokens.at(id);
      to.push_back({{"SpecialToken", {{"id", name}, {"type_id", type}}}});
      named[name] = {{"id", name}, {"ids", json::array({id})}, {"tokens", json::array({name})}};
    }
  };
  const auto add_text = [](json& to, const char* name, int type) {
    to.push_back({{"Sequence", {{"id", name}, {"type_id", type}}}});
  };
  for (json* const list : {&single, &pair}) {
    add(*list, before, 0);
    add_text(*list, "A", 0);
    add(*list, after, 0);
  }
  add_text(pair, "B", 1);
  add(pair, after, 1);
  const json processor = {
      {"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", named}};
  return {std::move(before), std::move(after), dump_json(processor)};
}

}  // namespace tapeformer
