// What a parameter is: optimizers treat some parameters differently.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/keys.h"

namespace tapeformer {

enum class ParameterKind {
  matrix,     // a linear map between hidden vectors
  embedding,  // a table of vectors, one for each token, position or segment; the weight of a tied head, too
  vector,     // one axis: biases, and the weights of norms
  head,       // the map from hidden vectors to the scores of tokens or labels
};

template <>
struct Words<ParameterKind> {
  static constexpr std::pair<ParameterKind, std::string_view> list[] = {{ParameterKind::matrix, "matrix"},
                                                                        {ParameterKind::embedding, "embedding"},
                                                                        {ParameterKind::vector, "vector"},
                                                                        {ParameterKind::head, "head"}};
};

// What the place that registers a parameter says of it.
struct ParameterRole {
  ParameterRole(ParameterKind kind) : kind(kind) {}
  // Several matrices, one above another, that one product reads: queries, keys and values, or the gates of a cell.
  static ParameterRole stacked(std::vector<std::int64_t> heights) {
    ParameterRole role = ParameterKind::matrix;
    role.heights = std::move(heights);
    return role;
  }

  ParameterKind kind;
  std::vector<std::int64_t> heights;  // the rows of each stacked matrix; empty: it is one matrix
};

}  // namespace tapeformer
