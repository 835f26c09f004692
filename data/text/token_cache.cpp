#include "data/text/token_cache.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"
#include "core/json.h"

namespace tapeformer {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::json;

// A part of the names of tokens and tokenizers: increase it when a tokenizer of the same file encodes a text in another
// way, or when another one is learned from the same text, so that what older programs have stored is not used.
constexpr int kTokenizingVersion = 3;

constexpr std::chrono::hours kDay{24};  // the time of a file says to the day when it was used

// {"bytes": …, "hash": …, "notes": [[count, first], …]}
Json to_json(const TextSummary& summary) {
  auto notes = Json::array();
  for (const TextNotes::Entry& entry : summary.notes.entries) notes.push_back({entry.count, entry.first});
  return {{"bytes", summary.bytes}, {"hash", summary.hash}, {"notes", std::move(notes)}};
}

TextSummary summary_of(const Json& fields, const TextStamp& stamp) {
  TextSummary summary{.bytes = fields.at("bytes").get<std::int64_t>(),
                      .hash = fields.at("hash").get<std::uint64_t>(),
                      .notes = {},
                      .stamp = stamp};
  for (std::size_t kind = 0; kind < kTextNoteKinds; ++kind) {
    const Json& entry = fields.at("notes").at(kind);
    summary.notes.entries[kind] = {entry.at(0).get<std::int64_t>(), entry.at(1).get<std::string>()};
  }
  return summary;
}

// Reads a JSON object with its checksum, as write_sealed() writes it. Throws Error for any other file.
Json read_sealed(const fs::path& path) {
  auto object = parse_json<Json>(read_file(path), path.string() + ": ");
  check(object.is_object() && unseal_json(object), path.string(), ": its checksum differs");
  return object;
}

void write_sealed(const fs::path& path, Json object) {
  seal_json(object);
  write_file_atomically(path, dump_json(object) + "\n");
}

// Returns the time since a file was made or used; 0 if that is not known.
fs::file_time_type::duration unused_for(const fs::path& path) {
  std::error_code error;
  const fs::file_time_type used = fs::last_write_time(path, error);
  return error ? fs::file_time_type::duration::zero() : fs::file_time_type::clock::now() - used;
}

// Whether a file of the folder is a token file of this program: NAME-HASH-HASH.tokens, perhaps with -vNUMBER before the
// end. The folder may have files of others.
bool is_token_file(const fs::path& path) {
  std::string name = path.stem().string();
  const auto ends_with_hash = [&] {
    const std::size_t dash = name.find_last_not_of("0123456789abcdef");
    if (dash == name.npos || name[dash] != '-' || name.size() - dash != to_hex(0).size() + 1) return false;
    name.resize(dash);
    return true;
  };
  const std::size_t version = name.find_last_not_of("0123456789");
  if (version != name.npos && version > 0 && name.compare(version - 1, 2, "-v") == 0) name.resize(version - 1);
  return path.extension() == ".tokens" && ends_with_hash() && ends_with_hash() && !name.empty();
}

// Removes the token files that were not used for long.
void remove_unused(const fs::path& folder) {
  constexpr std::chrono::hours kKept{24 * 90};
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (is_token_file(entry.path()) && unused_for(entry.path()) > kKept) fs::remove(entry.path(), error);
  }
}

}  // namespace

std::uint64_t TextRange::hash() const {
  Hasher hasher;
  for (const std::uint64_t number : {text.hash, static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end)}) {
    hasher.update(number);
  }
  return hasher.digest();
}

void build_token_file(const fs::path& path, TextReader& reader, const TextRange& range, const Tokenizer& tokenizer,
                      const ProgressCallback& progress) {
  TokenFileWriter file(path, tokenizer.vocab_size(), range.hash(), tokenizer.hash());
  reader.skip_to(range.begin);
  reader.stop_at(range.end);
  const std::int64_t begin = reader.position();
  for_each_encoded(
      reader, tokenizer, [&](std::span<const std::int32_t> ids) { file.append(ids); }, progress);
  check(reader.source().stamp().value == range.text.stamp.value, "the text was changed while it was encoded");
  file.commit(reader.position() - begin);
}

struct TokenCache::TemporaryFolder {
  fs::path path;

