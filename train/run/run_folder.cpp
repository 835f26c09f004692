#include "train/run/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <system_error>
#include <thread>

#include "core/error.h"
#include "core/text/shell_word.h"
#include "train/run/checkpoint_store.h"
#include "train/run/disk.h"

namespace tapeformer {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kStepPrefix = "step-";
constexpr std::size_t kStepDigits = 6;

// The absolute path, without "." and ".." and without a slash at the end, so that parent_path() is the parent.
fs::path plain(const fs::path& path) {
  std::error_code error;
  fs::path absolute = fs::weakly_canonical(path, error);
  return error ? path : absolute;
}

// The name of config.toml while the run is being made. It is renamed when everything else is written.
fs::path unfinished_config(const RunFolder& run) { return run.root / "config.toml.unfinished"; }

// Returns whether a process is making a run here, or was killed while it did.
bool is_unfinished(const RunFolder& run) { return is_there(unfinished_config(run)) && !is_there(run.config()); }

// Throws Error if the folder has a file that not every run has, and that is not of the run to be made: the run would
// read it as its own, or draw its page in place of another.
void require_no_foreign_files(const RunFolder& run) {
  for (const fs::path& path :
       {run.target_tokenizer(), run.tokenizer_config(), run.labels(), run.base(), run.machine(), run.comparison()})
    check(!is_there(path), path.string(),
          " is there already, and the run would read it as its own: give another --out");
  check(!is_there(run.report()), run.report().string(),
        " is there already, and the run would replace it: give another --out");
}

}  // namespace

std::string RunFolder::name() const {
  const fs::path path = fs::absolute(root).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

fs::path RunFolder::staging(std::int64_t step) const {
  return checkpoints() / str_cat(".", checkpoint_name(step), ".partial");
}

fs::path RunFolder::checkpoint(std::int64_t step) const { return checkpoints() / checkpoint_name(step); }

std::string checkpoint_name(std::int64_t step) {
  std::string digits = std::to_string(step);
  digits.insert(0, kStepDigits - std::min(digits.size(), kStepDigits), '0');
  return std::string(kStepPrefix) + digits;
}

std::optional<std::int64_t> checkpoint_step(std::string_view name) {
  if (!name.starts_with(kStepPrefix)) return std::nullopt;
  std::int64_t step = 0;
  std::from_chars(name.data() + kStepPrefix.size(), name.data() + name.size(), step);
  if (step < 0 || checkpoint_name(step) != name) return std::nullopt;
  return step;
}

void require_no_run(const fs::path& root) {
  const RunFolder run{root};
  check(!is_there(root) || is_folder(root), root.string(), " is a file, expected a folder for the run");
  if (is_unfinished(run)) return;
  check(!is_there(run.config()) && !is_there(run.metrics()) && !is_there(run.checkpoints()), root.string(),
        " already holds a run: go on with --resume ", shell_word(root.string()), ", or give another --out");
  require_no_foreign_files(run);
}

RunFolder create_run(const fs::path& root, std::string_view config_toml, const RunTokenizers& tokenizers,
                     const std::function<void(const RunFolder&)>& prepare) {
  require_no_run(root);
  const RunFolder run{root};
  const bool created = make_folder(root);
  const RunLock lock(run);
  require_no_run(root);  // checked again, now that no other process can make a run here
  check(is_unfinished(run) || !is_there(run.tokenizer()) || read_file(run.tokenizer()) == tokenizers.source,
        run.tokenizer().string(), " is there already, and is another tokenizer than the run's: give another --out");
  try {
    if (is_unfinished(run)) {
      for (const fs::path& path : {run.target_tokenizer(), run.tokenizer_config(), run.labels(), run.base(),
                                   run.metrics(), run.machine(), run.comparison(), run.checkpoints()})
        remove_path(path);
    }
    write_file_atomically(unfinished_config(run), config_toml);
    write_file_atomically(run.tokenizer(), tokenizers.source);
    if (!tokenizers.target.empty()) write_file_atomically(run.target_tokenizer(), tokenizers.target);
    if (!tokenizers.chat.empty()) write_file_atomically(run.tokenizer_config(), tokenizers.chat);
    if (!tokenizers.labels.empty()) write_file_atomically(run.labels(), tokenizers.labels);
    if (prepare) prepare(run);
    rename_path(unfinished_config(run), run.config());
    sync_to_disk(run.root);
    sync_to_disk(plain(root).parent_path());
  } catch (...) {
    std::error_code error;
    if (created) fs::remove_all(root, error);
    throw;
  }
  return run;
}

RunReference find_run(const fs::path& path) {
  check(is_there(path), path.string(), ": no such run or checkpoint");
  const fs::path named = plain(path), folder = named.parent_path();
  const RunFolder run{folder.parent_path()};
  if (folder.filename() == "checkpoints" && is_there(run.config())) {
    if (named == run.latest() || named == run.best()) {
      const auto step = named == run.latest() ? latest_step(run) : best_step(run);
      check(step.has_value(), path.string(), " names no checkpoint of the run");
      return {run, step};
    }
    if (named == run.average()) return {run, std::nullopt, true};
    if (const auto step = checkpoint_step(named.filename().string())) return {run, step};
  }
  check(is_there(RunFolder{path}.config()), path.string(), " is not a run: it has no config.toml");
  return {RunFolder{path}, std::nullopt};
}

RunLock::RunLock(const RunFolder& run) : fd_(::open(run.root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  check(fd_ >= 0, "cannot open ", run.root.string(), ": ", std::generic_category().message(errno));
  // is_in_training() of another process may hold a lock for a moment, a training holds it for longer.
  constexpr int kTries = 20;
  constexpr std::chrono::milliseconds kPause(10);
  for (int i = 0; i < kTries; ++i) {
    if (i > 0) std::this_thread::sleep_for(kPause);
    // Other errors mean that the file system has no locks: the run is trained without one.
    if (::flock(fd_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  }
  ::close(fd_);
  fail(run.root.string(), ": another process is training this run");
}

bool is_in_training(const RunFolder& run) {
  const int fd = ::open(run.root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool locked = ::flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(fd);
  return locked;
}

RunLock::~RunLock() { ::close(fd_); }

}  // namespace tapeformer
