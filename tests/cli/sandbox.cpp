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

#include "tests/cli/toys.h"

namespace fs = std::filesystem;

namespace {

// Standard input, output or error of the child becomes a file.
void redirect(int fd, const fs::path& path, int flags) {
  const int file = ::open(path.c_str(), flags, 0600);
  if (file < 0 || ::dup2(file, fd) < 0) ::_exit(126);
  ::close(file);
}

// The file of the cache in which commands keep the speed of the machine, and what was in it when a sandbox ended.
constexpr const char* kMachineFile = ".cache/machine.json";
std::string known_machine;

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

Sandbox::Sandbox() {
  if (!known_machine.empty()) write(kMachineFile, known_machine);
}

Sandbox::~Sandbox() {
  if (has(kMachineFile)) known_machine = read(kMachineFile);
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

Outcome Sandbox::succeed(std::string_view words, const std::vector<std::string>& more, std::string_view input) const {
  Outcome outcome = run(words, more, input);
  CAPTURE(words);
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  return outcome;
}

void Sandbox::prepare_toy(const std::string& name) const {
  const ToyConfig& toy = find_toy(name);
  write("tiny.toml", toy.toml());
  if (toy.data == "text") write("text.txt", result_of(*this, "corpus stories --lines 60"));
  if (toy.data == "pairs") write("pairs.tsv", result_of(*this, "corpus reverse --lines 200"));
  if (toy.data == "conversations") write("chat.jsonl", result_of(*this, "corpus instructions --lines 80"));
  if (toy.data.starts_with("labels")) {
    write("train.tsv", result_of(*this, "corpus stories --labels --lines 40 --seed 2"));
    write("valid.tsv", result_of(*this, "corpus stories --labels --lines 10 --seed 3"));
  }
}

void Sandbox::write_valid() const {
  const std::string text = read("text.txt");
  write("valid.txt", text.substr(static_cast<std::size_t>(static_cast<double>(text.size()) * (1 - 0.1))));
}

void Sandbox::write_sides() const {
  const Sides sides = sides_of(read("pairs.tsv"));
  write("source.txt", sides.source);
  write("target.txt", sides.target);
}

void Sandbox::train(const std::string& name, std::string_view options) const {
  succeed("train tiny.toml --out " + name + " " + std::string(options));
}

std::vector<nlohmann::ordered_json> Sandbox::metrics(const std::string& run) const {
  std::vector<nlohmann::ordered_json> lines;
  const std::string text = read(run + "/metrics.jsonl");
  for (const std::string& line : lines_in(text.substr(0, text.rfind('\n') + 1))) {
    lines.push_back(nlohmann::ordered_json::parse(line));
  }
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
  for (const char* const name : {"new", "new.html"}) CHECK_FALSE(box.has(name));
}

void check_errors(const Sandbox& box, int exit_code, std::initializer_list<FailingCommand> commands) {
  for (const FailingCommand& command : commands) check_error(box, exit_code, command.message, command.words);
}

std::string result_of(const Sandbox& box, std::string_view words, const std::vector<std::string>& more,
                      std::string_view input) {
  return box.succeed(words, more, input).out;
}

nlohmann::ordered_json json_of(const Sandbox& box, std::string_view words, const std::vector<std::string>& more) {
  const std::string text = result_of(box, words, more);
  CHECK(text.find('\n') == text.size() - 1);
  return nlohmann::ordered_json::parse(text);
}

std::vector<std::string> lines_in(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

Sides sides_of(const std::string& pairs) {
  Sides sides;
  for (const std::string& line : lines_in(pairs)) {
    sides.source += line.substr(0, line.find('\t')) + "\n";
    sides.target += line.substr(line.find('\t') + 1) + "\n";
  }
  return sides;
}

std::vector<std::string> keys_of(const nlohmann::ordered_json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}
