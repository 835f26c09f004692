// What this test program asks of the system: seen, held up or refused by a test. Each stands in for the call of its
// name while it lives, on whatever thread calls; one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>

// `called` takes the path of the file or folder, and returns 0 for success or the errno to fail with.
struct FsyncHook {
  explicit FsyncHook(std::function<int(const std::filesystem::path&)> called);
  ~FsyncHook();
  FsyncHook(const FsyncHook&) = delete;
  FsyncHook& operator=(const FsyncHook&) = delete;
};

// `called` takes the path of a file that is opened, or read at some place, and returns 0 for success or the errno to
// fail with.
struct ReadHook {
  explicit ReadHook(std::function<int(const std::filesystem::path&)> called);
  ~ReadHook();
  ReadHook(const ReadHook&) = delete;
  ReadHook& operator=(const ReadHook&) = delete;
};

// A disk that is full: no file may grow above so many bytes ("File too large").
struct FileSizeLimit {
  explicit FileSizeLimit(std::uint64_t bytes);
  ~FileSizeLimit();
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
};

// A system that has no memory for the stack of another thread: none can be made.
struct NoThreads {
  NoThreads();
  ~NoThreads();
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;
};

// `called` sees which bytes of files are asked for with POSIX_FADV_WILLNEED.
struct WillNeedHook {
  explicit WillNeedHook(std::function<void(std::int64_t offset, std::int64_t bytes)> called);
  ~WillNeedHook();
  WillNeedHook(const WillNeedHook&) = delete;
  WillNeedHook& operator=(const WillNeedHook&) = delete;
};
