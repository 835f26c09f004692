// The kind of a parameter; optimizers treat some kinds differently.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/keys.h"

namespace tapeformer {

enum class ParameterKind {
  matrix,     // a linear map between hidden vectors
  embedding,  // a table of vectors, one for each token, position or segment; also the weight of a tied head
  vector,     // a parameter with one axis: a bias, or the weight of a norm
  head,       // the map from hidden vectors to the scores of tokens or labels
};

template <>
struct Words<ParameterKind> {
  static constexpr std::pair<ParameterKind, std::string_view> list[] = {{ParameterKind::matrix, "matrix"},
                                                                        {ParameterKind::embedding, "embedding"},
                                                                        {ParameterKind::vector, "vector"},
                                                                        {ParameterKind::head, "head"}};
};

// The role of a parameter: its kind, and the matrices that it consists of. The module that registers the parameter
// gives it.
struct ParameterRole {
  ParameterRole(ParameterKind kind) : kind(kind) {}
  // Returns the role of a parameter that stacks several matrices along its rows, so that one product computes them all:
  // the queries, keys and values of an attention layer, or the gates of a cell.
  static ParameterRole stacked(std::vector<std::int64_t> heights) {
    ParameterRole role = ParameterKind::matrix;
    role.heights = std::move(heights);
    return role;
  }

  ParameterKind kind;
  std::vector<std::int64_t> heights;  // the number of rows of each stacked matrix; empty: one matrix
};

}  // namespace tapeformer
