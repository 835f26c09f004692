#include "data/synthetic/mappings.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/error.h"

namespace tapeformer {
namespace {

constexpr unsigned kLetterSets = 1u << kMappingInputs;

using Mapping = std::array<int, kMappingInputs>;  // the output of each input

// The same in every program. The outputs of each input are an even number of all four, in random order.
const std::array<Mapping, kMappings>& all_mappings() {
  static const auto all = [] {
    std::array<Mapping, kMappings> mappings{};
    RandomStream random(RandomKey{.seed = 1, .stream = mix64(0x6d617070696e67)});  // "mapping"
    for (int input = 0; input < kMappingInputs; ++input) {
      std::array<int, kMappings> outputs{};
      for (int i = 0; i < kMappings; ++i) outputs[i] = i % kMappingOutputs;
      for (int i = kMappings - 1; i > 0; --i) std::swap(outputs[i], outputs[random.below(i + 1)]);
      for (int i = 0; i < kMappings; ++i) mappings[i][input] = outputs[i];
    }
    return mappings;
  }();
  return all;
}

std::string output_letter(int output) { return std::string(1, static_cast<char>('w' + output)); }

// Draws pairs of a mapping: "a→w; c→x".
std::string pairs_of(const Mapping& mapping, int count, RandomStream& random) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    const int input = static_cast<int>(random.below(kMappingInputs));
    text += str_cat(i ? "; " : "", static_cast<char>('a' + input), "→", output_letter(mapping[input]));
  }
  return text;
}

// What the examples of a set of letters leave open.
struct OpenMappings {
  double nats = 0;      // the entropy of the outputs of these letters
  double accuracy = 0;  // the share of right answers for a letter outside of the set, whose outputs are all possible
};

// The mean of OpenMappings over all sets of each size.
const std::array<OpenMappings, kMappingInputs + 1>& open_mappings() {
  static const auto means = [] {
    std::array<OpenMappings, kMappingInputs + 1> sums{};
    std::array<double, kMappingInputs + 1> sets{};
    for (unsigned set = 0; set < kLetterSets; ++set) {
      std::map<std::uint32_t, std::vector<int>> cells;  // the mappings that give the same outputs to the set
      for (int m = 0; m < kMappings; ++m) {
        std::uint32_t outputs = 0;
        for (int input = 0; input < kMappingInputs; ++input) {
          if (set >> input & 1) outputs = outputs * kMappingOutputs + static_cast<unsigned>(all_mappings()[m][input]);
        }
        cells[outputs].push_back(m);
      }
      const int size = std::popcount(set);
      OpenMappings& sum = sums[size];
      ++sets[size];
      for (const auto& [outputs, cell] : cells) {
        const double p = static_cast<double>(cell.size()) / kMappings;
        sum.nats -= p * std::log(p);
        for (int input = 0; input < kMappingInputs; ++input) {
          if (set >> input & 1) continue;
          std::array<int, kMappingOutputs> counts{};
          for (const int m : cell) ++counts[all_mappings()[m][input]];
          sum.accuracy += *std::ranges::max_element(counts) / static_cast<double>(kMappings * (kMappingInputs - size));
        }
      }
    }
    for (int size = 0; size <= kMappingInputs; ++size) {
      sums[size].nats /= sets[size];
      sums[size].accuracy /= sets[size];
    }
    return sums;
  }();
  return means;
}

// P(the number of different letters among `count` drawn ones), for 0, 1, …
std::array<double, kMappingInputs + 1> different_letters(int count) {
  std::array<double, kMappingInputs + 1> p{1};
  for (int i = 0; i < count; ++i) {
    for (int size = kMappingInputs; size >= 0; --size) {
      const double before = size > 0 ? p[size - 1] * (kMappingInputs - size + 1) / kMappingInputs : 0;
      p[size] = p[size] * size / kMappingInputs + before;
    }
  }
  return p;
}

}  // namespace

std::string mappings_line(RandomStream& random) {
  return pairs_of(all_mappings()[random.below(kMappings)], kMappingPairs, random) + '\n';
}

// A line says which letters were drawn, and what the mapping gives for each of them.
LineExpectation mappings_expectation() {
  constexpr int kChars = 5 * kMappingPairs - 1, kBytes = 7 * kMappingPairs - 1;  // an arrow has three bytes
  double nats = kMappingPairs * std::log(kMappingInputs);
  const auto p = different_letters(kMappingPairs);
  for (int size = 0; size <= kMappingInputs; ++size) nats += p[size] * open_mappings()[size].nats;
  return {.nats = nats, .chars = kChars, .bytes = kBytes};
}

std::string mappings_question(RandomStream& random, int shots) {
  check(shots >= 0 && shots < kMappingPairs, "mappings: expected 0 to ", kMappingPairs - 1, " examples, got ", shots);
  const std::string pairs = pairs_of(all_mappings()[random.below(kMappings)], shots + 1, random);
  nlohmann::ordered_json question{{"prompt", pairs.substr(0, pairs.size() - 1)},
                                  {"options", nlohmann::ordered_json::array()},
                                  {"answer", pairs.substr(pairs.size() - 1)},
                                  {"group", shots},
                                  {"optimum", mappings_accuracy(shots)}};
  for (int output = 0; output < kMappingOutputs; ++output) question["options"].push_back(output_letter(output));
  return question.dump() + '\n';
}

double mappings_accuracy(int shots) {
  const auto p = different_letters(shots);
  double accuracy = 0;
  for (int size = 0; size <= kMappingInputs; ++size) {
    const double known = static_cast<double>(size) / kMappingInputs;  // the letter is one of the examples
    accuracy += p[size] * (known + (1 - known) * open_mappings()[size].accuracy);
  }
  return accuracy;
}

}  // namespace tapeformer
