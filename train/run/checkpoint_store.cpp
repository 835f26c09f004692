#include "train/run/checkpoint_store.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"
#include "core/json.h"
#include "train/run/disk.h"

namespace tapeformer {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

constexpr int kFormat = 1;
constexpr const char* kStateFile = "state.json";
constexpr std::string_view kPartial = ".partial", kReplaced = ".replaced", kAverage = "average";

fs::path hidden(const RunFolder& run, std::string_view name, std::string_view suffix) {
  return run.checkpoints() / str_cat(".", name, suffix);
}

// The name of the checkpoint or average that a hidden folder ".NAME<suffix>" belongs to; nullopt for other folders.
std::optional<std::string> hidden_name(std::string_view name, std::string_view suffix) {
  if (!name.starts_with('.') || !name.ends_with(suffix) || name.size() <= suffix.size()) return std::nullopt;
  const std::string_view base = name.substr(1, name.size() - 1 - suffix.size());
  return base == kAverage || checkpoint_step(base) ? std::optional(std::string(base)) : std::nullopt;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  check(!error || error == std::errc::no_such_file_or_directory, "cannot read ", folder.string(), ": ",
        error.message());
  std::sort(names.begin(), names.end());
  return names;
}

// Returns the size and the checksum of a file.
Json describe_file(const fs::path& path) {
  const InputFile file(path);
  return {{"bytes", file.size()}, {"xxh3", hash_file(file)}};
}

// Renames the folder first, then removes it: a kill in between leaves no incomplete folder under a checkpoint's name.
void remove_whole(const RunFolder& run, std::string_view name) {
  const fs::path doomed = hidden(run, name, kPartial);
  remove_path(doomed);
  rename_path(run.checkpoints() / name, doomed);
  remove_path(doomed);
}

void remove_checkpoint(const RunFolder& run, std::int64_t step) { remove_whole(run, checkpoint_name(step)); }

// Returns the step that the file `latest` or `best` names, whether or not that checkpoint exists.
std::optional<std::int64_t> read_step_name(const fs::path& path) {
  if (!is_file(path)) return std::nullopt;
  const std::string text = read_file(path);
  return checkpoint_step(std::string_view(text).substr(0, text.find('\n')));
}

// Returns the step that the file names; nullopt if that checkpoint does not exist.
std::optional<std::int64_t> named_checkpoint(const RunFolder& run, const fs::path& path) {
  for (auto step = read_step_name(path);;) {
    if (!step || is_folder(run.checkpoint(*step))) return step;
    const auto again = read_step_name(path);  // the training may have published another checkpoint meanwhile
    if (again == step) return std::nullopt;
    step = again;
  }
}

void write_step_name(const fs::path& path, std::int64_t step) {
  write_file_atomically(path, checkpoint_name(step) + "\n");
}

// Syncs every file of the staging folder to disk, and writes state.json with their checksums last.
void seal(const fs::path& staging, std::int64_t step, const Json& state) {
  Json sealed = {{"format", kFormat}, {"step", step}};
  for (const auto& [key, value] : state.items()) {
    check(!sealed.contains(key) && key != "files" && key != "xxh3", "checkpoint state: the field ", key,
          " is reserved");
    sealed[key] = value;
  }
  sealed["files"] = Json::object();
  for (const std::string& name : names_in(staging)) {
    sync_to_disk(staging / name);
    sealed["files"][name] = describe_file(staging / name);
  }
  seal_json(sealed);
  write_file_atomically(staging / kStateFile, dump_json(sealed, 2) + "\n");
  sync_to_disk(staging);
}

// Returns the fields of a checkpoint's state.json; none if it is damaged, which whoever uses it will report.
Json state_unless_damaged(const RunFolder& run, std::int64_t step) {
  try {
    return read_checkpoint_state(run.checkpoint(step));
  } catch (const IoError&) {
    throw;
  } catch (const std::exception&) {
    return Json::object();
  }
}

// Returns the steps of the best evaluations that a checkpoint knows: a run that goes on from it needs their weights.
std::vector<std::int64_t> bests_of(const RunFolder& run, std::int64_t step) {
  const Json state = state_unless_damaged(run, step);
  std::vector<std::int64_t> steps{state.value("best_step", std::int64_t{0}),
                                  state.value("scheduled_best", Json::object()).value("step", std::int64_t{0})};
  std::erase(steps, 0);  // there was no evaluation; a run that began with other weights has a checkpoint of step 0
  return steps;
}

// Does one search for newest_valid_checkpoint(). Throws CheckpointGone when a checkpoint that it reads is removed or
// replaced meanwhile.
NewestCheckpoint search_newest(const RunFolder& run) {
  NewestCheckpoint newest;
  const auto latest = read_step_name(run.latest());
  const std::vector<std::int64_t> steps = list_checkpoints(run);
  if (latest && !is_folder(run.checkpoint(*latest))) {
    if (read_step_name(run.latest()) != latest) throw CheckpointGone("`latest` has changed");
    newest.skipped.push_back(run.checkpoint(*latest).string() + ": no such folder, yet `latest` names it");
  }
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    const fs::path folder = run.checkpoint(*step);
    const auto reason = verify_beside_training(folder);
    if (!reason) {
      newest.step = *step;
      break;
    }
    newest.skipped.push_back(str_cat(folder.string(), ": ", *reason));
  }
  return newest;
}

}  // namespace

