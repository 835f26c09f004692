#include "report/study_page.h"

#include <nlohmann/json.hpp>

#include "report/page.h"

namespace tapeformer {

std::string study_page(const nlohmann::ordered_json& study) {
  return page_html({.title = study["title"].get<std::string>() + " – tapeformer",
                    .styles = {"dygraph.min.css", "report.css"},
                    .scripts = {"dygraph.min.js", "study.js"}},
                   study);
}

}  // namespace tapeformer
