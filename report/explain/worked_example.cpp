#include "report/explain/worked_example.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/text/numbers.h"
#include "report/page.h"

namespace tapeformer::explain {
namespace {

using Json = nlohmann::ordered_json;

// Returns the tensor as nested lists; a scalar as a number.
Json nested(const Tensor& tensor) {
  const std::vector<double> values = tensor.to(DType::f64).to_vector<double>();
  if (tensor.rank() == 0) return rounded(values.front(), 9);
  const std::int64_t columns = tensor.size(-1);
  Json rows = Json::array(), row = Json::array();
  for (const double value : values) {
    row.push_back(rounded(value, 9));
    if (tensor.rank() == 1 || std::ssize(row) < columns) continue;
    rows.push_back(std::move(row));
    row = Json::array();
  }
  return tensor.rank() == 1 ? row : rows;
}

Json json_of_cell(const Cell& cell) {
  if (const auto* const number = std::get_if<double>(&cell)) return rounded(*number, 9);
  if (const auto* const count = std::get_if<std::int64_t>(&cell)) return *count;
  return std::get<std::string>(cell);
}

struct PartJson {
  Json operator()(const Heading& part) const { return {{"kind", "heading"}, {"text", part.text}}; }
  Json operator()(const Paragraph& part) const { return {{"kind", "paragraph"}, {"text", part.text}}; }
  Json operator()(const Formula& part) const { return {{"kind", "formula"}, {"text", part.text}}; }

  Json operator()(const Values& part) const {
    Json shape = Json::array();
    for (const std::int64_t size : part.tensor.sizes()) shape.push_back(size);
    Json json{{"kind", "values"}, {"name", part.name}, {"shape", std::move(shape)}};
    if (!part.rows.empty()) json["rows"] = part.rows;
    if (!part.columns.empty()) json["columns"] = part.columns;
    if (part.heat_map) json["heat_map"] = true;
    json["values"] = nested(part.tensor);
    return json;
  }

  Json operator()(const CellTable& part) const {
    Json rows = Json::array();
    for (const std::vector<Cell>& cells : part.rows) {
      Json row = Json::array();
      for (const Cell& cell : cells) row.push_back(json_of_cell(cell));
      rows.push_back(std::move(row));
    }
    return {{"kind", "table"}, {"name", part.name}, {"columns", part.columns}, {"rows", std::move(rows)}};
  }

  Json operator()(const Curves& part) const {
    const auto list = [](const std::vector<double>& values) {
      Json numbers = Json::array();
      for (const double value : values) numbers.push_back(rounded(value, 6));
      return numbers;
    };
    Json curves = Json::object();
    for (const Curve& curve : part.curves) curves[curve.name] = list(curve.y);
    return {{"kind", "curves"},
            {"name", part.name},
            {"x_name", part.x_name},
            {"x", list(part.x)},
            {"curves", std::move(curves)}};
  }

  Json operator()(const Tree& part) const {
    Json nodes = Json::array();
    for (const TreeNode& node : part.nodes) {
      Json numbers = Json::object();
      for (const auto& [name, number] : node.numbers) numbers[name] = rounded(number, 9);
      nodes.push_back({{"parent", node.parent}, {"text", node.text}, {"numbers", numbers}, {"note", node.note}});
    }
    return {{"kind", "tree"}, {"name", part.name}, {"nodes", std::move(nodes)}};
  }
};

}  // namespace

void WorkedExample::show(Values values) {
  check(values.tensor.rank() <= 2, "explain: ", values.name, ": expected at most two axes, got ",
        values.tensor.sizes());
  parts.emplace_back(std::move(values));
}

void WorkedExample::show_difference(const std::string& op, const Tensor& of_op, const Tensor& of_steps) {
  check(of_op.sizes() == of_steps.sizes(), "explain: ", op, ": the shapes ", of_op.sizes(), " and ", of_steps.sizes(),
        " differ");
  const std::vector<double> a = of_op.to(DType::f64).to_vector<double>();
  const std::vector<double> b = of_steps.to(DType::f64).to_vector<double>();
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  show(Values{op + ": largest difference", Tensor::scalar(largest, DType::f64)});
}

std::string number_text(double value) {
  if (!std::isfinite(value)) return "–";
  char text[32];
  const bool whole = value == std::round(value) && std::abs(value) < 1e6;
  std::snprintf(text, sizeof text, whole ? "%.0f" : "%.4g", value == 0 ? 0 : value);
  return text;
}

std::string cell_text(const Cell& cell) {
  if (const auto* const number = std::get_if<double>(&cell)) return number_text(*number);
  if (const auto* const count = std::get_if<std::int64_t>(&cell)) return format_count(*count);
  return std::get<std::string>(cell);
}

nlohmann::ordered_json example_json(const WorkedExample& example) {
  Json parts = Json::array();
  for (const Part& part : example.parts) parts.push_back(std::visit(PartJson(), part));
  return {{"topic", example.topic}, {"title", example.title}, {"parts", std::move(parts)}};
}

std::string example_page(const WorkedExample& example) {
  return page_html({.title = example.title,
                    .styles = {"dygraph.min.css", "report.css", "heat_map.css", "explain.css"},
                    .scripts = {"dygraph.min.js", "heat_map.js", "explain.js"}},
                   example_json(example));
}

}  // namespace tapeformer::explain