  TemporaryFolder() {
    std::error_code error;
    const fs::path parent = fs::temp_directory_path(error);
    check(!error, "no folder for temporary files: ", error.message());
    std::string name = (parent / "tapeformer-cache-XXXXXX").string();
    check(::mkdtemp(name.data()) != nullptr, "cannot make folder ", name, ": ", std::generic_category().message(errno));
    path = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
};

std::filesystem::path token_cache_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return value ? std::filesystem::path(value) : std::filesystem::path();
  };
  if (const auto folder = variable("TAPEFORMER_CACHE"); !folder.empty()) return folder;
  if (const auto folder = variable("XDG_CACHE_HOME"); !folder.empty()) return folder / "tapeformer";
  if (const auto home = variable("HOME"); !home.empty()) return home / ".cache" / "tapeformer";
  return std::filesystem::temp_directory_path() / "tapeformer-cache";
}

TokenCache::TokenCache(fs::path folder) : folder_(std::move(folder)) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (!error && ::access(folder_.c_str(), W_OK | X_OK) != 0) error = {errno, std::generic_category()};
  if (!error) {
    remove_abandoned(folder_);
    remove_unused(folder_);
    return;
  }
  temporary_ = std::make_shared<const TemporaryFolder>();
  warning_ = str_cat("the cache folder ", folder_.string(), " cannot be written (", error.message(),
                     "): what is made of the text is kept in a temporary folder, and made again next time");
}

const fs::path& TokenCache::writable_folder() const { return temporary_ ? temporary_->path : folder_; }

fs::path TokenCache::path_of(const std::string& name) const {
  std::error_code unreachable;
  const fs::path path = folder_ / name;
  return fs::exists(path, unreachable) ? path : writable_folder() / name;
}

fs::path TokenCache::new_path(const std::string& name) const {
  std::error_code reported_by_the_writer;
  fs::create_directories(writable_folder(), reported_by_the_writer);
  return writable_folder() / name;
}

template <class Content>
std::optional<Content> TokenCache::stored(const std::string& name,
                                          const std::function<Content(const fs::path&)>& read) const {
  const fs::path path = path_of(name);
  std::error_code error;
  if (!fs::exists(path, error)) return std::nullopt;
  try {
    Content content = read(path);
    if (unused_for(path) > kDay) fs::last_write_time(path, fs::file_time_type::clock::now(), error);
    return content;
  } catch (const std::exception&) {  // Error, or JSON of another form
    found_damaged_->push_back(
        str_cat("the cache's ", path.string(), " is damaged or of another version: it is made again"));
    return std::nullopt;
  }
}

TextSummary TokenCache::summary(const TextSource& source, const ProgressCallback& progress) const {
  const TextStamp stamp = source.stamp();
  const std::string name = str_cat("text-", to_hex(stamp.value), ".json");
  if (const auto known =
          stored<TextSummary>(name, [&](const fs::path& path) { return summary_of(read_sealed(path), stamp); })) {
    return *known;
  }
  const TextSummary summary = summarize(source, progress);
  if (stamp.settled) write_sealed(new_path(name), to_json(summary));
  return summary;
}

TokenFile TokenCache::tokens(std::string_view name, TextReader& reader, const TextRange& range,
                             const Tokenizer& tokenizer, const ProgressCallback& progress) const {
  const std::uint64_t text = range.hash(), vocabulary = tokenizer.hash();
  const std::string file_name =
      str_cat(name, "-", to_hex(text), "-", to_hex(vocabulary), "-v", kTokenizingVersion, ".tokens");
  const auto open = [&](const fs::path& path) {
    TokenFile file = TokenFile::open(path);
    check(file.source_hash() == text && file.tokenizer_hash() == vocabulary, path.string(), ": holds other tokens");
    file.verify();  // now, while the text from which it can be made again is available
    return file;
  };
  if (auto file = stored<TokenFile>(file_name, open)) return *std::move(file);
  const fs::path path = new_path(file_name);
  build_token_file(path, reader, range, tokenizer, progress);
  return TokenFile::open(path);
}

std::unique_ptr<Tokenizer> TokenCache::tokenizer(std::uint64_t key,
                                                 const std::function<std::unique_ptr<Tokenizer>()>& learn) const {
  const std::string name = str_cat("tokenizer-", to_hex(key), "-v", kTokenizingVersion, ".json");
  const auto read = [](const fs::path& path) {
    return Tokenizer::from_json(read_sealed(path).at("tokenizer").get<std::string>(), path.string());
  };
  if (auto known = stored<std::unique_ptr<Tokenizer>>(name, read)) return *std::move(known);
  auto tokenizer = learn();
  write_sealed(new_path(name), {{"tokenizer", tokenizer->to_json()}});
  return tokenizer;
}

}  // namespace tapeformer
