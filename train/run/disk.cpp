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

}  // namespace tapeformer
