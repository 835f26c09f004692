#include "data/scores/labels.h"

#include <algorithm>

#include "core/error.h"

namespace tapeformer {
namespace {

double share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// The first character of a label, alone or before a "-", says the place of its word in a span: any place; a place that
// begins a span; a place after which none goes on.
constexpr std::string_view kPlaces = "BIMESLU", kFirstPlaces = "BSU", kLastPlaces = "ESLU";

bool has_place(std::string_view label) {
  if (label.empty() || kPlaces.find(label[0]) == kPlaces.npos) return false;
  return label.size() == 1 || label[1] == '-';
}

}  // namespace

double LabelCount::precision() const { return share(right, predicted); }
double LabelCount::recall() const { return share(right, gold); }
double LabelCount::f1() const { return share(2 * right, predicted + gold); }

LabelScore::LabelScore(std::span<const std::string> labels) {
  for (const std::string& label : labels) index_of(label);
}

std::size_t LabelScore::index_of(std::string_view label) {
  const auto found = std::ranges::find(labels_, label);
  if (found != labels_.end()) return found - labels_.begin();
  labels_.emplace_back(label);
  for (auto& row : confusion_) row.push_back(0);
  confusion_.emplace_back(labels_.size(), 0);
  return labels_.size() - 1;
}

void LabelScore::add(std::string_view gold, std::string_view predicted) {
  const std::size_t row = index_of(gold), column = index_of(predicted);
  ++confusion_[row][column];
  ++total_;
}

double LabelScore::accuracy() const {
  std::int64_t right = 0;
  for (std::size_t i = 0; i < labels_.size(); ++i) right += confusion_[i][i];
  return share(right, total_);
}

std::vector<LabelCount> LabelScore::counts() const {
  std::vector<LabelCount> counts;
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    LabelCount count{.label = labels_[i], .right = confusion_[i][i]};
    for (std::size_t j = 0; j < labels_.size(); ++j) {
      count.gold += confusion_[i][j];
      count.predicted += confusion_[j][i];
    }
    counts.push_back(std::move(count));
  }
  return counts;
}

double LabelScore::macro_f1() const {
  double sum = 0;
  std::int64_t seen = 0;
  for (const LabelCount& count : counts()) {
    if (count.gold + count.predicted == 0) continue;
    sum += count.f1();
    ++seen;
  }
  return seen == 0 ? 0 : sum / static_cast<double>(seen);
}

bool are_bio_labels(std::span<const std::string> labels) {
  const auto has = [&](std::string_view label) { return std::ranges::find(labels, label) != labels.end(); };
  // Whether a kind has a label that begins spans and one that goes on with them.
  const bool has_spans = std::ranges::any_of(labels, [&](const std::string& label) {
    const auto goes_on = [&](char place) { return has(place + label.substr(1)); };
    return label.starts_with("B-") && std::ranges::any_of(std::string_view("IMEL"), goes_on);
  });
  if (has_spans) return true;
  const bool names_kinds = std::ranges::none_of(labels, [](const std::string& label) {
    return label.size() == 1 && label != "O";  // other labels may be single letters too
  });
  return (names_kinds || (has("B") && (has("I") || (has("M") && has("E"))))) &&
         std::ranges::all_of(labels, [](const std::string& label) { return label == "O" || has_place(label); });
}

std::vector<LabelSpan> label_spans(std::span<const std::string_view> labels, bool bio) {
  std::vector<LabelSpan> spans;
  bool is_whole = false;  // whether the last span cannot go on
  for (std::int64_t i = 0; i < std::ssize(labels); ++i) {
    std::string_view kind = labels[i];
    if (kind.empty() || kind == "O") continue;
    bool begins = false, ends = false;
    if (bio && has_place(kind)) {
      begins = kFirstPlaces.find(kind[0]) != kFirstPlaces.npos;
      ends = kLastPlaces.find(kind[0]) != kLastPlaces.npos;
      kind.remove_prefix(std::min<std::size_t>(2, kind.size()));
      if (kind.empty()) kind = "_";
    }
    const bool goes_on = !begins && !is_whole && !spans.empty() && spans.back().end == i && spans.back().kind == kind;
    is_whole = ends;
    if (goes_on) {
      ++spans.back().end;
    } else {
      spans.push_back({i, i + 1, kind});
    }
  }
  return spans;
}

LabelCount& count_of(std::vector<LabelCount>& counts, std::string_view label) {
  const auto place = std::ranges::lower_bound(counts, label, {}, &LabelCount::label);
  if (place != counts.end() && place->label == label) return *place;
  return *counts.insert(place, LabelCount{.label = std::string(label)});
}

LabelCount total_of(std::span<const LabelCount> counts) {
  LabelCount total{.label = "all"};
  for (const LabelCount& count : counts) {
    total.gold += count.gold;
    total.predicted += count.predicted;
    total.right += count.right;
  }
  return total;
}

void SpanScore::add(std::span<const std::string_view> gold, std::span<const std::string_view> predicted) {
  check(gold.size() == predicted.size(), "span score: ", gold.size(), " labels and ", predicted.size(),
        " predicted ones: expected as many");
  const std::vector<LabelSpan> right = label_spans(gold, bio_), found = label_spans(predicted, bio_);
  for (const LabelSpan& span : right) ++count_of(counts_, span.kind).gold;
  for (const LabelSpan& span : found) {
    LabelCount& count = count_of(counts_, span.kind);
    ++count.predicted;
    count.right += std::ranges::count(right, span);
  }
}

}  // namespace tapeformer
