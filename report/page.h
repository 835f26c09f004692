// Pages that hold all that they need: styles, scripts and data. They are opened from a file, without a network.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace tapeformer {

// The content of a file of report/assets, or of the chart library: "report.js". Throws Error for another name.
std::string_view page_asset(std::string_view name);

struct PageContent {
  std::string title;
  std::initializer_list<std::string_view> styles, scripts;  // assets, in order; page.css and page.js come before them
};
// The HTML of a page whose scripts find `data` as tapeformer.data. No text of the data is read as HTML.
std::string page_html(const PageContent& content, const nlohmann::ordered_json& data);

// A number with so many significant digits, or null where it is not finite.
nlohmann::ordered_json rounded(double value, int digits);

}  // namespace tapeformer
