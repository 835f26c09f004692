// The folder of a run: the paths of its files, its creation, and the lock that allows one process to write to it.
//
//   RUN/config.toml            the complete resolved configuration; a folder that has it is a run. While the run is
//                              being made, the file's name is config.toml.unfinished
//   RUN/tokenizer.json
//   RUN/tokenizer-target.json  only where source and target have separate vocabularies
//   RUN/tokenizer_config.json  only of a model of conversations, and of a model that began with the weights of one: its
//                              chat template and special tokens (ChatSettings)
//   RUN/labels.json            only of a model that is fine-tuned on labels: their names, by task if there are several
//   RUN/base.safetensors       only of a model with adapters: the weights that they change, which stay as they are
//   RUN/metrics.jsonl
//   RUN/machine.json           on which machine and with which version it was trained, see train/machine/machine.h
//   RUN/comparison.json        what simple models reach on its validation data (Baselines), if the training measured it
//   RUN/report.html            its curves, which the command `train` redraws as it goes
//   RUN/checkpoints/           see checkpoint_store.h
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tapeformer {

struct RunFolder {
  std::filesystem::path root;

  std::string name() const;  // that of the folder alone: "mine" of runs/mine/, and of "." in it
  std::filesystem::path config() const { return root / "config.toml"; }
  std::filesystem::path tokenizer() const { return root / "tokenizer.json"; }
  std::filesystem::path target_tokenizer() const { return root / "tokenizer-target.json"; }
  std::filesystem::path tokenizer_config() const { return root / "tokenizer_config.json"; }
  std::filesystem::path labels() const { return root / "labels.json"; }
  std::filesystem::path base() const { return root / "base.safetensors"; }
  std::filesystem::path metrics() const { return root / "metrics.jsonl"; }
  std::filesystem::path machine() const { return root / "machine.json"; }
  std::filesystem::path comparison() const { return root / "comparison.json"; }
  std::filesystem::path report() const { return root / "report.html"; }
  std::filesystem::path checkpoints() const { return root / "checkpoints"; }
  std::filesystem::path checkpoint(std::int64_t step) const;  // checkpoints/step-000500
  // Where the files of that checkpoint are written until it is published.
  std::filesystem::path staging(std::int64_t step) const;                    // checkpoints/.step-000500.partial
  std::filesystem::path latest() const { return checkpoints() / "latest"; }  // one line: the newest one's name
  std::filesystem::path best() const { return checkpoints() / "best"; }      // one line: the best one's name
  // The average of the weights (checkpoint.average or train.ema), made at the end.
  std::filesystem::path average() const { return checkpoints() / "average"; }
  std::filesystem::path average_staging() const { return checkpoints() / ".average.partial"; }
};

// Converts a step to "step-000500" and back; nullopt for any other name.
std::string checkpoint_name(std::int64_t step);
std::optional<std::int64_t> checkpoint_step(std::string_view name);

// Throws Error when `root` is a file, contains a run already, or has a file that a run would read as its own though it
// need not have one (tokenizer-target.json, tokenizer_config.json, labels.json, base.safetensors, machine.json,
// comparison.json) or would replace (report.html). Writes nothing; call it before long preparations.
void require_no_run(const std::filesystem::path& root);

// The JSON texts of a run's tokenizers; `target` is empty unless source and target have separate vocabularies. `labels`
// has the names of labels (a list, or several by task), empty unless the model is trained on labels. `chat` is the text
// of tokenizer_config.json, empty unless the model answers in conversations.
struct RunTokenizers {
  std::string source, target, labels = {}, chat = {};
};

// Makes the folder and its parents, and writes the files. `prepare`, if given, writes the run's initial content, such
// as a first checkpoint: config.toml is written after it, so that the folder becomes a run only when it is complete.
// The leftovers of a process that was killed meanwhile are removed first. Throws Error as require_no_run() does, when
// another process is making a run here, when the folder has another tokenizer.json than the run's, and when writing
// fails: then the folder is no run, and is removed if it was created here.
RunFolder create_run(const std::filesystem::path& root, std::string_view config_toml, const RunTokenizers& tokenizers,
                     const std::function<void(const RunFolder&)>& prepare = {});

// What the argument RUN of the command line names: a run's folder, one checkpoint in it (RUN/checkpoints/step-000500,
// or RUN/checkpoints/latest or best), or RUN/checkpoints/average.
struct RunReference {
  RunFolder run;
  std::optional<std::int64_t> step;  // of the checkpoint, if the path names one
  bool average = false;              // the path names the average
};

// Finds what a path names. Throws Error if there is no such run or checkpoint. Only reads, so a training is not
// disturbed.
RunReference find_run(const std::filesystem::path& path);

// Returns whether a process is training the run now.
bool is_in_training(const RunFolder& run);

// The exclusive right to write to a run, held until destruction or the end of the process.
class RunLock {
 public:
  // Throws Error when another process holds it.
  explicit RunLock(const RunFolder& run);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace tapeformer
