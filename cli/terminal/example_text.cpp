#include "cli/terminal/example_text.h"

#include <algorithm>

#include "cli/terminal/results.h"
#include "core/error.h"

namespace tapeformer {
namespace {

using Rows = std::vector<std::vector<std::string>>;

constexpr std::int64_t kMostNumbers = 12;  // of a row
constexpr std::int64_t kMostSquares = 96;
constexpr std::size_t kMostPoints = 12;  // of curves

// Breaks a paragraph into lines of at most 96 characters.
std::string wrapped(const std::string& text) {
  constexpr std::size_t kWidth = 96;
  std::string lines;
  std::size_t column = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    if (column > 0 && column + 1 + width_of(word) > kWidth) lines += '\n', column = 0;
    lines += (column > 0 ? " " : "") + word;
    column += (column > 0 ? 1 : 0) + width_of(word);
  }
  return lines + "\n";
}

// Draws a matrix with characters: the larger a value, the darker its character.
std::string squares(const std::vector<double>& values, std::int64_t columns) {
  static constexpr const char* kShades[] = {" ", "░", "▒", "▓", "█"};
  const auto [low, high] = std::ranges::minmax(values);
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto column = static_cast<std::int64_t>(i) % columns;
    const double share = high > low ? (values[i] - low) / (high - low) : 0;
    if (column < kMostSquares) text += kShades[std::min(static_cast<int>(share * 5), 4)];
    if (column == columns - 1) text += "|\n";
  }
  return text + "space: " + explain::number_text(low) + ", █: " + explain::number_text(high) + "\n";
}

struct PartText {
  std::string operator()(const explain::Heading& part) const { return part.text + "\n"; }
  std::string operator()(const explain::Paragraph& part) const { return wrapped(part.text); }
  std::string operator()(const explain::Formula& part) const { return indented(part.text + "\n"); }

  std::string operator()(const explain::Values& part) const {
    const std::vector<double> values = part.tensor.to(DType::f64).to_vector<double>();
    const std::string title = str_cat(part.name, "  ", part.tensor.sizes(), "\n");
    if (part.tensor.rank() == 0) {
      return str_cat(part.name, "  ", part.tensor.sizes(), "  ", explain::number_text(values[0]), "\n");
    }
    const std::int64_t columns = part.tensor.size(-1), shown = std::min(columns, kMostNumbers);
    if (part.heat_map && columns > 16) return title + indented(squares(values, columns));
    Rows rows;
    const bool has_names = !part.rows.empty();
    const auto ellipsis = [&](std::vector<std::string>& row) {
      if (columns > shown) row.emplace_back("…");
    };
    if (!part.columns.empty()) {
      auto& heads = rows.emplace_back();
      if (has_names) heads.emplace_back();
      heads.insert(heads.end(), part.columns.begin(), part.columns.begin() + shown);
      ellipsis(heads);
    }
    for (std::int64_t i = 0; i * columns < std::ssize(values); ++i) {
      auto& row = rows.emplace_back();
      if (has_names) row.push_back(part.rows[i]);
      for (std::int64_t j = 0; j < shown; ++j) row.push_back(explain::number_text(values[i * columns + j]));
      ellipsis(row);
    }
    return title + indented(Table::fitted(std::move(rows), has_names ? 1 : 0).text());
  }

  std::string operator()(const explain::CellTable& part) const {
    Rows rows{part.columns};
    for (const auto& cells : part.rows) {
      auto& row = rows.emplace_back();
      for (const explain::Cell& cell : cells) row.push_back(explain::cell_text(cell));
    }
    return part.name + "\n" + indented(Table::fitted(std::move(rows)).text());
  }

  std::string operator()(const explain::Curves& part) const {
    Rows rows{{part.x_name}};
    for (const explain::Curve& curve : part.curves) rows[0].push_back(curve.name);
    const std::size_t points = std::min(part.x.size(), kMostPoints);
    for (std::size_t i = 0; i < points; ++i) {
      const std::size_t at = points == 1 ? 0 : i * (part.x.size() - 1) / (points - 1);
      auto& row = rows.emplace_back();
      row.push_back(explain::number_text(part.x[at]));
      for (const explain::Curve& curve : part.curves) row.push_back(explain::number_text(curve.y[at]));
    }
    return part.name + "\n" + indented(Table::fitted(std::move(rows), 0).text());
  }

  std::string operator()(const explain::Tree& part) const {
    Rows rows;
    add_nodes(rows, part, -1, "");
    return part.name + "\n" + indented(Table::fitted(std::move(rows)).text());
  }

 private:
  // Adds a row for each node below `parent`, with lines that lead to it.
  static void add_nodes(Rows& rows, const explain::Tree& tree, std::int64_t parent, const std::string& lines) {
    std::vector<std::int64_t> children;
    for (std::int64_t i = 0; i < std::ssize(tree.nodes); ++i) {
      if (tree.nodes[i].parent == parent) children.push_back(i);
    }
    for (const std::int64_t child : children) {
      const explain::TreeNode& node = tree.nodes[child];
      const bool last = child == children.back();
      auto& row = rows.emplace_back();
      row.push_back(lines + (last ? "└ " : "├ ") + node.text);
      for (const auto& [name, number] : node.numbers) row.push_back(name + " " + explain::number_text(number));
      row.push_back(node.note);
      add_nodes(rows, tree, child, lines + (last ? "  " : "│ "));
    }
  }
};

}  // namespace

std::string example_text(const explain::WorkedExample& example) {
  std::string text = example.title + "\n";
  for (const explain::Part& part : example.parts) {
    text += "\n";
    if (std::holds_alternative<explain::Heading>(part)) text += "== ";
    text += std::visit(PartText(), part);
  }
  return text;
}

}  // namespace tapeformer
