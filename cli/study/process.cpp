#include "cli/study/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace tapeformer::cli {
namespace {

constexpr int kPollMilliseconds = 200;
constexpr int kCannotRun = 127;  // the exit code that shells use for it

// Becomes the program, or ends with kCannotRun. It runs in the child of a process that may have threads, so it only
// makes system calls.
[[noreturn]] void become(const char* program, char* const* arguments, int output, int messages) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(messages, STDERR_FILENO);
  ::execv(program, arguments);
  ::_exit(kCannotRun);
}

int open_to_append(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  check(file >= 0, "cannot open ", path.string(), ": ", std::strerror(errno));
  return file;
}

// Returns the text that comes through the pipe until its writer ends.
std::string read_all(int pipe, pid_t child, const std::function<int()>& waiting) {
  std::string text;
  for (;;) {
    pollfd poll{.fd = pipe, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&poll, 1, kPollMilliseconds);
    if (waiting) {
      if (const int signal = waiting(); signal != 0) ::kill(child, signal);
    }
    if (ready <= 0) continue;
    char buffer[4096];
    const ssize_t count = ::read(pipe, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

}  // namespace

ProcessResult run_process(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                          const std::filesystem::path& messages, const std::function<int()>& waiting) {
  std::vector<std::string> words{program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const int message_file = open_to_append(messages);
  int pipe[2];
  check(::pipe2(pipe, O_CLOEXEC) == 0, "pipe: ", std::strerror(errno));
  const pid_t child = ::fork();
  if (child == 0) become(words.front().c_str(), pointers.data(), pipe[1], message_file);
  ::close(pipe[1]);
  ::close(message_file);
  ProcessResult result;
  if (child > 0) result.output = read_all(pipe[0], child, waiting);
  ::close(pipe[0]);
  check(child > 0, "cannot start ", program.string(), ": ", std::strerror(errno));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  check(result.exit_code != kCannotRun, "cannot run ", program.string());
  return result;
}

std::filesystem::path this_program() { return std::filesystem::read_symlink("/proc/self/exe"); }

}  // namespace tapeformer::cli
