#include "report/page.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "core/text/replace_all.h"

namespace tapeformer {
namespace {

std::string escaped(std::string_view text) { return replace_all(replace_all(text, "&", "&amp;"), "<", "&lt;"); }

// Returns JSON that cannot contain the end of a script.
std::string script_json(const nlohmann::ordered_json& data) { return replace_all(dump_json(data), "<", "\\u003c"); }

}  // namespace

std::string page_html(const PageContent& content, const nlohmann::ordered_json& data) {
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'; img-src data:\">\n<title>";
  html.append(escaped(content.title)).append("</title>\n");
  const auto add = [&](std::string_view element, std::string_view name) {
    html.append("<").append(element).append(">\n").append(page_asset(name));
    html.append("\n</").append(element).append(">\n");
  };
  add("style", "page.css");
  for (const std::string_view style : content.styles) add("style", style);
  html.append("</head>\n<body>\n<script type=\"application/json\" id=\"data\">").append(script_json(data));
  html.append("</script>\n");
  add("script", "page.js");
  for (const std::string_view script : content.scripts) add("script", script);
  return html + "</body>\n</html>\n";
}

nlohmann::ordered_json rounded(double value, int digits) {
  if (!std::isfinite(value)) return nullptr;
  char text[32];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  if (std::string_view(text).find_first_of(".e") == std::string_view::npos) return std::atoll(text);
  return std::strtod(text, nullptr);
}

}  // namespace tapeformer
