#include "tests/cli/sandbox.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <sstream>
#include <utility>

namespace fs = std::filesystem;

namespace {

constexpr const char* kTinyConfig = R"([model]
layers = 2
heads = 2
dim = 32
context = 16
dropout = 0.1
[tokenizer]
kind = "char"
[data]
text = "text.txt"
[optimizer]
lr = 1e-2
[schedule]
warmup = 5
total = 1000
[train]
steps = 60
batch = 8
accumulate = 2
log_every = 1
threads = 1
[eval]
every = 5
batches = 4
[checkpoint]
every = 4
keep = 3
)";

constexpr const char* kTinyTranslationConfig = R"([model]
type = "transformer"
layers = 1
heads = 2
dim = 32
context = 16
dropout = 0.1
norm = "pre"
[tokenizer]
kind = "char"
[data]
pairs = "pairs.tsv"
[optimizer]
lr = 5e-3
[schedule]
warmup = 5
[train]
steps = 40
batch_tokens = 96
accumulate = 2
label_smoothing = 0.1
log_every = 1
threads = 1
[eval]
every = 8
bleu_every = 0
[checkpoint]
every = 4
keep = 3
average = 2
)";

// Standard input, output or error of the child becomes a file.
void redirect(int fd, const fs::path& path, int flags) {
  const int file = ::open(path.c_str(), flags, 0600);
  if (file < 0 || ::dup2(file, fd) < 0) ::_exit(126);
  ::close(file);
}

}  // namespace

Process::Process(const fs::path& folder, const std::vector<std::string>& arguments, std::string_view input) {
  static std::atomic<int> count = 0;
  const std::string name = ".process-" + std::to_string(count++);
  const fs::path in = folder / (name + ".in");
  out_ = folder / (name + ".out");
  err_ = folder / (name + ".err");
  std::ofstream(in, std::ios::binary) << input;
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const std::string cache = (folder / ".cache").string();

  pid_ = ::fork();
  REQUIRE(pid_ >= 0);
  if (pid_ > 0) return;
  ::setenv("TAPEFORMER_CACHE", cache.c_str(), 1);
  redirect(STDIN_FILENO, in, O_RDONLY);
  redirect(STDOUT_FILENO, out_, O_WRONLY | O_CREAT | O_TRUNC);
  redirect(STDERR_FILENO, err_, O_WRONLY | O_CREAT | O_TRUNC);
  if (::chdir(folder.c_str()) == 0) ::execv(argv[0], argv.data());
  ::_exit(127);
}

Process::~Process() {
  send(SIGKILL);
  reap(true);
}

void Process::reap(bool block) {
  if (pid_ < 0) return;
  rusage usage{};
  const int reaped = ::wait4(pid_, &status_, block ? 0 : WNOHANG, &usage);
  if (reaped == 0) return;
  pid_ = -1;
  peak_bytes_ = std::int64_t{usage.ru_maxrss} * 1024;
}

bool Process::running() {
  reap(false);
  return pid_ >= 0;
}

void Process::send(int signal) {
  if (running()) ::kill(pid_, signal);
}

Outcome Process::wait() {
  reap(true);
  return {.exit_code = WIFEXITED(status_) ? WEXITSTATUS(status_) : -1,
          .out = read_all(out_),
          .err = read_all(err_),
          .peak_bytes = peak_bytes_};
}

std::unique_ptr<Process> Sandbox::start(std::string_view words, const std::vector<std::string>& more,
                                        std::string_view input) const {
  std::vector<std::string> arguments{TAPEFORMER_BINARY};
  std::istringstream stream{std::string(words)};
  for (std::string word; stream >> word;) arguments.push_back(word);
  arguments.insert(arguments.end(), more.begin(), more.end());
  return std::make_unique<Process>(folder_.path, arguments, input);
}

