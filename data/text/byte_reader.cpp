#include "data/text/byte_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

#include "core/error.h"
#include "core/text/lower_ascii.h"
#include "core/text/utf8.h"

namespace tapeformer {

namespace fs = std::filesystem;

namespace {

struct Suffix {
  const char* end;
  Compression compression;
};
constexpr std::array<Suffix, 2> kSuffixes = {{{".gz", Compression::gzip}, {".zst", Compression::zstandard}}};

// The end of a name, such as ".gz", in small letters: other systems write ".GZ" too.
std::string ending_of(const fs::path& path) { return lower_ascii(path.extension().string()); }

std::string system_message() { return std::generic_category().message(errno); }

class PlainReader : public ByteReader {
 public:
  PlainReader(const fs::path& path, WaitingCallback waiting) : path_(path), waiting_(std::move(waiting)) {
    const bool standard_input = path == kStandardInput;
    fd_ = standard_input ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd_ < 0) fail("cannot open ", path.string(), ": ", system_message());
    struct stat status {};
    ::fstat(fd_, &status);
    waits_ = !S_ISREG(status.st_mode);
    if (standard_input || !waits_ || S_ISFIFO(status.st_mode)) return;
    ::close(fd_);
    fail(path.string(), S_ISDIR(status.st_mode) ? " is a folder, expected a file" : " is not a regular file");
  }
  ~PlainReader() override { ::close(fd_); }
  PlainReader(const PlainReader&) = delete;
  PlainReader& operator=(const PlainReader&) = delete;

  std::size_t read(std::span<char> out) override {
    ssize_t count = -1;
    do {
      if (waits_) wait();
      count = ::read(fd_, out.data(), out.size());
    } while (count < 0 && (errno == EINTR || errno == EAGAIN));
    if (count < 0) fail("cannot read ", shown_name(path_), ": ", system_message());
    consumed_ += count;
    return static_cast<std::size_t>(count);
  }
  std::int64_t consumed() const override { return consumed_; }

 private:
  // Returns when there are bytes to read, or when no more will come. A pipe has none until another process opens it to
  // write.
  void wait() const {
    constexpr int kMilliseconds = 100;
    pollfd input{fd_, POLLIN, 0};
    for (;;) {
      const int ready = ::poll(&input, 1, kMilliseconds);
      if (ready > 0) return;
      if (ready < 0 && errno != EINTR) fail("cannot read ", shown_name(path_), ": ", system_message());
      if (waiting_) waiting_();
    }
  }

  fs::path path_;
  WaitingCallback waiting_;
  int fd_ = -1;
  bool waits_ = false;  // whether bytes may come later, as from anything but a regular file
  std::int64_t consumed_ = 0;
};

// The common base of the readers of the two compressed formats.
class Decompressor : public ByteReader {
 public:
  Decompressor(const fs::path& path, WaitingCallback waiting)
      : where_(path.string()), file_(path, std::move(waiting)), buffer_(1 << 18) {}
  std::int64_t consumed() const override { return file_.consumed() - static_cast<std::int64_t>(input_.size()); }

  std::size_t read(std::span<char> out) override {
    for (;;) {
      if (input_.empty()) input_ = std::span(buffer_).first(file_.read(buffer_));
      const bool at_end = input_.empty();
      if (at_end && !inside_) return 0;
      if (!inside_) {
        skip_padding();
        if (input_.empty()) continue;
      }
      // Also called at the end of the file, since the decoder may hold some text.
      const std::size_t count = decode(out);
      if (count > 0) return count;
      if (at_end) fail(where_, ": truncated: its compressed data ends too soon");
    }
  }

 protected:
  // Decodes bytes from the front of input_, which may be empty, and removes them from it. Sets inside_: whether the end
  // of a stream is still to come.
  virtual std::size_t decode(std::span<char> out) = 0;
  // Called between two streams: removes padding from the front of input_.
  virtual void skip_padding() {}

  std::string where_;
  std::span<char> input_;
  bool inside_ = false;

 private:
  PlainReader file_;
  std::vector<char> buffer_;
};

class GzipReader : public Decompressor {
 public:
  GzipReader(const fs::path& path, WaitingCallback waiting) : Decompressor(path, std::move(waiting)) {
    check(::inflateInit2(&stream_, MAX_WBITS + 16) == Z_OK, where_, ": not enough memory to decompress");
  }
  ~GzipReader() override { ::inflateEnd(&stream_); }
  bool skipped_zeros() const override { return skipped_zeros_; }

 private:
  void skip_padding() override {
    if (!ended_once_) return;  // before the first stream, bytes 0 mean that the file is not gzip data
    const auto rest = std::find_if(input_.begin(), input_.end(), [](char c) { return c != 0; });
    skipped_zeros_ |= rest != input_.begin();
    input_ = input_.subspan(rest - input_.begin());
  }

