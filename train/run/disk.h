// What the system must have on disk, moved or removed, before the next step of a protocol.
#pragma once

#include <filesystem>

#include "core/files.h"

namespace tapeformer {

// Returns when the bytes of a file, or the names in a folder, are on disk. Throws Error.
void sync_to_disk(const std::filesystem::path& path);

// rename(2). Throws Error.
void rename_path(const std::filesystem::path& from, const std::filesystem::path& to);

// Removes a file or a whole folder, if it is there. Throws Error.
void remove_path(const std::filesystem::path& path);

}  // namespace tapeformer
