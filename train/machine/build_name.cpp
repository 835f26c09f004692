#include "train/machine/build_name.h"

namespace tapeformer {

const char* build_name() { return TAPEFORMER_BUILD; }

}  // namespace tapeformer
