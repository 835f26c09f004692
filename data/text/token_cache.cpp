#include "data/text/token_cache.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"
#include "core/parallel.h"

namespace tapeformer {

namespace fs = std::filesystem;

namespace {

using Ids = std::vector<std::int32_t>;

std::string hex(std::uint64_t value) {
  std::string out(16, '0');
  for (int i = 15; i >= 0; --i, value >>= 4) out[i] = "0123456789abcdef"[value & 15];
  return out;
}

std::optional<TextSummary> read_summary(const fs::path& path, const TextStamp& stamp) {
  std::error_code error;
  if (!fs::exists(path, error)) return std::nullopt;
  const auto fields = nlohmann::json::parse(MappedFile(path).bytes(), nullptr, /*allow_exceptions=*/false);
  if (!fields.is_object() || !fields.contains("bytes") || !fields.contains("hash")) return std::nullopt;
  if (!fields["bytes"].is_number_unsigned() || !fields["hash"].is_number_unsigned()) return std::nullopt;
  return TextSummary{
      .bytes = fields["bytes"].get<std::int64_t>(), .hash = fields["hash"].get<std::uint64_t>(), .stamp = stamp};
}

}  // namespace

std::uint64_t TextRange::hash() const {
  Hasher hasher;
  for (const std::uint64_t number : {text.hash, static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end)}) {
    hasher.update(number);
  }
  return hasher.digest();
}

std::vector<Ids> encode_part(const TextPart& part, const Tokenizer& tokenizer) {
  const std::vector<TextSegment> segments = part.segments();
  const std::optional<std::int32_t> end_of_text = tokenizer.special(kEndOfText);
  const auto count = static_cast<std::int64_t>(segments.size());
  const std::int64_t grain = 1 + count / 256;
  std::vector<Ids> groups(chunk_count(count, grain));
  parallel_chunks(count, grain, [&](std::int64_t group, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      Ids ids = tokenizer.encode(segments[i].text);
      if (segments[i].ends_document && end_of_text) ids.push_back(*end_of_text);
      if (groups[group].empty()) {
        groups[group] = std::move(ids);
      } else {
        groups[group].insert(groups[group].end(), ids.begin(), ids.end());
      }
    }
  });
  return groups;
}

void build_token_file(const fs::path& path, TextReader& reader, const TextRange& range, const Tokenizer& tokenizer,
                      const ReadProgress& progress) {
  TokenFileWriter file(path, tokenizer.vocab_size(), range.hash(), tokenizer.hash());
  std::int64_t bytes = 0;
  reader.skip_to(range.begin);
  reader.stop_at(range.end);
  for_each_part(reader, [&](const TextPart& part) {
    try {
      for (const Ids& ids : encode_part(part, tokenizer)) file.append(ids);
    } catch (const Error& error) {
      if (bytes == 0) throw;
      fail("the text from byte ", range.begin + bytes, " on: ", error.what());
    }
    bytes += static_cast<std::int64_t>(part.text.size());
    if (progress) progress(part.share);
  });
  if (progress) progress(1);
  check(reader.source().stamp().value == range.text.stamp.value, "the text was changed while it was encoded");
  file.commit(bytes);
}

TokenCache::TokenCache(fs::path folder) : folder_(std::move(folder)) {
  std::error_code error;
  fs::create_directories(folder_, error);
  check(!error, "cannot make folder ", folder_.string(), ": ", error.message());
  remove_abandoned(folder_);
}

TextSummary TokenCache::summary(const TextSource& source, const ReadProgress& progress) const {
  const TextStamp stamp = source.stamp();
  const fs::path path = folder_ / str_cat("text-", hex(stamp.value), ".json");
  if (const auto known = read_summary(path, stamp)) return *known;
  const TextSummary summary = summarize(source, progress);
  if (stamp.settled) {
    write_file_atomically(path, nlohmann::json{{"bytes", summary.bytes}, {"hash", summary.hash}}.dump() + "\n");
  }
  return summary;
}

TokenFile TokenCache::tokens(std::string_view name, TextReader& reader, const TextRange& range,
                             const Tokenizer& tokenizer, const ReadProgress& progress) const {
  const std::uint64_t text = range.hash(), vocabulary = tokenizer.hash();
  const fs::path path = folder_ / str_cat(name, "-", hex(text), "-", hex(vocabulary), ".tokens");
  std::error_code error;
  if (fs::exists(path, error)) {
    try {
      TokenFile file = TokenFile::open(path);
      if (file.source_hash() == text && file.tokenizer_hash() == vocabulary) return file;
    } catch (const Error&) {
      // Damaged, or of another version: built anew below.
    }
  }
  build_token_file(path, reader, range, tokenizer, progress);
  return TokenFile::open(path);
}

std::unique_ptr<Tokenizer> TokenCache::tokenizer(std::uint64_t key,
                                                 const std::function<std::unique_ptr<Tokenizer>()>& learn) const {
  const fs::path path = folder_ / str_cat("tokenizer-", hex(key), ".json");
  std::error_code error;
  if (fs::exists(path, error)) {
    try {
      return Tokenizer::load(path);
    } catch (const Error&) {
      // Damaged: learned anew below.
    }
  }
  auto tokenizer = learn();
  tokenizer->save(path);
  return tokenizer;
}

}  // namespace tapeformer
