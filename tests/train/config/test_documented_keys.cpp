// README.md and the pages of docs/ name keys of configurations that there are, with the defaults that they have.
#include <filesystem>
#include <map>
#include <vector>

#include "core/text/lines.h"
#include "tests/temp_folder.h"
#include "tests/train/config/config_support.h"

using namespace tapeformer;

namespace {

std::map<std::string, std::string> pages() {
  const std::filesystem::path root = PROJECT_ROOT;
  std::map<std::string, std::string> texts{{"README.md", read_all(root / "README.md")}};
  for (const auto& entry : std::filesystem::directory_iterator(root / "docs")) {
    if (entry.path().extension() == ".md") texts.emplace(entry.path().filename().string(), read_all(entry.path()));
  }
  return texts;
}

// The default of each key, by its name.
std::map<std::string, std::string> defaults() {
  std::map<std::string, std::string> values;
  for (const ConfigKey& key : config_keys()) values.emplace(key.name, key.default_value);
  return values;
}

// The texts between a pair of backticks.
std::vector<std::string> quoted_in(const std::string& text) {
  std::vector<std::string> quoted;
  for (std::size_t begin = text.find('`'); begin != text.npos; begin = text.find('`', begin)) {
    const std::size_t end = std::min(text.find('`', begin + 1), text.size());
    quoted.push_back(text.substr(begin + 1, end - begin - 1));
    begin = std::min(end + 1, text.size());
  }
  return quoted;
}

// The words "--section.key" of a text, without the two signs: all options that have a dot in them.
std::vector<std::string> options_in(const std::string& text) {
  std::vector<std::string> options;
  for (std::size_t at = text.find("--"); at != text.npos; at = text.find("--", at + 2)) {
    const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.", at + 2);
    const std::string word = text.substr(at + 2, end - at - 2);
    if (word.find('.') != word.npos && word != "section.key") options.push_back(word);
  }
  return options;
}

// "tasks.NAME.weight" for "tasks.text.weight".
std::string without_task(const std::string& key) {
  if (!key.starts_with("tasks.")) return key;
  return "tasks.NAME" + key.substr(std::min(key.find('.', 6), key.size()));
}

std::vector<std::string> cells_of(std::string_view row) {
  std::vector<std::string> cells;
  for (std::size_t begin = 1; begin < row.size();) {
    const std::size_t end = std::min(row.find('|', begin), row.size());
    const std::string_view cell = row.substr(begin, end - begin);
    const std::size_t first = std::min(cell.find_first_not_of(' '), cell.size());
    cells.emplace_back(cell.substr(first, cell.find_last_not_of(' ') + 1 - first));
    begin = end + 1;
  }
  return cells;
}

// 0.10 is 0.1, and "none" is no value.
bool same_value(const std::string& documented, const std::string& value) {
  if (documented == value || (documented == "none" && value.empty())) return true;
  char *end = nullptr, *end_of_value = nullptr;
  const double a = std::strtod(documented.c_str(), &end), b = std::strtod(value.c_str(), &end_of_value);
  return end != documented.c_str() && end_of_value != value.c_str() && *end == 0 && *end_of_value == 0 && a == b;
}

}  // namespace

TEST_CASE("pages: every option with a dot is a key of configurations") {
  const auto keys = defaults();
  int found = 0;
  for (const auto& page : pages()) {
    CAPTURE(page.first);
    for (const std::string& option : options_in(page.second)) {
      CHECK_MESSAGE(keys.contains(without_task(option)), option);
      ++found;
    }
  }
  CHECK(found > 200);
}

TEST_CASE("pages: the defaults in their tables of keys are those of the program") {
  const auto keys = defaults();
  int found = 0;
  for (const auto& page : pages()) {
    CAPTURE(page.first);
    bool in_table = false;
    std::string section;  // "task." where the table's first line says so
    for (const std::string_view line : split_lines(page.second)) {
      const std::vector<std::string> cells = line.starts_with("|") ? cells_of(line) : std::vector<std::string>();
      if (cells.size() < 2) {
        in_table = false;
      } else if (cells[1] == "default") {
        in_table = true;
        const std::size_t begin = cells[0].find('['), end = cells[0].find(']');
        section = begin < end ? cells[0].substr(begin + 1, end - begin - 1) + "." : "";
      } else if (const std::vector<std::string> names = quoted_in(cells[0]); in_table && names.size() == 1) {
        const auto key = keys.find(section + names[0]);
        // Keys of one family or optimizer have defaults of their own.
        if (key == keys.end() || key->first.starts_with("optimizer.")) continue;
        const std::vector<std::string> quoted = quoted_in(cells[1]);
        CHECK_MESSAGE(same_value(quoted.empty() ? cells[1] : quoted[0], key->second), key->first);
        ++found;
      }
    }
  }
  CHECK(found > 10);
}
