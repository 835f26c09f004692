#include "tokenizer/tokenizer.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <numeric>

#include "core/error.h"
#include "core/hash.h"
#include "core/parallel.h"
#include "core/text/utf8.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/unicode_class.h"

namespace tapeformer {
namespace {

// How many bytes of text one thread encodes at a time.
constexpr std::size_t kPartBytes = std::size_t{1} << 18;

}  // namespace

// Plain text, or a special or added token in it.
struct Tokenizer::Part {
  std::string_view text;
  std::size_t offset = 0;  // in the whole text
  std::int32_t id = -1;    // of the token; -1 for plain text
};

struct Tokenizer::WantedToken {
  std::string text;
  std::int32_t id;
  TokenFlags flags;
};

// A text, cut into the special and added tokens in it and the plain text between them. No plain text is longer than a
// thread encodes at a time.
class Tokenizer::Parts {
 public:
  Parts(const Tokenizer& tokenizer, std::string_view text, bool allow_special, Place place)
      : tokenizer_(tokenizer), place_(place) {
    std::vector<WantedToken> first, second;
    const auto want = [&](std::int32_t id, const std::string& content, const TokenFlags& flags) {
      if (!flags.normalized) return first.push_back({content, id, flags});
      std::string normal = tokenizer.normalized(content, false).value_or(content);
      if (normal.empty()) return;  // a normalized text cannot have it
      second.push_back({std::move(normal), id, flags});
    };
    for (const std::int32_t id : tokenizer.special_ids()) {
      if (allow_special) want(id, tokenizer.tokens()[id], tokenizer.special_flags(id));
    }
    for (const AddedToken& token : tokenizer.added_tokens()) want(token.id, token.text, token.flags);
    for (const Part& part : find_tokens({text, 0, -1}, first)) {
      if (part.id >= 0) {
        parts_.push_back(part);
        continue;
      }
      const auto other = tokenizer.normalized(part.text, place == Place::continuation && part.offset == 0);
      const Part normal = other ? Part{kept_.emplace_back(*other), part.offset, -1} : part;
      for (const Part& inner : find_tokens(normal, second)) add(inner);
    }
  }

  std::span<const Part> all() const { return parts_; }

 private:
  void add(const Part& part) {
    if (part.id >= 0) return parts_.push_back(part);
    std::string_view text = part.text;
    if (text.empty()) return;
    const Place place = part.offset == 0 ? place_ : Place::after_token;
    if (place != Place::continuation && tokenizer_.puts_space_before(text, place == Place::beginning)) {
      text = kept_.emplace_back(str_cat(" ", text));
    }
    for (std::size_t begin = 0; begin < text.size(); begin += parts_.back().text.size()) {
      const std::string_view rest = text.substr(begin);
      parts_.push_back({rest.substr(0, safe_cut(rest, kPartBytes)), part.offset + begin, -1});
    }
  }

  const Tokenizer& tokenizer_;
  const Place place_;
  std::deque<std::string> kept_;  // texts that are not those of the whole text
  std::vector<Part> parts_;
};

std::vector<std::int32_t> Vocabulary::extra_ids() const {
  std::vector<std::int32_t> ids = special_ids;
  for (const AddedToken& token : added) {
    if (!token.ordinary) ids.push_back(token.id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::vector<std::int32_t> Vocabulary::ordinary_ids() const {
  std::vector<std::int32_t> ids;
  const std::vector<std::int32_t> extra = extra_ids();
  for (std::int32_t id = 0; id < std::ssize(tokens); ++id) {
    if (!std::ranges::binary_search(extra, id)) ids.push_back(id);
  }
  return ids;
}

Tokenizer::Tokenizer(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)), extra_ids_(vocabulary_.extra_ids()) {}

// Plain text cut at the wanted tokens: of those that begin first, at the longest. The white space that a token takes
// with it may have further tokens in it, which are found too, as Hugging Face's tokenizers do; so a part may begin
// before the end of the last one.
std::vector<Tokenizer::Part> Tokenizer::find_tokens(const Part& part, std::span<const WantedToken> wanted) {
  if (wanted.empty()) return {part};
  const std::string_view text = part.text;
  // Where each token occurs next. It is looked up again only when the search has passed it: linear in the text.
  std::vector<std::size_t> next;
  for (const WantedToken& token : wanted) next.push_back(text.find(token.text));
  std::vector<Part> parts;
  for (std::size_t begin = 0, search = 0;;) {
    std::size_t at = text.size();
    const WantedToken* found = nullptr;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (next[i] < search) next[i] = text.find(wanted[i].text, search);
      const bool longer = found && next[i] == at && wanted[i].text.size() > found->text.size();
      if (next[i] < at || longer) {
        at = next[i];
        found = &wanted[i];
      }
    }
    // A token that takes the white space before it begins behind what the last one has taken. There may be nothing left
    // of it: then it gives no id.
    const std::size_t first = found && found->flags.lstrip ? std::max(begin, white_space_begin(text, begin, at)) : at;
    if (first > begin) parts.push_back({text.substr(begin, first - begin), part.offset + begin, -1});
    if (!found) break;
    const std::size_t behind = at + found->text.size(),
                      end = found->flags.rstrip ? white_space_end(text, behind) : behind;
    if (first < end) {
      parts.push_back({text.substr(first, end - first), part.offset + first, found->id});
      begin = end;
    }
    search = behind;
  }
  return parts;
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text, bool allow_special) const {
  return encode_parts(Parts(*this, text, allow_special, Place::beginning).all());
}

std::vector<std::int32_t> Tokenizer::encode_continuation(std::string_view text) const {
  return encode_parts(Parts(*this, text, false, Place::continuation).all());
}

std::vector<std::int32_t> Tokenizer::encode_after_token(std::string_view text) const {
  return encode_parts(Parts(*this, text, false, Place::after_token).all());
}

std::vector<std::int32_t> Tokenizer::encode_parts(std::span<const Part> parts) const {
  // Parts that follow each other and are together about as long as one part may be.
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
        if (parts[i].id >= 0) {
          group.ids.push_back(parts[i].id);
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
    if (group.error) std::rethrow_exception(group.error);  // the first error in the text, for any number of threads
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
  std::string text = decode_continuation(ids);
  if (strips_space() && text.starts_with(' ')) text.erase(0, 1);
  return text;
}

std::string Tokenizer::decode_continuation(std::span<const std::int32_t> ids) const {
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
    for (const std::int32_t id : ids) token_bytes(id);  // throws at the first invalid one
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

bool Tokenizer::is_ordinary(std::int32_t id) const {
  return !std::binary_search(extra_ids_.begin(), extra_ids_.end(), id);
}

TokenFlags Tokenizer::special_flags(std::int32_t id) const {
  const auto found = vocabulary_.special_flags.find(id);
  return found == vocabulary_.special_flags.end() ? TokenFlags() : found->second;
}

bool Tokenizer::is_special(std::int32_t id) const {
  return std::binary_search(special_ids().begin(), special_ids().end(), id);
}

std::uint64_t Tokenizer::hash() const { return hash_bytes(to_json()); }

}  // namespace tapeformer
