// How long work tells its caller how far it is.
#pragma once

#include <functional>
#include <string>

namespace tapeformer {

// Called now and then with the share of the work that is done, from 0 to 1.
using ProgressCallback = std::function<void(double share)>;

// Starts to show the progress of one piece of work, which it is given the name of ("encoding the text").
using ProgressMaker = std::function<ProgressCallback(std::string what)>;

}  // namespace tapeformer
