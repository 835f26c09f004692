#include "train/run/disk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <system_error>

#include "core/error.h"

namespace tapeformer {

namespace fs = std::filesystem;

HeldFolder::HeldFolder(fs::path path) : path_(std::move(path)), fd_(::open(path_.c_str(), O_PATH | O_CLOEXEC)) {}

HeldFolder::~HeldFolder() {
  if (fd_ >= 0) ::close(fd_);
}

bool HeldFolder::in_place() const {
  struct stat held {
  }, found{};
  return fd_ >= 0 && ::fstat(fd_, &held) == 0 && ::stat(path_.c_str(), &found) == 0 && held.st_dev == found.st_dev &&
         held.st_ino == found.st_ino;
}

void rename_path(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  check(!error, "cannot rename ", from.string(), " to ", to.string(), ": ", error.message());
}

fs::path name_for_damaged(const fs::path& path) {
  std::string name = path.string() + ".damaged";
  for (int copy = 2; is_there(name); ++copy) name = str_cat(path.string(), ".damaged-", copy);
  return name;
}

void remove_path(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  check(!error, "cannot remove ", path.string(), ": ", error.message());
}

bool make_folder(const fs::path& path) {
  std::error_code error;
  const bool made = fs::create_directories(path, error);
  check(!error, "cannot make the folder ", path.string(), ": ", error.message());
  return made;
}

void write_folder(const fs::path& path, const std::function<void(const fs::path& folder)>& write) {
  check(!is_there(path), path.string(), " exists already: expected a new folder");
  const fs::path whole = absolute_path(path / "").parent_path();
  const fs::path staging = whole.parent_path() / str_cat(".", whole.filename().string(), ".partial");
  std::error_code error;
  try {
    remove_path(staging);
    make_folder(staging);
    write(staging);
    for (const fs::directory_entry& entry : fs::directory_iterator(staging)) sync_to_disk(entry.path());
    sync_to_disk(staging);
    rename_path(staging, whole);
    sync_to_disk(whole.parent_path());
  } catch (...) {
    fs::remove_all(staging, error);
    throw;
  }
}

}  // namespace tapeformer
