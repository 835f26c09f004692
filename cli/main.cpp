// tapeformer: trains transformers on CPU. stdout has results, stderr progress and messages; the exit code is 1 for a
// failure, 2 for wrong usage or configuration.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <iostream>
#include <new>
#include <optional>
#include <span>
#include <system_error>
#include <thread>

#include "autograd/kernels/gemm/gemm.h"
#include "cli/commands/commands.h"
#include "cli/options/parser.h"
#include "cli/options/usage.h"
#include "cli/terminal/messages.h"
#include "cli/terminal/progress_line.h"
#include "cli/terminal/standard_input.h"
#include "cli/terminal/stop_signal.h"
#include "cli/terminal/terminal.h"
#include "core/error.h"
#include "core/parallel.h"
#include "core/text/visible_text.h"
#include "train/distributed/launch.h"

namespace tapeformer::cli {
namespace {

// If the caller has closed descriptor 0, 1 or 2, the next file to be opened would get its number, and messages would be
// written into that file. So this function opens a descriptor in its place that fails as the closed one does: standard
// input cannot be read, the others cannot be written.
void open_standard_descriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // takes the lowest free number
  }
}

// Whether the command, the first word that is not an option, is train.
bool asks_to_train(std::span<char*> words) {
  const auto command =
      std::ranges::find_if(words.subspan(1), [](std::string_view word) { return !word.starts_with('-'); });
  return command != words.end() && *command == std::string_view("train");
}

void warn_of_slow_blas() {
  if (kernels::blas_uses_openmp()) return;
  log_warning(
      "{} starts threads beside those of the training loop, which makes it two to three times slower: install "
      "libopenblas-openmp-dev",
      kernels::blas_description());
}

// Prints an error on one line, and without control characters, as it may quote what the user wrote.
void print_error(std::string message) {
  // An error that is the same on every rank should be printed only by rank 0. So the others wait: when rank 0 exits,
  // mpirun ends them within about a second.
  if (launched_rank().value_or(0) > 0) std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  std::ranges::replace_if(
      message, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  std::cerr.clear();                        // an earlier message may have failed, if the disk of the log was full
  std::cout.exceptions(std::ios::goodbit);  // so that writing the message can flush what is left of a result
  ProgressLine::clear_visible();
  std::cerr << "tapeformer: " << rank_prefix() << printable_text(shortened(message)) << '\n';
}

// While an object lives, writing a result throws std::ios::failure if it fails. The object must not live until the end
// of the process, when standard output is flushed once more and nothing would catch the exception.
struct RequiredOutput {
  RequiredOutput() { std::cout.exceptions(std::ios::badbit); }
  ~RequiredOutput() { std::cout.exceptions(std::ios::goodbit); }
  RequiredOutput(const RequiredOutput&) = delete;
  RequiredOutput& operator=(const RequiredOutput&) = delete;
};

// The commands that a new user needs first.
constexpr const char* kFirstCommands =
    "tapeformer: expected a command (tapeformer --help lists all). To begin with:\n"
    "  tapeformer train --data.text my.txt --out RUN   train a small model on your text, save it in the folder RUN\n"
    "  tapeformer generate RUN --prompt \"Once\"         let the model continue a text\n"
    "  tapeformer eval RUN --text other.txt            measure how well it predicts another text\n";

int run(int argc, char** argv) {
  if (argc == 1) {
    std::cerr << kFirstCommands;
    return 2;
  }
  const RequiredOutput required;
  const StandardInput input;
  if (const auto threads = threads_of_environment()) set_thread_count(*threads);
  try {
    Command program{
        .name = "tapeformer",
        .help = "Trains transformers on CPU, from a text file to a trained, resumable, evaluated, generating model.",
        .commands = all_commands()};
    if (const Command* command = parse_command_line(program, TAPEFORMER_VERSION, argc, argv)) command->run();
    std::cout.flush();
    return 0;
  } catch (const std::ios::failure&) {
    print_error(str_cat("cannot write to standard output: ", std::generic_category().message(errno)));
    return 1;
  } catch (const UsageError& error) {
    print_error(error.what());
    return 2;
  } catch (const std::bad_alloc&) {
    print_error("out of memory");
    return 1;
  } catch (const std::exception& error) {
    print_error(error.what());
    return 1;
  }
}

}  // namespace
}  // namespace tapeformer::cli

int main(int argc, char** argv) {
  // This comes first, so that a signal at any later moment lets the training save its work.
  std::optional<tapeformer::StopSignal> stop;
  if (tapeformer::cli::asks_to_train({argv, static_cast<std::size_t>(argc)})) stop.emplace();
  tapeformer::cli::open_standard_descriptors();
  std::signal(SIGCHLD, SIG_DFL);  // where the caller ignored it, the trainings of a study would have no exit codes
  std::signal(SIGXFSZ, SIG_IGN);  // with ulimit -f, the write fails with an error instead of a signal
  tapeformer::set_up_log();
  tapeformer::cli::warn_of_slow_blas();
  return tapeformer::cli::run(argc, argv);
}