  std::size_t decode(std::span<char> out) override {
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(input_.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    const int status = ::inflate(&stream_, Z_NO_FLUSH);
    input_ = input_.last(stream_.avail_in);
    inside_ = status != Z_STREAM_END;
    if (status == Z_STREAM_END) {
      ended_once_ = true;
      ::inflateReset(&stream_);
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      fail(where_, ": not gzip data, or damaged (", stream_.msg ? stream_.msg : "no reason given", ")");
    }
    return out.size() - stream_.avail_out;
  }

  z_stream stream_{};
  bool ended_once_ = false, skipped_zeros_ = false;
};

class ZstdReader : public Decompressor {
 public:
  ZstdReader(const fs::path& path, WaitingCallback waiting)
      : Decompressor(path, std::move(waiting)), stream_(::ZSTD_createDStream()) {
    check(stream_ != nullptr, where_, ": not enough memory to decompress");
  }
  ~ZstdReader() override { ::ZSTD_freeDStream(stream_); }
  ZstdReader(const ZstdReader&) = delete;
  ZstdReader& operator=(const ZstdReader&) = delete;

 private:
  std::size_t decode(std::span<char> out) override {
    ZSTD_inBuffer from{input_.data(), input_.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const std::size_t status = ::ZSTD_decompressStream(stream_, &to, &from);
    if (::ZSTD_getErrorCode(status) == ZSTD_error_frameParameter_windowTooLarge) {
      fail(where_, ": its window is too large: expected at most 128 MiB; compress it without zstd's --long or --ultra");
    }
    if (::ZSTD_isError(status)) {
      fail(where_, ": not Zstandard data, or damaged (", ::ZSTD_getErrorName(status), ")");
    }
    input_ = input_.subspan(from.pos);
    inside_ = status != 0;
    return to.pos;
  }

  ZSTD_DStream* stream_;
};

// Judges a file by its first bytes, whose last character may be incomplete.
bool looks_binary(std::string_view text) {
  if (text.find('\0') != text.npos) return true;
  const std::string_view whole = text.substr(0, text.size() - std::min<std::size_t>(text.size(), 3));
  std::size_t invalid = 0;
  for (std::size_t at = 0; at < whole.size();) {
    const Utf8Char c = read_utf8(text, at);
    if (c.code_point == kInvalidUtf8) ++invalid;
    at += c.length;
  }
  return 10 * invalid > whole.size();
}

}  // namespace

Compression compression_of(const fs::path& path) {
  const std::string ending = ending_of(path);
  for (const Suffix& suffix : kSuffixes) {
    if (ending == suffix.end) return suffix.compression;
  }
  return Compression::none;
}

fs::path uncompressed_name(const fs::path& path) {
  return compression_of(path) == Compression::none ? path : fs::path(path).replace_extension();
}

bool is_json_lines(const fs::path& path) {
  const std::string ending = ending_of(uncompressed_name(path));
  return ending == ".jsonl" || ending == ".ndjson";
}

std::string shown_name(const fs::path& path) { return path == kStandardInput ? "standard input" : path.string(); }

bool is_read_once(const fs::path& path) {
  std::error_code unreachable;
  return path == kStandardInput || fs::is_fifo(path, unreachable);
}

std::unique_ptr<ByteReader> open_bytes(const fs::path& path, WaitingCallback waiting) {
  switch (compression_of(path)) {
    case Compression::gzip:
      return std::make_unique<GzipReader>(path, std::move(waiting));
    case Compression::zstandard:
      return std::make_unique<ZstdReader>(path, std::move(waiting));
    case Compression::none:
      break;
  }
  return std::make_unique<PlainReader>(path, std::move(waiting));
}

TextBytes::TextBytes(const fs::path& path, TextNotes& notes, const fs::path& name)
    : name_(shown_name(name.empty() ? path : name)), notes_(notes), bytes_(open_bytes(path)) {}

std::size_t TextBytes::read(std::span<char> out) {
  if (ended_) return 0;
  const std::size_t count = started_ ? bytes_->read(out) : read_first(out);
  started_ = true;
  ended_ = count == 0;
  if (ended_ && bytes_->skipped_zeros()) notes_.add(TextNote::trailing_zeros, name_);
  return count;
}

std::size_t TextBytes::read_first(std::span<char> out) {
  std::size_t count = 0;
  while (count < std::min(out.size(), kByteOrderMark.size())) {
    const std::size_t more = bytes_->read(out.subspan(count));
    if (more == 0) break;
    count += more;
  }
  const std::string_view text(out.data(), count);
  if (looks_binary(text)) notes_.add(TextNote::binary, name_);
  if (!text.starts_with(kByteOrderMark)) return count;
  notes_.add(TextNote::byte_order_mark, name_);
  std::memmove(out.data(), out.data() + kByteOrderMark.size(), count - kByteOrderMark.size());
  count -= kByteOrderMark.size();
  return count > 0 ? count : bytes_->read(out);
}

}  // namespace tapeformer
