#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "core/error.h"
#include "data/text/text_reader.h"
#include "targets.h"

namespace tapeformer::fuzz {
namespace {

struct Read {
  std::string text;
  std::vector<std::pair<std::size_t, bool>> ends;  // of pieces; whether of a document
  bool operator==(const Read&) const = default;
};

// Nothing if the file is refused.
std::optional<Read> read(const TextSource& source, std::size_t chunk_bytes) {
  Read all;
  try {
    TextReader reader(source, chunk_bytes);
    for (TextChunk chunk; reader.next(chunk);) {
      require(chunk.text.size() <= chunk_bytes, "a chunk is too large");
      for (const TextChunk::End& end : chunk.ends) all.ends.emplace_back(all.text.size() + end.at, end.document);
      all.text += chunk.text;
    }
  } catch (const Error&) {
    return std::nullopt;
  }
  return all;
}

}  // namespace

void text_file(std::string_view data) {
  static const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / str_cat("tapeformer-fuzz-", ::getpid());
  if (data.empty()) return;
  const auto choice = static_cast<unsigned char>(data[0]);
  constexpr const char* kNames[] = {"a.txt", "a.jsonl", "a.txt.gz", "a.jsonl.zst"};
  constexpr DocumentEnd kEnds[] = {DocumentEnd::none, DocumentEnd::file, DocumentEnd::line, DocumentEnd::mark};
  std::filesystem::create_directories(folder);
  const std::filesystem::path path = folder / kNames[choice % 4];
  std::ofstream(path, std::ios::binary) << data.substr(1);
  const FileText source({path}, {.document = kEnds[choice / 4 % 4]});
  const std::optional<Read> whole = read(source, TextReader::kChunkBytes);
  require(read(source, 1 + choice / 16) == whole, "the parts change what is read");
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  data.remove_prefix(1);
  if (data.starts_with(kByteOrderMark)) data.remove_prefix(kByteOrderMark.size());
  if (whole && choice % 16 == 0) require(whole->text == data, "the text is not the file's");
  std::filesystem::remove_all(folder);
}

}  // namespace tapeformer::fuzz
