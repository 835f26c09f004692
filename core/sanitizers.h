// TAPEFORMER_ADDRESS_SANITIZER is defined in a build with AddressSanitizer: g++ and clang++ signal it in different
// ways.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define TAPEFORMER_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TAPEFORMER_ADDRESS_SANITIZER
#endif
#endif