StagedCheckpoint::StagedCheckpoint(const RunFolder& run, std::int64_t step, const Json& state,
                                   const std::function<void(const fs::path& staging)>& write_files)
    : StagedCheckpoint(run, checkpoint_name(step), step, state, write_files) {}

std::unique_ptr<StagedCheckpoint> StagedCheckpoint::average(
    const RunFolder& run, std::int64_t step, const Json& state,
    const std::function<void(const fs::path& staging)>& write_files) {
  return std::unique_ptr<StagedCheckpoint>(new StagedCheckpoint(run, std::string(kAverage), step, state, write_files));
}

StagedCheckpoint::StagedCheckpoint(const RunFolder& run, std::string name, std::int64_t step, const Json& state,
                                   const std::function<void(const fs::path& staging)>& write_files)
    : run_(run),
      name_(std::move(name)),
      step_(step),
      state_(std::make_unique<Json>(state)),
      staging_(hidden(run, name_, kPartial)) {
  remove_path(staging_);
  std::error_code error;
  fs::create_directory(run_.checkpoints(), error);
  if (!error) fs::create_directory(staging_, error);
  check(!error, "cannot make the folder ", staging_.string(), ": ", error.message());
  try {
    write_files(staging_);
  } catch (...) {
    fs::remove_all(staging_, error);
    throw;
  }
}

StagedCheckpoint::~StagedCheckpoint() {
  std::error_code error;
  fs::remove_all(staging_, error);
}

void StagedCheckpoint::add_fields(const Json& fields) { state_->update(fields); }

void StagedCheckpoint::publish() {
  const fs::path published = run_.checkpoints() / name_, replaced = hidden(run_, name_, kReplaced);
  seal(staging_, step_, *state_);
  if (is_folder(published)) {
    remove_path(replaced);
    rename_path(published, replaced);  // if killed after this line, remove_leftovers() moves it back
  }
  try {
    rename_path(staging_, published);
  } catch (...) {
    std::error_code error;
    if (is_folder(replaced)) fs::rename(replaced, published, error);
    throw;
  }
  sync_to_disk(run_.checkpoints());
  remove_path(replaced);
  sync_to_disk(run_.root);  // the first checkpoint creates the folder `checkpoints`
  if (name_ != kAverage) write_step_name(run_.latest(), step_);
}

Json read_checkpoint_state(const fs::path& checkpoint) {
  const fs::path path = checkpoint / kStateFile;
  Json state = parse_json<Json>(read_file(path), path.string() + " is damaged: ");
  check(state.is_object() && state.contains("format"), path.string(),
        " is damaged: expected a JSON object with a format");
  check(state["format"] == kFormat, path.string(), ": expected format ", kFormat, ", got ", dump_json(state["format"]));
  check(unseal_json(state), path.string(), " is damaged: its checksum differs");
  return state;
}

std::optional<std::string> verify_checkpoint(const fs::path& checkpoint) try {
  const Json state = read_checkpoint_state(checkpoint);
  const std::string name = checkpoint.filename().string();
  check(name == kAverage || checkpoint_step(name) == state.at("step").get<std::int64_t>(), name, ": holds step ",
        dump_json(state.at("step")));
  for (const auto& [file, expected] : state.at("files").items()) {
    const Json found = describe_file(checkpoint / file);
    check(found["bytes"] == expected.at("bytes"), file, ": expected ", dump_json(expected.at("bytes")), " bytes, got ",
          dump_json(found["bytes"]));
    check(found == expected, file, " is damaged: its checksum differs");
  }
  return std::nullopt;
} catch (const IoError&) {
  throw;
} catch (const std::exception& error) {  // Error, or JSON without the fields above
  return error.what();
}

std::optional<std::string> verify_beside_training(const fs::path& checkpoint) {
  const HeldFolder held(checkpoint);
  const auto reason = while_in_place(checkpoint, [&] { return verify_checkpoint(checkpoint); });
  if (reason && !held.in_place()) throw CheckpointGone(str_cat(checkpoint.string(), ": ", *reason));
  return reason;
}

