#include "tokenizer/bpe/pretoken_counter.h"

#include <utility>
#include <vector>

#include "core/parallel.h"
#include "tokenizer/bpe/sorted_runs.h"
#include "tokenizer/pretokenizer.h"

namespace tapeformer {
namespace {

constexpr std::size_t kCountedBytes = std::size_t{1} << 18;

class CountsInMemory : public PretokenCounts {
 public:
  explicit CountsInMemory(PretokenTable table) : table_(std::move(table)) {}
  void for_each(const Visit& f) const override { table_.for_each(f); }

 private:
  PretokenTable table_;
};

}  // namespace

PretokenCounter::PretokenCounter(const CountOptions& options)
    : options_(options),
      share_(options.max_memory / thread_count()),
      runs_(std::make_unique<SortedRuns>(options.max_memory)) {}

PretokenCounter::~PretokenCounter() = default;

void PretokenCounter::count(std::string_view text, PretokenTable& table) {
  for_each_pretoken(text, options_.pattern, [&](std::string_view pretoken) {
    if (share_ > 0 && table.bytes_with_one_more() > share_ && table.size() > 0) runs_->add(table);
    table.add(pretoken);
  });
}

void PretokenCounter::add(std::span<const std::string_view> texts) {
  const std::vector<std::string_view> parts = cut_texts(texts, kCountedBytes);
  parallel_chunks(static_cast<std::int64_t>(parts.size()), 1, [&](std::int64_t chunk, std::int64_t, std::int64_t) {
    PretokenTable table;
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

std::unique_ptr<PretokenCounts> PretokenCounter::finish() {
  if (!runs_->empty()) {
    for (PretokenTable& table : tables_) runs_->add(table);
    tables_.clear();
    return std::move(runs_);
  }
  PretokenTable all;
  for (PretokenTable& table : tables_) {
    if (all.size() < table.size()) std::swap(all, table);
    table.for_each([&](std::string_view pretoken, std::int64_t count) { all.add(pretoken, count); });
    table.clear();
  }
  return std::make_unique<CountsInMemory>(std::move(all));
}

}  // namespace tapeformer
