#include "nn/interfaces/encoder_decoder.h"

#include <algorithm>

#include "autograd/tape/tape.h"
#include "nn/layers/lm_head.h"

namespace tapeformer {

EncoderOutput select_rows(const EncoderOutput& encoded, std::span<const std::int64_t> rows) {
  Tape& tape = *encoded.hidden.tape();
  const auto selected = [&](const Variable& x) { return Variable::constant(tape, select_rows(x.value(), rows)); };
  EncoderOutput result{selected(encoded.hidden), select_rows(encoded.lengths, rows)};
  for (const Variable& x : encoded.initial) result.initial.push_back(selected(x));
  return result;
}

std::vector<std::int64_t> selected_sources(std::span<const std::int64_t> rows, std::int64_t rows_per_source) {
  std::vector<std::int64_t> sources;
  for (const std::int64_t row : rows) {
    if (sources.empty() || sources.back() != row / rows_per_source) sources.push_back(row / rows_per_source);
  }
  const std::size_t each = rows.size() / std::max<std::size_t>(sources.size(), 1);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t group = i / each;
    check(group < sources.size() && sources[group] == rows[i] / rows_per_source,
          "select: expected as many rows side by side for each source, got row ", rows[i], " at position ", i);
  }
  return sources;
}

Variable EncoderDecoder::loss(const SourceBatch& source, const Variable& inputs, const Variable& targets,
                              const CrossEntropyOptions& options) const {
  const EncoderOutput encoded = encode(*inputs.tape(), source);
  return loss_of_logits(logits(decode(inputs, encoded)), targets.value(), options);
}

}  // namespace tapeformer
