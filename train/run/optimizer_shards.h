// The optimizer's state in a checkpoint's folder: one file, or one for each rank that trained.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "nn/optim/optimizer.h"

namespace tapeformer {

// Returns the name of a rank's file: "optimizer.safetensors" for a single process, else for example
// "optimizer-00001-of-00004.safetensors".
std::string optimizer_file(int rank, int ranks);

// Reads the files as one state: a tensor PREFIX.NAME is the state of a whole parameter, and PREFIX.NAME@FIRST is a
// one-dimensional range of it that begins at the element FIRST.
class OptimizerShards {
 public:
  // Throws Error when there is no file, one is missing, or one is damaged.
  explicit OptimizerShards(const std::filesystem::path& folder);

  // Reads every part of the state of the optimizer of rank `rank` of `ranks`, from whichever file has it. If each file
  // has a whole state of its own, as after ranks that stepped by themselves (train.sync_every), it is read from the
  // file of `rank`; if there are fewer files than ranks, rank r reads file r modulo their number. Throws Error, and
  // changes nothing, when a part is missing or does not fit.
  void load(Optimizer& optimizer, int rank, int ranks) const;

  // Returns whether the files have a tensor of this name, whole or in ranges.
  bool contains(std::string_view name) const;
  // Reads these tensors of whole parameters. Throws Error, and changes nothing, when a part is missing or does not fit.
  void read(const NamedTensors& places) const { read_parts(places, 0); }

 private:
  void check_kinds(const NamedTensors& places) const;
  void read_parts(const NamedTensors& places, int rank) const;

  std::vector<SafetensorsFile> files_;
};

}  // namespace tapeformer
