#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "core/error.h"
#include "core/hash.h"
#include "core/json.h"
#include "core/text/joined.h"
#include "core/text/utf8.h"
#include "data/text/byte_reader.h"
#include "data/text/text_source.h"

namespace tapeformer {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kReadBytes = 1 << 20;
// The time stamps of a file advance in steps, of up to two seconds on old file systems, so that two changes within one
// step look like one.
constexpr std::int64_t kSettleSeconds = 3;

// A part of every stamp: increase it when the way of reading files changes, to make stored summaries of texts invalid.
constexpr std::uint64_t kReadingVersion = 5;

// Whether the four hexadecimal digits at `at` are a half of a surrogate pair: the first (D800 to DBFF) or the second.
enum class Half { none, first, second };
Half half_at(std::string_view text, std::size_t at) {
  if (at + 4 > text.size() || (text[at] | 0x20) != 'd') return Half::none;
  const char digit = text[at + 1] | 0x20;
  if ((digit >= '8' && digit <= '9') || digit == 'a' || digit == 'b') return Half::first;
  return digit >= 'c' && digit <= 'f' ? Half::second : Half::none;
}

// Replaces every \u escape of an unpaired surrogate by \ufffd. Returns whether there was one.
bool replace_lone_surrogates(std::string& json) {
  bool found = false;
  constexpr std::size_t kEscape = 6;  // the length of \uXXXX
  for (std::size_t at = json.find('\\'); at != json.npos; at = json.find('\\', at)) {
    const Half half = json.compare(at, 2, "\\u") == 0 ? half_at(json, at + 2) : Half::none;
    const bool paired = half == Half::first && json.compare(at + kEscape, 2, "\\u") == 0 &&
                        half_at(json, at + kEscape + 2) == Half::second;
    if (half != Half::none && !paired) {
      json.replace(at + 2, 4, "fffd");
      found = true;
    }
    at += paired ? 2 * kEscape : 2;  // the character after a backslash does not begin an escape
  }
  return found;
}

// Cuts the bytes of a file at a delimiter; an empty delimiter cuts nowhere. Lines end with \n or \r\n.
class Splitter {
 public:
  Splitter(const TextFile& file, std::string_view delimiter, TextNotes& notes)
      : bytes_(file.path, notes, file.name), delimiter_(delimiter) {}

  // Gives the next bytes, valid until the next call, and whether they are complete: followed by the delimiter or the
  // end of the file. Returns false after the end of the file was given.
  bool next(std::string_view& text, bool& complete) {
    while (!finished_) {
      const std::string_view held = std::string_view(buffer_).substr(begin_);
      const std::size_t found = delimiter_.empty() ? held.npos : held.find(delimiter_);
      finished_ = found == held.npos && ended_;
      complete = found != held.npos || ended_;
      if (complete) {
        text = held.substr(0, found);
        begin_ += text.size() + delimiter_.size();
        if (cuts_lines() && text.ends_with('\r')) text.remove_suffix(1);
        return true;
      }
      // The last bytes may be the beginning of a delimiter.
      const std::size_t unsure = cuts_lines() ? 1 : delimiter_.empty() ? 0 : delimiter_.size() - 1;
      if (held.size() > unsure) {
        text = held.substr(0, held.size() - unsure);
        begin_ += text.size();
        return true;
      }
      refill();
    }
    return false;
  }
  // The bytes of the file, as stored, up to the end of what was given; of a compressed file, about.
  std::int64_t consumed() const {
    const std::size_t held = begin_ < buffer_.size() ? std::min(buffer_.size() - begin_, count_) : 0;
    if (held == 0) return bytes_.consumed();
    const double given = static_cast<double>(count_ - held) / static_cast<double>(count_);
    return before_ + static_cast<std::int64_t>(given * static_cast<double>(bytes_.consumed() - before_));
  }

 private:
  bool cuts_lines() const { return delimiter_ == "\n"; }
  void refill() {
    buffer_.erase(0, begin_);
    begin_ = 0;
    const std::size_t kept = buffer_.size();
    buffer_.resize(kept + kReadBytes);
    before_ = bytes_.consumed();
    count_ = bytes_.read(std::span(buffer_).subspan(kept));
    buffer_.resize(kept + count_);
    ended_ = count_ == 0;
  }

  TextBytes bytes_;
  std::string_view delimiter_;
  std::string buffer_;
  std::size_t begin_ = 0;
  std::size_t count_ = 0;    // the bytes that the last read gave
  std::int64_t before_ = 0;  // of the file, as stored, that were read before it
  bool ended_ = false, finished_ = false;
};

// Reads one file.
class FileReader {
 public:
  FileReader(const TextFile& file, std::string_view delimiter, TextNotes& notes)
      : name_(file.name), splitter_(file, delimiter, notes) {}
  virtual ~FileReader() = default;
  virtual bool next(SourceFragment& fragment) = 0;
  std::int64_t consumed() const { return splitter_.consumed(); }

