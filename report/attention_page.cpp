#include "report/attention_page.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text/replace_all.h"
#include "core/text/utf8.h"
#include "core/text/visible_text.h"
#include "report/page.h"

namespace tapeformer {
namespace {

using Json = nlohmann::ordered_json;

Json row(const double* values, std::int64_t count, int digits) {
  Json numbers = Json::array();
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(rounded(values[i], digits));
  return numbers;
}

Json lens_json(const std::vector<std::vector<LensCell>>& lens, int digits) {
  Json layers = Json::array();
  for (const std::vector<LensCell>& layer : lens) {
    Json cells = Json::array();
    for (const LensCell& cell : layer) {
      Json likeliest = Json::array();
      for (const auto& [token, probability] : cell.likeliest) {
        likeliest.push_back(Json::array({token, rounded(probability, digits)}));
      }
      cells.push_back({{"likeliest", std::move(likeliest)},
                       {"nats", cell.nats ? Json(rounded(*cell.nats, digits)) : Json(nullptr)}});
    }
    layers.push_back(std::move(cells));
  }
  return layers;
}

// Rounds the fractions of a list of objects.
Json rounded_rows(Json list, int digits) {
  for (Json& object : list) {
    for (Json& value : object) {
      if (value.is_number_float()) value = rounded(value.get<double>(), digits);
    }
  }
  return list;
}

Json heads_json(const std::vector<HeadReport>& heads, int digits) {
  Json list = Json::array();
  for (const HeadReport& head : heads) list.push_back(head_json(head));
  return rounded_rows(std::move(list), digits);
}

std::vector<std::string> all_visible(const std::vector<std::string>& tokens) {
  std::vector<std::string> texts;
  for (const std::string& token : tokens) texts.push_back(visible_text(token));
  return texts;
}

std::string xml(std::string_view text) {
  const std::string signs = replace_all(replace_all(text, "&", "&amp;"), "\"", "&quot;");
  return replace_all(replace_all(signs, "<", "&lt;"), ">", "&gt;");
}

// About how many pixels a text in a font of 12 pixels is wide, at the most.
std::int64_t pixels_of(std::string_view text) {
  std::int64_t pixels = 0;
  for (const char c : text) {
    const bool is_capital = c >= 'A' && c <= 'Z', is_wide = static_cast<unsigned char>(c) >= 0xE0;
    if (!is_continuation_byte(c)) pixels += is_wide ? 12 : is_capital ? 10 : 8;
  }
  return pixels;
}

std::int64_t widest(const std::vector<std::string>& texts) {
  std::int64_t most = 0;
  for (const std::string& text : texts) most = std::max(most, pixels_of(text));
  return most;
}

}  // namespace

void add_lens(AttentionText& text, const LogitLens& lens, const Tokenizer& tokenizer) {
  for (const std::vector<LensPrediction>& layer : lens) {
    std::vector<LensCell>& cells = text.lens.emplace_back();
    for (const LensPrediction& prediction : layer) {
      LensCell& cell = cells.emplace_back(LensCell{{}, prediction.nats});
      for (const auto& [id, probability] : prediction.likeliest) {
        cell.likeliest.emplace_back(tokenizer.token_bytes(id), probability);
      }
    }
  }
}

void add_heads(AttentionText& text, const HeadStudy& study) {
  std::ranges::copy_if(study.heads, std::back_inserter(text.heads),
                       [&](const HeadReport& head) { return head.index.stack == text.map.name; });
}

Json attention_json(const std::vector<AttentionText>& maps, int digits) {
  Json all = Json::array();
  for (const AttentionText& text : maps) {
    const AttentionMap& map = text.map;
    const std::vector<std::string>&queries = text.queries, &keys = text.keys;
    const std::int64_t count = std::ssize(queries), width = std::ssize(keys);
    Json layers = Json::array();
    for (std::size_t layer = 0; layer < map.weights.size(); ++layer) {
      Json heads = Json::array();
      for (std::int64_t head = 0; head < map.weights[layer].size(0); ++head) {
        Json rows = Json::array();
        for (std::int64_t i = 0; i < count; ++i) {
          rows.push_back(row(map.weights[layer].data<double>() + (head * count + i) * width, width, digits));
        }
        heads.push_back({{"weights", std::move(rows)}});
        if (!map.outputs.empty()) {
          heads.back()["output"] = row(map.outputs[layer].data<double>() + head * count, count, digits);
        }
      }
      layers.push_back({{"heads", std::move(heads)}});
    }
    all.push_back({{"name", map.name}, {"queries", queries}, {"keys", keys}, {"layers", std::move(layers)}});
    if (!text.lens.empty()) all.back()["lens"] = lens_json(text.lens, digits);
    if (!text.heads.empty()) all.back()["heads"] = heads_json(text.heads, digits);
    if (text.by_position) all.back()["by_position"] = rounded_rows(breakdown_json(*text.by_position), digits);
  }
  return all;
}

std::string attention_page(const std::string& title, const std::vector<AttentionText>& maps) {
  constexpr std::int64_t kMaxWeights = 2'000'000;
  std::int64_t weights = 0;
  for (const AttentionText& text : maps) {
    for (const Tensor& layer : text.map.weights) weights += layer.numel();
  }
  if (weights > kMaxWeights) {
    fail_usage("attention: expected a text with at most ", kMaxWeights, " weights in all heads for a page, got ",
               weights, ": take a shorter one, or --json");
  }
  std::vector<AttentionText> shown = maps;
  for (AttentionText& text : shown) {
    text.queries = all_visible(text.queries), text.keys = all_visible(text.keys);
    for (std::vector<LensCell>& layer : text.lens) {
      for (LensCell& cell : layer) {
        for (auto& likely : cell.likeliest) likely.first = visible_text(likely.first);
      }
    }
  }
  return page_html({.title = title, .styles = {"attention.css"}, .scripts = {"attention.js"}},
                   {{"title", title}, {"maps", attention_json(shown, 3)}});
}

std::string attention_svg(const AttentionText& text, std::int64_t layer, std::int64_t head) {
  const auto in_range = [](const char* what, std::int64_t value, std::int64_t count) {
    if (value < 0 || value >= count) fail_usage("attention: ", what, ": expected 0 to ", count - 1, ", got ", value);
  };
  in_range("layer", layer, std::ssize(text.map.weights));
  const Tensor& weights = text.map.weights[layer];
  in_range("head", head, weights.size(0));
  const std::int64_t rows = weights.size(1), columns = weights.size(2);
  const std::vector<std::string> queries = all_visible(text.queries), keys = all_visible(text.keys);
  constexpr std::int64_t kCell = 18, kLeast = 110, kMargin = 10;
  const std::int64_t left = std::max(kLeast, widest(queries) + kMargin), top = std::max(kLeast, widest(keys) + kMargin);
  // The names of keys lean to the right, those of the last ones out of the matrix.
  std::int64_t right = left + columns * kCell + 4;
  for (std::int64_t j = 0; j < columns; ++j) right = std::max(right, left + j * kCell + kCell + pixels_of(keys[j]) / 2);
  std::string svg =
      str_cat("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", right, ' ', top + rows * kCell + 4,
              "\" font-family=\"sans-serif\" font-size=\"12\">\n<title>layer ", layer, ", head ", head, "</title>\n");
  for (std::int64_t j = 0; j < columns; ++j) {
    svg += str_cat("<text transform=\"translate(", left + j * kCell + 13, ' ', top - 6, ") rotate(-60)\">",
                   xml(keys[j]), "</text>\n");
  }
  const double* weight = weights.data<double>() + head * rows * columns;
  for (std::int64_t i = 0; i < rows; ++i) {
    svg += str_cat("<text x=\"", left - 6, "\" y=\"", top + i * kCell + 13, "\" text-anchor=\"end\">", xml(queries[i]),
                   "</text>\n");
    for (std::int64_t j = 0; j < columns; ++j, ++weight) {
      char opacity[16];
      std::snprintf(opacity, sizeof opacity, "%.3f", std::clamp(*weight, 0.0, 1.0));
      svg += str_cat("<rect x=\"", left + j * kCell, "\" y=\"", top + i * kCell, "\" width=\"", kCell, "\" height=\"",
                     kCell, "\" fill=\"#1f6fb4\" fill-opacity=\"", opacity, "\" stroke=\"#ddd\"/>\n");
    }
  }
  return svg + "</svg>\n";
}

}  // namespace tapeformer
