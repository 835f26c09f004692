#include "tokenizer/tokenizer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "autograd/core/error.h"
#include "autograd/core/files.h"
#include "autograd/core/hash.h"

namespace tapeformer {

std::vector<std::int32_t> Tokenizer::encode(std::string_view text, bool allow_special) const {
  std::vector<std::int32_t> ids;
  if (!allow_special) {
    encode_plain(text, 0, ids);
    return ids;
  }
  // The next occurrence of each special token, looked up again only once it lies behind: linear in the text.
  struct Occurrence {
    std::size_t at;
    std::int32_t id;
  };
  std::vector<Occurrence> upcoming;
  for (const std::int32_t id : special_ids()) upcoming.push_back({text.find(tokens()[id]), id});
  for (std::size_t begin = 0; begin < text.size();) {
    Occurrence first{text.size(), -1};
    for (Occurrence& next : upcoming) {
      if (next.at < begin) next.at = text.find(tokens()[next.id], begin);
      const bool longer = next.at == first.at && tokens()[next.id].size() > tokens()[first.id].size();
      if (next.at < first.at || longer) first = next;
    }
    if (first.at > begin) encode_plain(text.substr(begin, first.at - begin), begin, ids);
    if (first.id < 0) break;
    ids.push_back(first.id);
    begin = first.at + tokens()[first.id].size();
  }
  return ids;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  for (const std::int32_t id : ids) text += token_bytes(id);
  return text;
}

std::string_view Tokenizer::token_bytes(std::int32_t id) const {
  check(id >= 0 && id < vocab_size(), "tokenizer: token id ", id, " is outside the vocabulary of ", vocab_size(),
        " tokens");
  return tokens()[id];
}

std::optional<std::int32_t> Tokenizer::special(std::string_view name) const {
  for (const std::int32_t id : special_ids()) {
    if (tokens()[id] == name) return id;
  }
  return std::nullopt;
}

bool Tokenizer::is_special(std::int32_t id) const {
  return std::binary_search(special_ids().begin(), special_ids().end(), id);
}

std::uint64_t Tokenizer::hash() const { return hash_bytes(to_json()); }

void Tokenizer::save(const std::filesystem::path& path) const { write_file_atomically(path, to_json()); }

std::unique_ptr<Tokenizer> Tokenizer::load(const std::filesystem::path& path) {
  check(!std::filesystem::is_directory(path), path.string(), ": expected a tokenizer.json, got a folder");
  std::ifstream in(path, std::ios::binary);
  check(in.is_open(), path.string(), ": cannot read: ", std::strerror(errno));
  std::ostringstream text;
  text << in.rdbuf();
  check(!in.bad(), path.string(), ": cannot read: ", std::strerror(errno));
  return from_json(text.view(), path.string());
}

}  // namespace tapeformer
