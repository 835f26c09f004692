#include "tokenizer/piece_counter.h"

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

PieceCounter::PieceCounter(const CountOptions& options)
    : options_(options),
      share_(options.max_memory / thread_count()),
      runs_(std::make_unique<SortedRuns>(options.max_memory)) {}

PieceCounter::~PieceCounter() = default;

void PieceCounter::count(std::string_view text, PieceTable& table) {
  for_each_piece(text, options_.pattern, [&](std::string_view piece) {
    if (share_ > 0 && table.bytes_with_one_more() > share_ && table.size() > 0) runs_->add(table);
    table.add(piece);
  });
}

void PieceCounter::add(std::span<const std::string_view> texts) {
  const std::vector<std::string_view> parts = cut_texts(texts, kPartBytes);
  parallel_chunks(static_cast<std::int64_t>(parts.size()), 1, [&](std::int64_t chunk, std::int64_t, std::int64_t) {
    PieceTable table;
    {
      const std::lock_guard lock(mutex_);
      if (!tables_.empty()) {
        table = std::move(tables_.back());
        tables_.pop_back();
      }
    }
    count(parts[chunk], table);
    const std::lock_guard lock(mutex_);
    tables_.push_back(std::move(table));
  });
}

std::unique_ptr<PieceCounts> PieceCounter::finish() {
  if (!runs_->empty()) {
    for (PieceTable& table : tables_) runs_->add(table);
    tables_.clear();
    return std::move(runs_);
  }
  PieceTable all;
  for (PieceTable& table : tables_) {
    if (all.size() < table.size()) std::swap(all, table);
    table.for_each([&](std::string_view piece, std::int64_t count) { all.add(piece, count); });
    table.clear();
  }
  return std::make_unique<CountsInMemory>(std::move(all));
}

}  // namespace tapeformer
