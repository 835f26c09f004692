#include "tokenizer/piece_counter.h"

#include <mutex>
#include <utility>
#include <vector>

#include "autograd/core/parallel.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/sorted_runs.h"

namespace tapeformer {
namespace {

constexpr std::size_t kPartBytes = std::size_t{1} << 18;

class CountsInMemory : public PieceCounts {
 public:
  explicit CountsInMemory(PieceTable table) : table_(std::move(table)) {}
  void for_each(const Visit& f) const override { table_.for_each(f); }

 private:
  PieceTable table_;
};

}  // namespace

std::unique_ptr<PieceCounts> count_pieces(std::span<const std::string_view> texts, const CountOptions& options,
                                          const CountProgress& progress) {
  const std::vector<std::string_view> parts = cut_texts(texts, kPartBytes);
  std::int64_t done = 0, wanted = 0;
  for (const std::string_view part : parts) wanted += static_cast<std::int64_t>(part.size());
  const std::size_t share = options.max_memory / available_threads();
  auto runs = std::make_unique<SortedRuns>(options.max_memory);
  std::mutex mutex;  // of the tables that no thread works with now, and of the progress
  std::vector<PieceTable> tables;
  parallel_chunks(static_cast<std::int64_t>(parts.size()), 1, [&](std::int64_t chunk, std::int64_t, std::int64_t) {
    PieceTable table;
    {
      const std::lock_guard lock(mutex);
      if (!tables.empty()) {
        table = std::move(tables.back());
        tables.pop_back();
      }
    }
    for_each_piece(parts[chunk], options.pattern, [&](std::string_view piece) {
      if (share > 0 && table.bytes_with_one_more() > share && table.size() > 0) {
        runs->add(table);
        table.clear();
      }
      table.add(piece);
    });
    const std::lock_guard lock(mutex);
    tables.push_back(std::move(table));
    done += static_cast<std::int64_t>(parts[chunk].size());
    if (progress) progress(done, wanted);
  });
  if (!runs->empty()) {
    for (PieceTable& table : tables) {
      runs->add(table);
      table.clear();
    }
    return runs;
  }
  PieceTable all;
  for (PieceTable& table : tables) {
    if (all.size() < table.size()) std::swap(all, table);
    table.for_each([&](std::string_view piece, std::int64_t count) { all.add(piece, count); });
    table.clear();
  }
  return std::make_unique<CountsInMemory>(std::move(all));
}

}  // namespace tapeformer
