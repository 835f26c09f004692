#include "cli/options/page_option.h"

#include "core/error.h"

namespace tapeformer::cli {

void require_page_name(std::string_view option, std::string_view file) {
  if (!file.ends_with(kPageEnding)) fail_usage(option, ": expected a file that ends in ", kPageEnding, ", got ", file);
}

Option page_option(std::string name, std::string& path, std::string help, OptionRules rules) {
  const auto set = [name, &path](const std::string& file) {
    require_page_name(name, file);
    path = file;
  };
  return {std::move(name), set, std::move(help), std::move(rules)};
}

}  // namespace tapeformer::cli
