// Finds text files by name, and reads them whole.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/text/text_notes.h"

namespace tapeformer {

// Reads the whole text of a file, decompressed according to its name and without a byte order mark. Adds its problems
// to `notes`. Throws Error as open_bytes() does, and for a file without text or with the byte order mark of UTF-16.
std::string read_text_file(const std::filesystem::path& path, TextNotes& notes);
// Reads the text without adding notes.
std::string read_text_file(const std::filesystem::path& path);

// The files that the inputs name, in the order of the inputs, each file once, also if links lead to it. An input is a
// file, a folder (all files below it, except those with a name in their path that begins with '.'), a glob pattern with
// * ? [..], or "-" for standard input, which is kept unchanged. Within one input the files are sorted by the bytes of
// their paths, independent of the locale. Throws Error for an input that names no file.
std::vector<std::filesystem::path> expand_inputs(std::span<const std::string> inputs);

}  // namespace tapeformer
