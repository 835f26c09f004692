// Runs the real command in a folder of its own, as a user would.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tests/temp_folder.h"

// A command that has ended.
struct Outcome {
  int exit_code = -1;  // -1 when a signal ended it
  std::string out, err;
  std::int64_t peak_bytes = 0;  // of the memory that it had resident

  nlohmann::ordered_json json() const { return nlohmann::ordered_json::parse(out); }
  bool tells(std::string_view text) const { return err.find(text) != err.npos; }
};

// A command that may still be running: killed and waited for in the end.
class Process {
 public:
  // `arguments` begin with the program. Files for the outputs appear in `folder`, which is the working folder too.
  Process(const std::filesystem::path& folder, const std::vector<std::string>& arguments, std::string_view input);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  bool running();
  void send(int signal);
  Outcome wait();
  // Standard output so far.
  std::string out() const { return read_all(out_); }

 private:
  void reap(bool block);

  std::filesystem::path out_, err_;
  int pid_ = -1, status_ = 0;
  std::int64_t peak_bytes_ = 0;
};

// The folder is the working folder of all its commands, so that paths are short; the cache of token files is in it.
// What the commands of one sandbox measured of the machine is in the cache of the next, so that it is measured once.
class Sandbox {
 public:
  Sandbox();
  ~Sandbox();
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;
  // With a toy in it, as by prepare_toy().
  explicit Sandbox(const std::string& toy) : Sandbox() { prepare_toy(toy); }

  // The command's words apart by spaces, and after them `more` for what has spaces in it.
  Outcome run(std::string_view words, const std::vector<std::string>& more = {}, std::string_view input = {}) const;
  // The same of a command that must succeed.
  Outcome succeed(std::string_view words, const std::vector<std::string>& more = {}, std::string_view input = {}) const;
  std::unique_ptr<Process> start(std::string_view words, const std::vector<std::string>& more = {},
                                 std::string_view input = {}) const;

  // A shell's command line on a terminal of its own, so many columns wide, that gets `input` as if it was typed;
  // returns all that the terminal was sent. The exit code must be 0. When the first line of a training has come, the
  // terminal gets `columns_later` (0: it stays as it is).
  std::string run_on_terminal(int columns, const std::string& command, std::string_view input = {},
                              int columns_later = 0) const;

  // tiny.toml, the configuration of a toy (tests/cli/toys.h), and the file that it trains on: text.txt, some generated
  // stories; pairs.tsv, some words and their reverse; train.tsv, stories with labels, and valid.tsv beside it;
  // or chat.jsonl, conversations.
  void prepare_toy(const std::string& name) const;
  // valid.txt, the part of text.txt by which a training on it validates.
  void write_valid() const;
  // source.txt and target.txt, the two sides of pairs.tsv.
  void write_sides() const;
  // `tapeformer train tiny.toml --out NAME` with options; fails the test when that fails.
  void train(const std::string& name, std::string_view options = {}) const;

  std::filesystem::path operator/(const std::string& name) const { return folder_.path / name; }
  bool has(const std::string& name) const { return std::filesystem::exists(folder_.path / name); }
  std::string read(const std::string& name) const { return read_all(folder_.path / name); }
  void write(const std::string& name, std::string_view text) const { folder_.write(name, text); }
  // metrics.jsonl of a run; a line that is still being written is left out.
  std::vector<nlohmann::ordered_json> metrics(const std::string& run) const;

 private:
  TempFolder folder_;
};

// Exit codes.
inline constexpr int kFailure = 1, kUsage = 2;

// Expects that the command fails with `message` after "tapeformer: " as the whole of its standard error. What the
// message goes on with may be cut off by "…". Nothing may be left under the names "new" and "new.html", where these
// tests put runs and files.
void check_error(const Sandbox& box, int exit_code, const std::string& message, std::string_view words,
                 const std::vector<std::string>& more = {}, std::string_view input = {});

// The words of a command that fails, and its message.
struct FailingCommand {
  std::string_view words;
  std::string message;
};
// check_error() for each of them.
void check_errors(const Sandbox& box, int exit_code, std::initializer_list<FailingCommand> commands);

// Standard output of a command that must succeed, and of one that must print a JSON object on one line.
std::string result_of(const Sandbox& box, std::string_view words, const std::vector<std::string>& more = {},
                      std::string_view input = {});
nlohmann::ordered_json json_of(const Sandbox& box, std::string_view words, const std::vector<std::string>& more = {});

std::vector<std::string> lines_in(const std::string& text);

// The two sides of lines "source tab target", a line each.
struct Sides {
  std::string source, target;
};
Sides sides_of(const std::string& pairs);

std::vector<std::string> keys_of(const nlohmann::ordered_json& object);
