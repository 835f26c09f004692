// The optimizer's state in a checkpoint's folder: one file, or one for each rank that has trained.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "nn/optim/optimizer.h"

namespace tapeformer {

// "optimizer.safetensors" of a process that is alone, else "optimizer-00001-of-00004.safetensors".
std::string optimizer_file(int rank, int ranks);

// The files are read as one state: what one names PREFIX.NAME is a whole parameter, and PREFIX.NAME@FIRST a stretch of
// one, from the element FIRST on, with one axis.
class OptimizerShares {
 public:
  // Throws Error when there is no file, one is missing, or one is damaged.
  explicit OptimizerShares(const std::filesystem::path& folder);

  // Reads every part of the optimizer's state, that of one of `ranks`, from wherever it is. What several files have
  // whole, each its own (the moments of ranks that step by themselves), is read from the one of `rank`, and from those
  // in turn where there are fewer. Throws Error, and changes nothing, when a part is missing or does not fit.
  void load(Optimizer& optimizer, int rank, int ranks) const;

 private:
  void load_parts(const NamedTensors& places, int rank) const;

  std::vector<SafetensorsFile> files_;
};

}  // namespace tapeformer
