#pragma once

namespace tapeformer {

// The version of the program and the commit that it was built from: "0.1.0 (0123456789)". It has a file of its own,
// which each commit compiles again.
const char* build_name();

}  // namespace tapeformer
