#include "tokenizer/tokenizer.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <numeric>

#include "core/error.h"
#include "core/hash.h"
#include "core/parallel.h"
#include "tokenizer/pretokenizer.h"

namespace tapeformer {
namespace {

// Text that one thread encodes at a time.
constexpr std::size_t kPartBytes = std::size_t{1} << 18;

}  // namespace

// Plain text, or a special token.
struct Tokenizer::Part {
  std::string_view text;
  std::size_t offset = 0;
  std::int32_t special_id = -1;
};

std::vector<Tokenizer::Part> Tokenizer::parts_of(std::string_view text, bool allow_special) const {
  std::vector<Part> parts;
  const auto add_plain = [&](std::size_t begin, std::size_t end) {
    while (begin < end) {
      const std::string_view rest = text.substr(begin, end - begin);
      parts.push_back({rest.substr(0, safe_cut(rest, kPartBytes)), begin});
      begin += parts.back().text.size();
    }
  };
  // The next occurrence of each special token, looked up again only once it lies behind: linear in the text.
  struct Occurrence {
    std::size_t at;
    std::int32_t id;
  };
  std::vector<Occurrence> upcoming;
  if (allow_special) {
    for (const std::int32_t id : special_ids()) upcoming.push_back({text.find(tokens()[id]), id});
  }
  for (std::size_t begin = 0; begin < text.size();) {
    Occurrence first{text.size(), -1};
    for (Occurrence& next : upcoming) {
      if (next.at < begin) next.at = text.find(tokens()[next.id], begin);
      const bool longer = next.at == first.at && tokens()[next.id].size() > tokens()[first.id].size();
      if (next.at < first.at || longer) first = next;
    }
    add_plain(begin, first.at);
    if (first.id < 0) break;
    const std::size_t size = tokens()[first.id].size();
    parts.push_back({text.substr(first.at, size), first.at, first.id});
    begin = first.at + size;
  }
  return parts;
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text, bool allow_special) const {
  const std::vector<Part> parts = parts_of(text, allow_special);
  // Parts that follow each other, together about as long as a part may be.
  struct Group {
    std::size_t begin, end;  // parts
    std::vector<std::int32_t> ids;
    std::exception_ptr error;
  };
  std::vector<Group> groups;
  for (std::size_t i = 0, bytes = kPartBytes; i < parts.size(); ++i) {
    if (bytes >= kPartBytes) {
      groups.push_back({i, i, {}, nullptr});
      bytes = 0;
    }
    bytes += parts[i].text.size();
    groups.back().end = i + 1;
  }
  parallel_for(0, static_cast<std::int64_t>(groups.size()), 1, [&](std::int64_t index, std::int64_t) {
    Group& group = groups[index];
    try {
      for (std::size_t i = group.begin; i < group.end; ++i) {
        if (parts[i].special_id >= 0) {
          group.ids.push_back(parts[i].special_id);
        } else {
          encode_plain(parts[i].text, parts[i].offset, group.ids);
        }
      }
    } catch (...) {
      group.error = std::current_exception();
    }
  });
  std::size_t size = 0;
  for (const Group& group : groups) {
    if (group.error) std::rethrow_exception(group.error);  // the first in the text, whoever was the first to find one
    size += group.ids.size();
  }
  if (groups.size() == 1) return std::move(groups[0].ids);
  std::vector<std::int32_t> ids;
  ids.reserve(size);
  for (Group& group : groups) {
    ids.insert(ids.end(), group.ids.begin(), group.ids.end());
    group.ids = {};
  }
  return ids;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids) const {
  constexpr std::int64_t kIdsAtOnce = 1 << 16;
  const auto count = static_cast<std::int64_t>(ids.size());
  std::vector<std::size_t> begins(chunk_count(count, kIdsAtOnce) + 1);  // of each chunk's bytes
  std::atomic<bool> invalid = false;
  parallel_chunks(count, kIdsAtOnce, [&](std::int64_t chunk, std::int64_t first, std::int64_t last) {
    std::size_t bytes = 0;
    for (std::int64_t i = first; i < last; ++i) {
      if (ids[i] < 0 || ids[i] >= vocab_size()) {
        invalid = true;
        return;
      }
      bytes += tokens()[ids[i]].size();
    }
    begins[chunk + 1] = bytes;
  });
  if (invalid) {
    for (const std::int32_t id : ids) token_bytes(id);  // tells the first
  }
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  std::string text(begins.back(), '\0');
  parallel_chunks(count, kIdsAtOnce, [&](std::int64_t chunk, std::int64_t first, std::int64_t last) {
    char* out = text.data() + begins[chunk];
    for (std::int64_t i = first; i < last; ++i) {
      const std::string& token = tokens()[ids[i]];
      out = std::copy(token.begin(), token.end(), out);
    }
  });
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

}  // namespace tapeformer
