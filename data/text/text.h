// Text files: found by name, and read whole.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/text/text_notes.h"

namespace tapeformer {

// The whole text of a file, decompressed by its name and without a byte order mark. Adds what is odd about it to
// `notes`. Throws Error as open_bytes() does, and for a file without text.
std::string read_text_file(const std::filesystem::path& path, TextNotes& notes);
// The same, for a caller who does not ask what is odd.
std::string read_text_file(const std::filesystem::path& path);

// The files that the inputs name, in the order of the inputs, each file once. An input is a file, a folder (every file
// below it whose path has no name that begins with '.'), a glob pattern with * ? [..], or "-" for standard input, which
// is kept as it is. Within one input the files are sorted by the bytes of their paths, for any locale. Throws Error for
// an input that names no file.
std::vector<std::filesystem::path> expand_inputs(std::span<const std::string> inputs);

}  // namespace tapeformer
