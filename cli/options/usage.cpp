#include "cli/options/usage.h"

#include <CLI/CLI.hpp>

#include <algorithm>

#include "core/error.h"
#include "core/text/joined.h"
#include "core/text/nearest_name.h"
#include "core/text/utf8.h"
#include "train/config/other_names.h"
#include "train/config/shared_task_keys.h"

namespace tapeformer::cli {
namespace {

struct KnownName {
  std::string name, found_by;
};

// Names that nanoGPT has for some options. (Other programs' names of configuration keys: key_of_other_name().)
struct OtherOption {
  std::string_view name, option;
};
constexpr OtherOption kOtherOptions[] = {
    {"--out_dir", "--out"}, {"--start", "--prompt"}, {"--num_samples", "--samples"}, {"--max_new_tokens", "--tokens"}};

// The option of a command that another program calls `name`; empty if there is none.
std::string option_of_other_name(const CLI::App& command, const std::string& name) {
  std::string option = "--" + std::string(key_of_other_name(name.substr(2)));
  const auto* const other = std::ranges::find(kOtherOptions, std::string_view(name), &OtherOption::name);
  if (other != std::end(kOtherOptions)) option = other->option;
  return command.get_option_no_throw(option) ? option : std::string();
}

// Returns a message about an unknown name, with the known name that may be meant, if there is one. All names begin with
// `dashes`.
std::string unknown(const char* what, const std::string& name, std::string_view dashes,
                    const std::vector<KnownName>& known) {
  const std::string text = str_cat("unknown ", what, " ", name), word = name.substr(dashes.size());
  constexpr std::size_t kBeginning = 3;  // the fewest letters that count as the beginning of a name
  const auto begun = std::ranges::find_if(
      known, [&](const KnownName& other) { return word.size() >= kBeginning && other.found_by.starts_with(word); });
  if (begun != known.end()) return str_cat(text, ": did you mean ", dashes, begun->name, "?");
  std::vector<std::string_view> found_by;
  for (const KnownName& other : known) found_by.push_back(other.found_by);
  const std::string_view nearest = nearest_name(word, found_by);
  if (!is_near(word, nearest)) return text;
  return str_cat(text, ": did you mean ", dashes, std::ranges::find(known, nearest, &KnownName::found_by)->name, "?");
}

std::vector<KnownName> commands_of(const CLI::App& command) {
  std::vector<KnownName> known;
  for (const CLI::App* inner : command.get_subcommands([](const CLI::App*) { return true; })) {
    known.push_back({inner->get_name(), inner->get_name()});
  }
  return known;
}

std::vector<KnownName> options_of(const CLI::App& command) {
  std::vector<KnownName> known;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      known.push_back({name, name});
      // A configuration key is also found without its section.
      if (const auto dot = name.find('.'); dot != name.npos) known.push_back({name, name.substr(dot + 1)});
    }
  }
  return known;
}

}  // namespace

std::string shortened(const std::string& text) {
  constexpr std::size_t kMax = 2000, kBeginning = 1200, kEnd = 600;
  if (text.size() <= kMax) return text;
  const std::size_t begin = character_start(text, kBeginning), end = character_start(text, text.size() - kEnd);
  return str_cat(text.substr(0, begin), " … (", end - begin, " bytes are left out) … ", text.substr(end));
}

std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* command = &app;  // the innermost command that was given
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  for (const std::string& word : app.remaining(/*recurse=*/true)) {
    if (word.starts_with("--")) {
      const std::string name = word.substr(0, word.find('='));
      const std::string other = option_of_other_name(*command, name);
      const std::string task = str_cat("--", kTasksSection, ".");
      if (name.starts_with(task)) {
        return str_cat("unknown option ", name, ": did you mean --", nearest_shared_task_key(name.substr(task.size())),
                       "?");
      }
      if (!other.empty()) return str_cat("unknown option ", name, ": did you mean ", other, "?");
      return unknown("option", name, "--", options_of(*command));
    }
    const auto commands = commands_of(*command);
    if (!commands.empty()) return unknown("command", word, "", commands);
  }
  const std::string what = error.what(), name = what.substr(0, what.find(':'));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error)) {
    return str_cat(
        name, what.find("At Most") == what.npos ? ": expected a value, got none" : ": expected one value, got more");
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error)) {
    if (const std::size_t end = what.find(" is required"); end != what.npos && !what.starts_with("A subcommand")) {
      return str_cat("expected ", what.substr(0, end), ", got none");
    }
    const std::vector<KnownName> commands = commands_of(*command);
    if (!commands.empty()) {
      return str_cat(command->get_name(), ": expected one of ", joined(commands, ", ", &KnownName::name));
    }
  }
  return what;
}

}  // namespace tapeformer::cli
