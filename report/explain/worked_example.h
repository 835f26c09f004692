// A worked example: sentences, formulas, numbers with their shapes, tables and curves, one step after another. A topic
// of `tapeformer explain` returns one; it is printed as text (cli/terminal/example_text.h), as JSON, or as a page.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "autograd/tensor/tensor.h"

namespace tapeformer::explain {

struct Heading {
  std::string text;
};
struct Paragraph {
  std::string text;
};
// A formula in plain text: "softmax(x)_i = e^(x_i) / Σ_j e^(x_j)".
struct Formula {
  std::string text;
};

// A result of an op: a floating tensor of at most two axes.
struct Values {
  std::string name;
  Tensor tensor;
  std::vector<std::string> rows = {}, columns = {};  // the names of rows and columns; empty: none
  bool heat_map = false;                             // whether it is drawn as coloured squares
};

// A cell is a text, a count, or a number that is shown with four digits.
using Cell = std::variant<std::string, std::int64_t, double>;
struct CellTable {
  std::string name;
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;
};

struct Curve {
  std::string name;
  std::vector<double> y;  // as many values as the x axis has; NaN where the curve is not drawn
};
struct Curves {
  std::string name, x_name;
  std::vector<double> x;
  std::vector<Curve> curves;
};

// A node comes after its parent.
struct TreeNode {
  std::int64_t parent = -1;  // its index in Tree::nodes; -1: the node is at the top
  std::string text;
  std::vector<std::pair<std::string, double>> numbers = {};  // by name
  std::string note = {};                                     // a text after the numbers
};
struct Tree {
  std::string name;
  std::vector<TreeNode> nodes;
};

using Part = std::variant<Heading, Paragraph, Formula, Values, CellTable, Curves, Tree>;

// The names of values, tables, curves and trees differ within an example.
struct WorkedExample {
  std::string topic, title;
  std::vector<Part> parts = {};

  void heading(std::string text) { parts.emplace_back(Heading{std::move(text)}); }
  void say(std::string text) { parts.emplace_back(Paragraph{std::move(text)}); }
  void formula(std::string text) { parts.emplace_back(Formula{std::move(text)}); }
  // Throws Error for a tensor of more than two axes.
  void show(Values values);
  void show(CellTable table) { parts.emplace_back(std::move(table)); }
  void show(Curves curves) { parts.emplace_back(std::move(curves)); }
  void show(Tree tree) { parts.emplace_back(std::move(tree)); }
  // Shows how far the results of an op are from those of the steps before it: "NAME: largest difference".
  void show_difference(const std::string& op, const Tensor& of_op, const Tensor& of_steps);
};

// Four significant digits: "0.8808", "5.391e-06"; whole numbers below a million without a point;
// "–" for a number that is not finite.
std::string number_text(double value);
// A cell as text.
std::string cell_text(const Cell& cell);

// {"topic", "title", "parts": [{"kind": "heading", "paragraph" or "formula", "text"}, {"kind": "values", "name",
// "shape", "values" (nested lists), and "rows", "columns", "heat_map" where given}, {"kind": "table", "name",
// "columns", "rows"}, {"kind": "curves", "name", "x_name", "x", "curves": {NAME: [y]}}, {"kind": "tree", "name",
// "nodes": [{"parent", "text", "numbers": {NAME: number}, "note"}]}]}.
nlohmann::ordered_json example_json(const WorkedExample& example);
// Returns the example as a self-contained HTML page.
std::string example_page(const WorkedExample& example);

}  // namespace tapeformer::explain
