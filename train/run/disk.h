// File operations for a run's folder. Each returns when its effect is complete.
#pragma once

#include <filesystem>
#include <functional>

#include "core/files.h"

namespace tapeformer {

// Renames a file or folder, and replaces a file that has the new name. Throws Error.
void rename_path(const std::filesystem::path& from, const std::filesystem::path& to);

// Returns a free name under which a damaged file or folder can be kept: "NAME.damaged", or "NAME.damaged-2" and so on.
std::filesystem::path name_for_damaged(const std::filesystem::path& path);

// Removes a file or a whole folder, if it exists. Throws Error.
void remove_path(const std::filesystem::path& path);

// Makes a folder and those above it, unless they exist. Returns whether it was made. Throws Error.
bool make_folder(const std::filesystem::path& path);

// Makes the folder `path`, which must not exist, with the files that `write` writes into the folder that it is given.
// The folder appears, by a rename, when all its files are on disk. Throws Error, and the exceptions of `write`; then
// nothing is left behind. A process that is killed leaves ".NAME.partial" beside the path, which the next call
// replaces.
void write_folder(const std::filesystem::path& path,
                  const std::function<void(const std::filesystem::path& folder)>& write);

// Holds a folder open, to check whether its path still leads to it.
class HeldFolder {
 public:
  // If the path does not exist, in_place() is false.
  explicit HeldFolder(std::filesystem::path path);
  ~HeldFolder();
  HeldFolder(const HeldFolder&) = delete;
  HeldFolder& operator=(const HeldFolder&) = delete;

  // Returns false when the folder has been removed or renamed, or another folder has taken its path.
  bool in_place() const;

 private:
  std::filesystem::path path_;
  int fd_;
};

}  // namespace tapeformer
