#include "data/text/byte_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cerrno>
#include <system_error>
#include <vector>

#include "core/error.h"

namespace tapeformer {

namespace fs = std::filesystem;

namespace {

std::string system_message() { return std::generic_category().message(errno); }

class PlainReader : public ByteReader {
 public:
  explicit PlainReader(const fs::path& path) : path_(path) {
    const bool standard_input = path == kStandardInput;
    fd_ = standard_input ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd_ < 0) fail("cannot open ", path.string(), ": ", system_message());
    struct stat status {};
    ::fstat(fd_, &status);
    if (standard_input || S_ISREG(status.st_mode)) return;
    ::close(fd_);
    fail(path.string(), S_ISDIR(status.st_mode) ? " is a folder, expected a file" : " is not a regular file");
  }
  ~PlainReader() override { ::close(fd_); }
  PlainReader(const PlainReader&) = delete;
  PlainReader& operator=(const PlainReader&) = delete;

  std::size_t read(std::span<char> out) override {
    ssize_t count = -1;
    do {
      count = ::read(fd_, out.data(), out.size());
    } while (count < 0 && errno == EINTR);
    if (count < 0) fail("cannot read ", path_.string(), ": ", system_message());
    consumed_ += count;
    return static_cast<std::size_t>(count);
  }
  std::int64_t consumed() const override { return consumed_; }

 private:
  fs::path path_;
  int fd_ = -1;
  std::int64_t consumed_ = 0;
};

// What the two kinds of compressed files share.
class Decompressor : public ByteReader {
 public:
  explicit Decompressor(const fs::path& path) : where_(path.string()), file_(path), buffer_(1 << 18) {}
  std::int64_t consumed() const override { return file_.consumed() - static_cast<std::int64_t>(input_.size()); }

  std::size_t read(std::span<char> out) override {
    std::size_t count = 0;
    while (count == 0) {
      if (input_.empty()) input_ = std::span(buffer_).first(file_.read(buffer_));
      const bool at_end = input_.empty();
      if (at_end && !inside_) break;
      count = decode(out);  // at the end too: some text may wait in the decoder
      if (at_end && count == 0) fail(where_, ": truncated: its compressed data ends too soon");
    }
    return count;
  }

 protected:
  // Takes bytes off input_, which may be empty, and says whether a stream has begun that has not ended.
  virtual std::size_t decode(std::span<char> out) = 0;

  std::string where_;
  std::span<char> input_;
  bool inside_ = false;

 private:
  PlainReader file_;
  std::vector<char> buffer_;
};

class GzipReader : public Decompressor {
 public:
  explicit GzipReader(const fs::path& path) : Decompressor(path) {
    check(::inflateInit2(&stream_, MAX_WBITS + 16) == Z_OK, where_, ": not enough memory to decompress");
  }
  ~GzipReader() override { ::inflateEnd(&stream_); }

 private:
  std::size_t decode(std::span<char> out) override {
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(input_.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    const int status = ::inflate(&stream_, Z_NO_FLUSH);
    input_ = input_.last(stream_.avail_in);
    inside_ = status != Z_STREAM_END;
    if (status == Z_STREAM_END) {
      ::inflateReset(&stream_);
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      fail(where_, ": not gzip data, or damaged (", stream_.msg ? stream_.msg : "no reason given", ")");
    }
    return out.size() - stream_.avail_out;
  }

  z_stream stream_{};
};

class ZstdReader : public Decompressor {
 public:
  explicit ZstdReader(const fs::path& path) : Decompressor(path), stream_(::ZSTD_createDStream()) {
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
    if (::ZSTD_isError(status)) {
      fail(where_, ": not Zstandard data, or damaged (", ::ZSTD_getErrorName(status), ")");
    }
    input_ = input_.subspan(from.pos);
    inside_ = status != 0;
    return to.pos;
  }

  ZSTD_DStream* stream_;
};

}  // namespace

std::unique_ptr<ByteReader> open_bytes(const fs::path& path) {
  if (path.extension() == ".gz") return std::make_unique<GzipReader>(path);
  if (path.extension() == ".zst") return std::make_unique<ZstdReader>(path);
  return std::make_unique<PlainReader>(path);
}

}  // namespace tapeformer
