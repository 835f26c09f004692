// The command `train` either begins a new run or goes on with an existing one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/steady_clock.h"
#include "train/config/config.h"
#include "train/distributed/communicator.h"

namespace tapeformer::cli {

struct TrainArguments {
  std::string config, out, resume;     // the configuration file; the folder of a new run; the run to go on with
  std::optional<std::string> minutes;  // --minutes of the whole run; a new run is planned for them
  bool discard_newer = false, accept_changes = false;
  double began_at = steady_seconds();  // when the command began
  ConfigOverrides overrides;
};

// How the warning begins that continue_run() gives for another training text, by which a study knows it.
inline constexpr std::string_view kOtherTrainingData = "the training data is another than the run began with";

// Begins a run in the folder `out`. All ranks call start_run() or continue_run().
void start_run(const TrainArguments& arguments, Communicator& ranks);
// Goes on with the run `resume` in its own folder, or in the folder `out` if that is given: the new run gets the
// metrics up to the checkpoint from which it goes on, and the earlier checkpoints that its end will need.
void continue_run(const TrainArguments& arguments, Communicator& ranks);

}  // namespace tapeformer::cli