 protected:
  fs::path name_;
  Splitter splitter_;
};

class PlainTextReader : public FileReader {
 public:
  PlainTextReader(const TextFile& file, DocumentEnd document, TextNotes& notes)
      : FileReader(file,
                   document == DocumentEnd::line   ? "\n"
                   : document == DocumentEnd::mark ? kEndOfText
                                                   : "",
                   notes),
        bound_(document == DocumentEnd::none ? Bound::piece : Bound::document),
        seeks_marks_(document != DocumentEnd::mark),
        notes_(notes) {}

  bool next(SourceFragment& fragment) override {
    bool complete = false;
    while (splitter_.next(fragment.text, complete)) {
      note_mark(fragment.text);
      fragment.bound = complete ? bound_ : Bound::none;
      if (fragment.text.empty() && !inside_) continue;  // skips a document without text
      inside_ = !complete;
      return true;
    }
    return false;
  }

 private:
  // Who writes marks means the ends of documents. One that a fragment's end cuts is not seen: there are others.
  void note_mark(std::string_view text) {
    // memmem() is many times as fast as find() in a text with as many < as a page of the web.
    if (!seeks_marks_ || ::memmem(text.data(), text.size(), kEndOfText.data(), kEndOfText.size()) == nullptr) return;
    notes_.add(TextNote::plain_mark, shown_name(name_));
    seeks_marks_ = false;
  }

  Bound bound_;
  bool inside_ = false;
  bool seeks_marks_;  // whether marks are plain text, and none was found yet
  TextNotes& notes_;
};

class JsonLinesReader : public FileReader {
 public:
  JsonLinesReader(const TextFile& file, const std::string& field, TextNotes& notes)
      : FileReader(file, "\n", notes), field_(field), notes_(notes) {}

  bool next(SourceFragment& fragment) override {
    line_.clear();
    std::string_view text;
    for (bool complete = false; splitter_.next(text, complete);) {
      line_ += text;
      if (!complete) continue;
      ++number_;
      if (line_.find_first_not_of(" \t\r") != std::string::npos && !read_document().empty()) {
        fragment = {document_, Bound::document};
        return true;
      }
      line_.clear();
    }
    return false;
  }

 private:
  const std::string& read_document() {
    const std::string place = str_cat(name_.string(), ":", number_), where = place + ": ";
    check(line_.find('\0') == line_.npos, where, "expected a line of JSON, got a byte 0 in it");
    if (replace_lone_surrogates(line_)) notes_.add(TextNote::lone_surrogate, place);
    auto object = parse_json<nlohmann::json>(line_, where);
    const auto found = object.find(field_);
    if (found == object.end())
      fail(where, "expected an object with the field \"", field_, "\", got ",
           object.is_object() ? "fields " + joined(object.items(), ", ", [](const auto& item) { return item.key(); })
                              : object.type_name());
    check(found->is_string(), where, "expected a string in the field \"", field_, "\", got ", found->type_name());
    return document_ = std::move(found->get_ref<std::string&>());
  }

  std::string field_, line_, document_;
  TextNotes& notes_;
  std::int64_t number_ = 0;
};

// Whether the first line of a plain text could be one of JSON lines: an object with the field.
bool begins_like_json_lines(std::string_view text, const std::string& field) {
  const std::string_view line = text.substr(0, text.find('\n'));
  return line.starts_with('{') && line.find(str_cat('"', field, '"')) != line.npos;
}

// Reads several files one after another.
class FilesReader : public FragmentReader {
 public:
  FilesReader(const std::vector<TextFile>& files, const TextOptions& options) : files_(files), options_(options) {
    std::error_code unknown;
    for (const TextFile& file : files) {
      const auto bytes = fs::file_size(file.path, unknown);
      if (!unknown) total_ += static_cast<std::int64_t>(bytes);
    }
  }

