#include "tokenizer/bpe/sorted_runs.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <queue>
#include <string>

#include "core/error.h"
#include "core/files.h"

namespace tapeformer {
namespace {

constexpr const char* kWhere = "tokenizer: temporary file for counts of words: ";

// The file loses its name at once, so that it disappears with the process, even if that is killed.
int open_temporary_file() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  check(!error, kWhere, "no folder for it: ", error.message());
  std::string path = (folder / "tapeformer-XXXXXX").string();
  const int fd = ::mkostemp(path.data(), O_CLOEXEC);
  check(fd >= 0, kWhere, "cannot make ", path, ": ", std::strerror(errno));
  ::unlink(path.c_str());
  return fd;
}

void append(std::string& out, std::uint64_t value) { out.append(reinterpret_cast<const char*>(&value), sizeof value); }

}  // namespace

// Reads one run: records of length and count (8 bytes each) and the pretoken's bytes.
class SortedRuns::Reader {
 public:
  Reader(int fd, const Run& run, std::size_t buffer_bytes) : fd_(fd), run_(run), buffer_(buffer_bytes, '\0') {}

  // Reads the next record. False if there is none.
  bool next() {
    begin_ += taken_;
    taken_ = 0;
    if (begin_ == filled_ && run_.begin == run_.end) return false;
    constexpr std::size_t kHead = 2 * sizeof(std::uint64_t);
    need(kHead);
    std::uint64_t size = 0;
    std::memcpy(&size, buffer_.data() + begin_, sizeof size);
    std::memcpy(&count_, buffer_.data() + begin_ + sizeof size, sizeof count_);
    need(kHead + size);
    pretoken_ = std::string_view(buffer_).substr(begin_ + kHead, size);
    taken_ = kHead + size;
    return true;
  }
  std::string_view pretoken() const { return pretoken_; }
  std::int64_t count() const { return count_; }

 private:
  // Reads until the buffer holds at least `bytes` from begin_ on.
  void need(std::size_t bytes) {
    if (filled_ - begin_ >= bytes) return;
    std::memmove(buffer_.data(), buffer_.data() + begin_, filled_ - begin_);
    filled_ -= begin_;
    begin_ = 0;
    if (buffer_.size() < bytes) buffer_.resize(bytes);
    while (filled_ < bytes) {
      const auto wanted = std::min<std::int64_t>(buffer_.size() - filled_, run_.end - run_.begin);
      const ssize_t got = ::pread(fd_, buffer_.data() + filled_, wanted, run_.begin);
      if (got < 0 && errno == EINTR) continue;
      check(got > 0, kWhere, "cannot read: ", got < 0 ? std::strerror(errno) : "it ends early");
      filled_ += got;
      run_.begin += got;
    }
  }

  int fd_;
  Run run_;  // what is not in the buffer yet
  std::string buffer_;
  std::size_t begin_ = 0, filled_ = 0, taken_ = 0;
  std::string_view pretoken_;
  std::int64_t count_ = 0;
};

SortedRuns::~SortedRuns() {
  if (fd_ >= 0) ::close(fd_);
}

void SortedRuns::add(PretokenTable& table) {
  const std::lock_guard lock(mutex_);
  if (fd_ < 0) fd_ = open_temporary_file();
  const std::int64_t begin = size_;
  std::string buffer;
  const auto flush = [&] {
    write_all_at(fd_, size_, buffer, "the temporary file for counts of words");
    size_ += static_cast<std::int64_t>(buffer.size());
    buffer.clear();
  };
  table.drain([&](std::string_view pretoken, std::int64_t count) {
    append(buffer, pretoken.size());
    append(buffer, count);
    buffer += pretoken;
    if (buffer.size() >= std::size_t{1} << 16) flush();
  });
  flush();
  runs_.push_back({begin, size_});
}

void SortedRuns::for_each(const Visit& f) const {
  constexpr std::size_t kLeast = 4096, kMost = std::size_t{1} << 20;
  const std::size_t buffer_bytes = std::clamp(buffer_bytes_ / std::max<std::size_t>(1, runs_.size()), kLeast, kMost);
  std::vector<Reader> readers;
  for (const Run& run : runs_) readers.emplace_back(fd_, run, buffer_bytes);
  const auto later = [](const Reader* a, const Reader* b) { return a->pretoken() > b->pretoken(); };
  std::priority_queue<Reader*, std::vector<Reader*>, decltype(later)> queue(later);
  for (Reader& reader : readers) {
    if (reader.next()) queue.push(&reader);
  }
  std::string pretoken;
  while (!queue.empty()) {
    pretoken = queue.top()->pretoken();
    std::int64_t count = 0;
    while (!queue.empty() && queue.top()->pretoken() == pretoken) {
      Reader* reader = queue.top();
      queue.pop();
      count += reader->count();
      if (reader->next()) queue.push(reader);
    }
    f(pretoken, count);
  }
}

}  // namespace tapeformer