std::vector<std::int64_t> list_checkpoints(const RunFolder& run) {
  std::vector<std::int64_t> steps;
  for (const std::string& name : names_in(run.checkpoints())) {
    if (const auto step = checkpoint_step(name)) steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

std::vector<std::int64_t> list_regular_checkpoints(const RunFolder& run) {
  std::vector<std::int64_t> steps = list_checkpoints(run);
  std::erase_if(steps, [&](std::int64_t step) { return !state_unless_damaged(run, step).value("regular", true); });
  return steps;
}

NewestCheckpoint newest_valid_checkpoint(const RunFolder& run) {
  return retry_while_gone([&] { return search_newest(run); });
}

std::optional<std::int64_t> latest_step(const RunFolder& run) { return named_checkpoint(run, run.latest()); }
std::optional<std::int64_t> best_step(const RunFolder& run) { return named_checkpoint(run, run.best()); }
bool is_imported(const RunFolder& run) { return latest_step(run) == 0 && !is_there(run.metrics()); }

void mark_best(const RunFolder& run, std::int64_t step) {
  check(is_folder(run.checkpoint(step)), "cannot mark the best: ", run.checkpoint(step).string(), " does not exist");
  write_step_name(run.best(), step);
}

void remove_average(const RunFolder& run) {
  if (is_folder(run.average())) remove_whole(run, kAverage);
}

void prune_checkpoints(const RunFolder& run, std::int64_t keep, std::int64_t average) {
  if (keep == 0) return;
  const std::vector<std::int64_t> steps = list_checkpoints(run);
  std::set<std::int64_t> kept;
  const auto keep_last = [&](const std::vector<std::int64_t>& of, std::int64_t count) {
    kept.insert(of.end() - std::min(count, std::ssize(of)), of.end());
  };
  keep_last(steps, keep);
  if (average > 0) keep_last(list_regular_checkpoints(run), average);
  const std::set<std::int64_t> newest = kept;
  for (const std::int64_t step : newest) {
    for (const std::int64_t best : bests_of(run, step)) kept.insert(best);
  }
  for (const auto& named : {best_step(run), latest_step(run)}) {
    if (named) kept.insert(*named);
  }
  for (const std::int64_t step : steps) {
    if (!kept.contains(step)) remove_checkpoint(run, step);
  }
}

void copy_checkpoint(const RunFolder& from, std::int64_t step, const RunFolder& to) {
  const fs::path folder = from.checkpoint(step);
  const auto reason = verify_checkpoint(folder);
  check(!reason.has_value(), "cannot copy ", folder.string(), ": ", reason.value_or(""));
  Json state = read_checkpoint_state(folder);
  const Json files = state["files"];
  for (const char* sealed : {"format", "step", "files"}) state.erase(sealed);
  StagedCheckpoint(to, step, state, [&](const fs::path& staging) {
    std::error_code error;
    for (const auto& file : files.items()) {
      if (!error) fs::copy_file(folder / file.key(), staging / file.key(), error);
    }
    check(!error, "cannot copy ", folder.string(), ": ", error.message());
  }).publish();
}

void remove_checkpoints_after(const RunFolder& run, std::int64_t step) {
  const auto best = read_step_name(run.best()), latest = read_step_name(run.latest());
  if (best && *best > step) remove_path(run.best());
  if (is_folder(run.checkpoint(step))) {
    if (latest != step) write_step_name(run.latest(), step);
  } else if (latest && *latest > step) {
    remove_path(run.latest());
  }
  for (const std::int64_t other : list_checkpoints(run)) {
    if (other > step) remove_checkpoint(run, other);
  }
}

std::vector<std::string> set_aside_checkpoints_after(const RunFolder& run, std::int64_t step) {
  std::vector<std::string> notes;
  for (const std::int64_t newer : list_checkpoints(run)) {
    if (newer <= step) continue;
    const fs::path from = run.checkpoint(newer);
    const fs::path to = name_for_damaged(from);
    rename_path(from, to);
    notes.push_back(str_cat(from.string(), " is now ", to.string()));
  }
  return notes;
}

void remove_leftovers(const RunFolder& run) {
  remove_abandoned(run.root);
  for (const std::string& name : names_in(run.checkpoints())) {
    const fs::path path = run.checkpoints() / name;
    if (hidden_name(name, kPartial)) remove_path(path);
    const auto replaced = hidden_name(name, kReplaced);
    if (replaced && is_folder(run.checkpoints() / *replaced))
      remove_path(path);
    else if (replaced)
      rename_path(path, run.checkpoints() / *replaced);
  }
  if (is_folder(run.checkpoints())) remove_abandoned(run.checkpoints());
}

}  // namespace tapeformer
