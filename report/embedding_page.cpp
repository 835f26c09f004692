#include "report/embedding_page.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text/visible_text.h"
#include "report/page.h"
#include "report/principal_components.h"

namespace tapeformer {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMaxVectors = 300, kMaxPositions = 128, kMaxDims = 512;

double product(const float* a, const float* b, std::int64_t width) {
  double sum = 0;
  for (std::int64_t i = 0; i < width; ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

// Returns a row for each vector i with its cosines with the vectors 0 to i; null if one of the two is zero.
Json cosines(const Tensor& vectors) {
  const std::int64_t width = vectors.size(1);
  const float* const x = vectors.data<float>();
  std::vector<double> norms;
  Json rows = Json::array();
  for (std::int64_t i = 0; i < vectors.size(0); ++i) {
    norms.push_back(std::sqrt(product(x + i * width, x + i * width, width)));
    Json row = Json::array();
    for (std::int64_t j = 0; j <= i; ++j) {
      row.push_back(rounded(product(x + i * width, x + j * width, width) / (norms[i] * norms[j]), 3));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// Returns the first rows and columns of a matrix (length, dim).
Json heat_map(const Tensor& matrix) {
  const std::int64_t length = matrix.size(0), dim = matrix.size(1);
  Json rows = Json::array();
  for (std::int64_t i = 0; i < std::min(length, kMaxPositions); ++i) {
    Json row = Json::array();
    for (std::int64_t j = 0; j < std::min(dim, kMaxDims); ++j) {
      row.push_back(rounded(matrix.data<float>()[i * dim + j], 3));
    }
    rows.push_back(std::move(row));
  }
  return {{"length", length}, {"dim", dim}, {"values", std::move(rows)}};
}

}  // namespace

std::string embedding_page(const std::string& title, const std::vector<std::string>& labels, const Tensor& vectors,
                           const Tensor& positions) {
  if (vectors.size(0) > kMaxVectors) {
    fail_usage("embed: expected at most ", kMaxVectors, " vectors for a page, got ", vectors.size(0),
               ": take fewer, or --format npy");
  }
  const PrincipalComponents components = principal_components(vectors);
  Json data{{"title", title}, {"labels", Json::array()}, {"places", Json::array()}, {"shares", Json::array()}};
  for (const std::string& label : labels) data["labels"].push_back(printable_text(label));
  for (const auto& [x, y] : components.coordinates) data["places"].push_back({rounded(x, 5), rounded(y, 5)});
  for (const double share : components.shares) data["shares"].push_back(rounded(share, 4));
  data["cosines"] = cosines(vectors);
  if (positions.defined()) data["positions"] = heat_map(positions);
  return page_html(
      {.title = title, .styles = {"heat_map.css", "embedding.css"}, .scripts = {"heat_map.js", "embedding.js"}}, data);
}

}  // namespace tapeformer
