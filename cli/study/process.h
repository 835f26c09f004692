// Runs another program and reads what it prints.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace tapeformer::cli {

struct ProcessResult {
  int exit_code = 0;     // 128 + the signal, if one ended the process
  std::string output{};  // what it wrote to standard output
};

// Runs `program` with these arguments until it ends. Its standard error is appended to the file `messages`. `waiting`
// is called several times a second; a signal that it returns is sent to the process (0: none). The process is in a
// group of its own, so a Ctrl-C on the terminal reaches it only in this way; if this process is killed, it receives
// SIGTERM. Throws Error if the program cannot be run.
ProcessResult run_process(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                          const std::filesystem::path& messages, const std::function<int()>& waiting = {});

// The file of the program that runs.
std::filesystem::path this_program();

}  // namespace tapeformer::cli
