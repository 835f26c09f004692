// System calls by which a run's folder is written. Each returns when its effect is complete.
#pragma once

#include <filesystem>

#include "core/files.h"

namespace tapeformer {

// rename(2). Throws Error.
void rename_path(const std::filesystem::path& from, const std::filesystem::path& to);

// A name beside a damaged file or folder under which it can be kept: "NAME.damaged", or "NAME.damaged-2" and so on.
std::filesystem::path name_for_damaged(const std::filesystem::path& path);

// Removes a file or a whole folder, if it exists. Throws Error.
void remove_path(const std::filesystem::path& path);

// A folder that is held open, so that one can tell whether its path still leads to it.
class HeldFolder {
 public:
  // A path that leads to nothing is not in place.
  explicit HeldFolder(std::filesystem::path path);
  ~HeldFolder();
  HeldFolder(const HeldFolder&) = delete;
  HeldFolder& operator=(const HeldFolder&) = delete;

  // False when the folder has been removed or renamed, and when another folder has taken its path.
  bool in_place() const;

 private:
  std::filesystem::path path_;
  int fd_;
};

}  // namespace tapeformer
