// A folder that is gone again when the test ends.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

// Where temporary folders are made: in memory, where there is room and no TMPDIR says otherwise. Tests make many
// checkpoints of a few bytes, and a training waits for each of their files until it is on the disk.
inline std::filesystem::path temp_root() {
  const std::filesystem::path memory = "/dev/shm";
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(memory, error);
  const bool usable = !error && space.available >= std::uintmax_t{2} << 30 && ::access(memory.c_str(), W_OK) == 0;
  return usable && !std::getenv("TMPDIR") ? memory : std::filesystem::temp_directory_path();
}

struct TempFolder {
  std::filesystem::path path;

  TempFolder() {
    std::string name = (temp_root() / "tapeformer-test-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~TempFolder() { std::filesystem::remove_all(path); }

  // Writes a file below the folder, with the folders it needs.
  std::filesystem::path write(const std::string& name, std::string_view text) const {
    std::filesystem::create_directories((path / name).parent_path());
    std::ofstream(path / name, std::ios::binary) << text;
    return path / name;
  }
  int entries() const { return static_cast<int>(std::distance(std::filesystem::directory_iterator(path), {})); }
};

inline std::string read_all(const std::filesystem::path& path) {
  const std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;  // copies blocks, also where the tests are not optimised
  bytes << in.rdbuf();
  return bytes.str();
}