  bool next(SourceFragment& fragment) override {
    for (; index_ < files_.size(); ++index_) {
      const TextFile& file = files_[index_];
      if (!file_) {
        if (is_json_lines(file.name)) {
          file_ = std::make_unique<JsonLinesReader>(file, options_.field, notes_);
        } else {
          file_ = std::make_unique<PlainTextReader>(file, options_.document, notes_);
        }
        file_has_text_ = false;
      }
      if (file_->next(fragment)) {
        if (!file_has_text_ && !is_json_lines(file.name) && begins_like_json_lines(fragment.text, options_.field)) {
          notes_.add(TextNote::json_lines, shown_name(file.name));
        }
        return has_text_ = file_has_text_ = true;
      }
      if (!file_has_text_) notes_.add(TextNote::empty_file, shown_name(file.name));
      finished_ += file_->consumed();
      file_.reset();
    }
    const std::string first = shown_name(files_[0].name);
    check(has_text_ || files_.size() > 1, first, " is empty, expected text");
    check(has_text_, "none of ", files_.size(), " files has text, expected some; the first is ", first);
    return false;
  }

  const TextNotes& notes() const override { return notes_; }

  double share() const override {
    const std::int64_t read = finished_ + (file_ ? file_->consumed() : 0);
    return total_ > 0 ? static_cast<double>(read) / static_cast<double>(total_) : 0;
  }

 private:
  const std::vector<TextFile> files_;
  const TextOptions options_;
  TextNotes notes_;
  std::unique_ptr<FileReader> file_;
  std::size_t index_ = 0;
  bool has_text_ = false, file_has_text_ = false;
  std::int64_t finished_ = 0, total_ = 0;
};

// Returns the place of the first byte of a file, after decompression, that is not part of valid UTF-8; nullopt: none.
std::optional<std::int64_t> invalid_utf8_of(const fs::path& path) {
  constexpr std::size_t kLongest = 4;  // bytes of a character
  const auto bytes = open_bytes(path);
  std::string buffer(kReadBytes, '\0'), text;
  for (std::int64_t begin = 0;;) {  // where `text` begins in the file
    const std::size_t count = bytes->read(buffer);
    text.append(buffer, 0, count);
    const std::size_t invalid = find_invalid_utf8(text);
    const bool may_go_on = count > 0 && invalid != text.npos && invalid + kLongest > text.size();
    if (invalid != text.npos && !may_go_on) return begin + static_cast<std::int64_t>(invalid);
    if (count == 0) return std::nullopt;
    const std::size_t valid = std::min(invalid, text.size());
    text.erase(0, valid);
    begin += static_cast<std::int64_t>(valid);
  }
}

}  // namespace

FileText::FileText(std::vector<fs::path> paths, TextOptions options, std::vector<fs::path> names)
    : options_(std::move(options)) {
  check(!paths.empty(), "text: no files given");
  if (names.empty()) names = paths;
  for (std::size_t i = 0; i < paths.size(); ++i) files_.push_back({std::move(paths[i]), std::move(names[i])});
}

std::unique_ptr<FragmentReader> FileText::read() const { return std::make_unique<FilesReader>(files_, options_); }

std::string FileText::name() const {
  const std::size_t others = files_.size() - 1;
  const std::string first = shown_name(files_.front().name);
  return others == 0 ? first : str_cat(first, " and ", others, others == 1 ? " other file" : " other files");
}

bool FileText::has_documents() const {
  return options_.document != DocumentEnd::none || std::ranges::any_of(files_, is_json_lines, &TextFile::name);
}

void FileText::require_utf8() const {
  for (const auto& [path, name] : files_) {
    if (is_read_once(path)) continue;
    if (const auto at = invalid_utf8_of(path))
      fail(shown_name(name), ": invalid UTF-8 at byte ", *at, "; a bpe tokenizer takes any bytes");
  }
}

TextStamp FileText::stamp() const {
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
  TextStamp stamp{.value = 0, .settled = true};
  Hasher hasher;
  hasher.update(kReadingVersion);
  hasher.update(static_cast<std::uint64_t>(options_.document));
  hasher.update(options_.field);
  for (const auto& [path, name] : files_) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
      fail("cannot open ", name.string(), ": ", std::generic_category().message(errno));
    }
    hasher.update(name.extension().native());
    hasher.update(static_cast<std::uint64_t>(is_json_lines(name)));
    for (const auto number :
         {static_cast<std::int64_t>(status.st_dev), static_cast<std::int64_t>(status.st_ino),
          static_cast<std::int64_t>(status.st_size), static_cast<std::int64_t>(status.st_mtim.tv_sec),
          static_cast<std::int64_t>(status.st_mtim.tv_nsec), static_cast<std::int64_t>(status.st_ctim.tv_sec),
          static_cast<std::int64_t>(status.st_ctim.tv_nsec)}) {
      hasher.update(static_cast<std::uint64_t>(number));
    }
    if (std::max(status.st_mtim.tv_sec, status.st_ctim.tv_sec) + kSettleSeconds > now.count()) stamp.settled = false;
  }
  stamp.value = hasher.digest();
  return stamp;
}

}  // namespace tapeformer
