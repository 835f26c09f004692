// A study: the same model trained in several variants, from several seeds, to see whether a claim about them is true.
// It is described by a TOML file; configs/studies/ has the studies that come with the program, and docs/studies.md
// explains the keys.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tapeformer::cli {

// Options of `train` as on the command line, with the section: {"--model.norm", "post"}.
using TrainOptions = std::vector<std::string>;

struct StudyVariant {
  std::string name;
  // Variants of one line differ in x alone; the page draws each measure against x.
  std::string line = {};
  std::optional<double> x = {};
  TrainOptions options = {};
};

// A number that is measured of every trained model. Exactly one of `metrics` and `command` is given.
struct StudyMeasure {
  enum class Take { last, mean, least, most };

  std::string name;
  // The place of the number in the lines of metrics.jsonl, or in the JSON that the command prints: keys and indices,
  // separated by slashes ("watch/blocks.0/grad").
  std::string value;
  Take take = Take::last;  // how the numbers of all lines of metrics.jsonl become one
  // A command of this program that prints JSON. In its words, {run} is the run's folder, {folder}/ at the beginning is
  // the folder of the study's file, and {section.key} is the value of the run's option of that name.
  std::vector<std::string> command = {};
  int digits = 4;           // decimals in tables
  bool is_implied = false;  // the validation loss that every study measures: the file does not ask for it
  // Measures of one line differ in x alone; the page draws them against x, with a line for each variant.
  std::string line = {};
  std::optional<double> x = {};
  bool is_metrics() const { return command.empty(); }
};

// A condition that holds if the claim is true: the measure of the variant is lower (or higher) than the other side by
// at least `margin`. The other side is a variant's value, of the same measure or another one, or the number `bound`.
struct StudyCheck {
  std::string variant, measure;
  bool lower = true;
  std::string other_variant;  // empty: `bound` is the other side
  std::string other_measure;
  std::optional<double> bound = {};
  double margin = 0;
};

struct Study {
  std::filesystem::path file;
  std::string name;  // the file's name without .toml
  std::string title, claim, finding = {};
  std::string x_label = "x";
  std::vector<std::int64_t> seeds = {1};
  std::string config = {};  // the base configuration; empty: the defaults
  TrainOptions options = {};
  std::vector<StudyVariant> variants;
  std::vector<StudyMeasure> measures;  // the first one is the validation loss, unless the file says otherwise
  std::vector<StudyCheck> checks;
};

// The folder of the studies that come with the program: configs/studies below the current folder or, if that does not
// exist, below one of the folders that contain the program. Throws Error if there is none.
std::filesystem::path studies_folder();
// The file that is meant by a path, or by the name of a study in studies_folder(). Throws Error if there is none.
std::filesystem::path study_path(const std::string& name);
// Reads a study. Throws UsageError, which names the file and the key, for a file that is no study.
Study load_study(const std::filesystem::path& file);

}  // namespace tapeformer::cli
