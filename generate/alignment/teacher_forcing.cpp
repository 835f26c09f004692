#include "generate/alignment/teacher_forcing.h"

#include <vector>

namespace tapeformer {

TeacherForcedPair teacher_forced_pair(std::span<const std::int32_t> source, std::span<const std::int32_t> target,
                                      const PairSymbols& symbols) {
  std::vector<std::int32_t> source_ids(source.begin(), source.end()), inputs{symbols.target.begin};
  source_ids.push_back(symbols.source.end);
  inputs.insert(inputs.end(), target.begin(), target.end());
  const auto row_of = [](const std::vector<std::int32_t>& ids) {
    return Tensor::from(std::span<const std::int32_t>(ids), {1, std::ssize(ids)});
  };
  const Tensor length = Tensor::from({static_cast<std::int32_t>(source_ids.size())}, {1});
  return {{row_of(source_ids), length}, row_of(inputs)};
}

}  // namespace tapeformer
