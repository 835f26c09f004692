// Makes self-contained HTML pages with styles, scripts and data, which can be opened from a file without a network.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace tapeformer {

// Returns the content of a file of report/assets ("report.js"), or of the chart library. Throws Error for another name.
std::string_view page_asset(std::string_view name);

struct PageContent {
  std::string title;
  std::initializer_list<std::string_view> styles, scripts;  // assets, in order; page.css and page.js come before them
};
// Returns the HTML of a page whose scripts read `data` as tapeformer.data. Texts in the data are never interpreted as
// HTML.
std::string page_html(const PageContent& content, const nlohmann::ordered_json& data);

// Returns the number rounded to `digits` significant digits, or null if it is not finite.
nlohmann::ordered_json rounded(double value, int digits);

}  // namespace tapeformer
