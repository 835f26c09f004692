// Generated corpora: text that we can make any amount of, and whose difficulty is known.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tapeformer {

// In the order of the table in corpora.cpp.
std::span<const std::string_view> corpus_names();

// Line `line` of the corpus with its newline: a pure function of the seed and the number of the line. (Parallel corpora
// have source and target on it, apart by a tab.)
// All of these throw UsageError for an unknown name, naming the nearest known one.
std::string corpus_line(std::string_view name, std::int64_t line, std::uint64_t seed);
// Lines 0 … lines - 1. Throws UsageError below one line.
std::string generate_corpus(std::string_view name, std::int64_t lines, std::uint64_t seed);
// Whether its lines are sentences and their translations.
bool is_parallel_corpus(std::string_view name);
// Entropy rate in nats per character: the least cross-entropy that any model can reach on the text. Known for plain
// text; parallel corpora are there to be translated.
std::optional<double> corpus_entropy(std::string_view name);

}  // namespace tapeformer
