#include "data/baselines/xz.h"

#include <lzma.h>

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "core/error.h"

namespace tapeformer {
namespace {

constexpr std::size_t kWrittenBytes = std::size_t{64} << 10;  // bytes between two calls of the progress callback

// Compresses text, and counts the bytes of the output.
class Compressor {
 public:
  explicit Compressor(std::size_t bytes) {
    lzma_options_lzma options;
    check(!::lzma_lzma_preset(&options, 9 | LZMA_PRESET_EXTREME), "xz: the library does not know the preset 9e");
    options.dict_size = std::max(static_cast<std::uint32_t>(bytes), std::uint32_t{LZMA_DICT_SIZE_MIN});
    const lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, nullptr}};
    const lzma_ret status = ::lzma_raw_encoder(&stream_, filters);
    check(status != LZMA_MEM_ERROR, "xz: not enough memory for a dictionary of ", options.dict_size, " bytes");
    check(status == LZMA_OK, "xz: cannot begin (error ", static_cast<int>(status), ")");
  }
  ~Compressor() { ::lzma_end(&stream_); }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  void write(std::string_view text) { code(text, LZMA_RUN); }
  // Ends the output, and returns its bytes.
  std::int64_t finish() {
    code({}, LZMA_FINISH);
    return static_cast<std::int64_t>(stream_.total_out);
  }

 private:
  void code(std::string_view text, lzma_action action) {
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(text.data());
    stream_.avail_in = text.size();
    lzma_ret status = LZMA_OK;
    while (status == LZMA_OK && (action != LZMA_RUN || stream_.avail_in > 0)) {
      stream_.next_out = out_.data();
      stream_.avail_out = out_.size();
      status = ::lzma_code(&stream_, action);
    }
    check(status == LZMA_OK || status == LZMA_STREAM_END, "xz: cannot go on (error ", static_cast<int>(status), ")");
  }

  lzma_stream stream_ = LZMA_STREAM_INIT;
  std::vector<std::uint8_t> out_ = std::vector<std::uint8_t>(kWrittenBytes);
};

}  // namespace

std::int64_t xz_growth(std::string_view before, std::string_view text, const ProgressCallback& progress) {
  const std::size_t bytes = before.size() + text.size();
  check(bytes <= std::size_t{1} << 30, "xz: expected at most 1 GiB of text, got ", bytes, " bytes");
  const std::size_t work = bytes + before.size();
  std::size_t done = 0;
  const auto write = [&](Compressor& compressor, std::string_view part) {
    for (std::size_t begin = 0; begin < part.size(); begin += kWrittenBytes) {
      compressor.write(part.substr(begin, kWrittenBytes));
      done += std::min(kWrittenBytes, part.size() - begin);
      if (progress) progress(static_cast<double>(done) / static_cast<double>(work));
    }
  };
  const auto compressed = [&](std::initializer_list<std::string_view> parts) {
    Compressor compressor(bytes);
    for (const std::string_view part : parts) write(compressor, part);
    return compressor.finish();
  };
  const std::int64_t alone = compressed({before});
  return compressed({before, text}) - alone;
}

}  // namespace tapeformer
