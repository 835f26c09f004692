// Text compressed by xz, with which language models are compared.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/progress.h"

namespace tapeformer {

// Returns by how many bytes the output of xz grows when `text` follows `before`: what a general compressor, which has
// seen `before`, takes to store `text`. 8 times this, divided by the bytes of the text, are its bits per byte. A
// language model's are comparable: with an arithmetic coder it would store the text in so many bits.
//
// It is LZMA2 with the settings of `xz -9e`, and a dictionary that holds both texts; the headers of xz files are left
// out. `before` is compressed twice, alone and with `text`. Takes about 12 bytes of memory for each byte of the texts.
// Throws Error if they are more than 1 GiB, or if there is not so much memory.
std::int64_t xz_growth(std::string_view before, std::string_view text, const ProgressCallback& progress = {});

}  // namespace tapeformer