std::string Sandbox::run_on_terminal(int columns, const std::string& command, std::string_view input,
                                     int columns_later) const {
  const std::string cache = (folder_.path / ".cache").string();
  const std::string path = fs::path(TAPEFORMER_BINARY).parent_path().string() + ":/usr/bin:/bin";
  winsize size{.ws_row = 50, .ws_col = static_cast<unsigned short>(columns), .ws_xpixel = 0, .ws_ypixel = 0};
  int terminal = -1;
  const int child = ::forkpty(&terminal, nullptr, nullptr, &size);
  REQUIRE(child >= 0);
  if (child == 0) {
    ::setenv("TAPEFORMER_CACHE", cache.c_str(), 1);
    ::setenv("PATH", path.c_str(), 1);
    ::setenv("TERM", "xterm-256color", 1);
    ::unsetenv("NO_COLOR");
    if (::chdir(folder_.path.c_str()) == 0) ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  REQUIRE(::write(terminal, input.data(), input.size()) == static_cast<ssize_t>(input.size()));
  std::string shown;
  char bytes[4096];
  for (ssize_t count; (count = ::read(terminal, bytes, sizeof bytes)) > 0;) {  // ends with an error: EIO
    shown.append(bytes, static_cast<std::size_t>(count));
    if (columns_later > 0 && shown.find("\rstep ") != shown.npos) {
      size.ws_col = static_cast<unsigned short>(std::exchange(columns_later, 0));
      REQUIRE(::ioctl(terminal, TIOCSWINSZ, &size) == 0);
    }
  }
  ::close(terminal);
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK_MESSAGE(status == 0, shown);
  for (std::size_t at = 0; (at = shown.find("\r\n", at)) != shown.npos;) shown.erase(at, 1);
  return shown;
}

Outcome Sandbox::run(std::string_view words, const std::vector<std::string>& more, std::string_view input) const {
  return start(words, more, input)->wait();
}

void Sandbox::prepare_tiny_run() const {
  write("text.txt", run("corpus stories --lines 60").out);
  write("tiny.toml", kTinyConfig);
}

void Sandbox::prepare_tiny_translation() const {
  write("pairs.tsv", run("corpus reverse --lines 200").out);
  write("tiny.toml", kTinyTranslationConfig);
}

void Sandbox::train(const std::string& name, std::string_view options) const {
  const Outcome outcome = run("train tiny.toml --out " + name + " " + std::string(options));
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
}

std::vector<nlohmann::ordered_json> Sandbox::metrics(const std::string& run) const {
  std::vector<nlohmann::ordered_json> lines;
  const std::string text = read(run + "/metrics.jsonl");
  std::istringstream stream(text.substr(0, text.rfind('\n') + 1));
  for (std::string line; std::getline(stream, line);) lines.push_back(nlohmann::ordered_json::parse(line));
  return lines;
}

void check_error(const Sandbox& box, int exit_code, const std::string& message, std::string_view words,
                 const std::vector<std::string>& more, std::string_view input) {
  CAPTURE(words);
  CAPTURE(more);
  Outcome outcome = box.run(words, more, input);
  CHECK(outcome.exit_code == exit_code);
  CHECK(outcome.out == "");
  if (outcome.err.starts_with("info: weights: "))
    outcome.err.erase(0, outcome.err.find('\n') + 1);  // no part of the error
  const std::string expected = "tapeformer: " + message;
  if (message.ends_with("…")) {
    const std::size_t length = expected.size() - std::string_view("…").size();
    CHECK(outcome.err.substr(0, length) == expected.substr(0, length));
    CHECK(outcome.err.back() == '\n');
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  } else {
    CHECK(outcome.err == expected + "\n");
  }
  CHECK_FALSE(box.has("new"));
}

std::string result_of(const Sandbox& box, std::string_view words, const std::vector<std::string>& more,
                      std::string_view input) {
  const Outcome outcome = box.run(words, more, input);
  INFO(outcome.err);
  CAPTURE(words);
  REQUIRE(outcome.exit_code == 0);
  return outcome.out;
}

nlohmann::ordered_json json_of(const Sandbox& box, std::string_view words, const std::vector<std::string>& more) {
  const std::string text = result_of(box, words, more);
  CHECK(text.find('\n') == text.size() - 1);
  return nlohmann::ordered_json::parse(text);
}

std::vector<std::string> keys_of(const nlohmann::ordered_json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}
