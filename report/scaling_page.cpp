#include "report/scaling_page.h"

#include <nlohmann/json.hpp>

#include "report/page.h"

namespace tapeformer {

std::string scaling_page(const nlohmann::ordered_json& result) {
  return page_html({.title = "Scaling laws – tapeformer",
                    .styles = {"dygraph.min.css", "report.css"},
                    .scripts = {"dygraph.min.js", "scaling.js"}},
                   result);
}

}  // namespace tapeformer
