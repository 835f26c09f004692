#include "cli/options/parser.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <span>
#include <type_traits>
#include <utility>

#include "cli/options/usage.h"
#include "cli/terminal/terminal.h"
#include "core/error.h"

namespace tapeformer::cli {
namespace {

// A text that was parsed as a whole number of 64 bits.
struct WholeNumber {
  explicit WholeNumber(const std::string& text) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    is_whole = error == std::errc() && end == text.data() + text.size();
    is_too_large = error == std::errc::result_out_of_range;
  }
  std::int64_t value = 0;
  bool is_whole, is_too_large;
};

std::function<std::string(const std::string&)> within(std::int64_t least, std::optional<std::int64_t> most) {
  return [least, most](const std::string& text) {
    const WholeNumber number(text);
    if (number.is_whole && number.value >= least && (!most || number.value <= *most)) return std::string();
    const std::string range = most ? str_cat("from ", least, " to ", *most) : str_cat("of at least ", least);
    return str_cat("expected a whole number ", range, ", got ", text);
  };
}

std::string refuse_too_large(const std::string& text) {
  return WholeNumber(text).is_too_large ? "expected a smaller number, got " + text : "";
}

std::string refuse_not_finite(const std::string& text) {
  return std::isfinite(std::strtod(text.c_str(), nullptr)) ? "" : "expected a finite number, got " + text;
}

// The words of the command line.
using Words = std::span<const char* const>;

// A word of the command line, as --name=value or alone. `is_pair`: whether it is the former.
struct SplitWord {
  explicit SplitWord(std::string_view word) {
    const std::size_t equals = word.starts_with("--") ? word.find('=') : word.npos;
    is_pair = equals != word.npos;
    name = word.substr(0, equals);
    value = is_pair ? word.substr(equals + 1) : word;
  }
  bool in_brackets() const { return value.starts_with('[') && value.ends_with(']'); }
  std::string_view name, value;
  bool is_pair;
};

// CLI11 takes a value in brackets for a list, of which it keeps what is between them. So a word in brackets is given to
// it with a mark at its end, at which every option then divides its value; the empty rest is dropped. Returns the mark,
// a byte that no word has, if there is such a word.
std::optional<char> mark_after_brackets(Words words) {
  if (std::ranges::none_of(words, [](const char* word) { return SplitWord(word).in_brackets(); })) return std::nullopt;
  char mark = 1;
  const auto has_mark = [&](std::string_view word) { return word.find(mark) != word.npos; };
  while (std::ranges::any_of(words, has_mark)) ++mark;
  return mark;
}

// Lets all options of a command and its subcommands divide their values at the mark.
void divide_values(CLI::App& command, char mark) {
  for (CLI::Option* option : command.get_options()) option->delimiter(mark);
  for (CLI::App* below : command.get_subcommands([](CLI::App*) { return true; })) divide_values(*below, mark);
}

// Whether a command or one of its subcommands has an option of this name that takes a value.
bool takes_value(CLI::App& command, const std::string& name) {
  if (const CLI::Option* option = command.get_option_no_throw(name)) return option->get_items_expected_max() > 0;
  return std::ranges::any_of(command.get_subcommands([](CLI::App*) { return true; }),
                             [&](CLI::App* below) { return takes_value(*below, name); });
}

// Returns the words after the program's name as CLI11 takes them: in reverse order. It would take the next word for the
// value of --name=, so the empty value becomes a word.
std::vector<std::string> reversed_words(CLI::App& app, Words words, std::optional<char> mark) {
  std::vector<std::string> reversed;
  for (const char* const word : words.subspan(1)) {
    const SplitWord split(word);
    reversed.emplace_back(word);
    if (split.in_brackets()) reversed.back() += *mark;
    if (!split.is_pair || !split.value.empty() || !takes_value(app, std::string(split.name))) continue;
    reversed.back().pop_back();
    reversed.emplace_back();
  }
  std::ranges::reverse(reversed);
  return reversed;
}

std::string refuse_empty(const std::string& text) { return text.empty() ? "expected a value, got an empty one" : ""; }

CLI::Option* add_target(CLI::App& app, const Option& option) {
  return std::visit(
      [&]<class Target>(const Target& target) {
        if constexpr (std::is_same_v<Target, NamedTarget>) {
          return app.add_option(option.name, *target("NAME"), option.help);
        } else if constexpr (std::is_same_v<Target, bool*>) {
          return app.add_flag(option.name, *target, option.help);
        } else if constexpr (std::is_pointer_v<Target>) {
          return app.add_option(option.name, *target, option.help);
        } else {
          return app.add_option_function<std::string>(option.name, target, option.help);
        }
      },
      option.target);
}

void add_checks(CLI::Option& added, const Option& option) {
  const OptionRules& rules = option.rules;
  if (!rules.words.empty()) added.check(CLI::IsMember(rules.words));
  if (rules.least) added.check(within(*rules.least, rules.most));
  if (rules.non_negative) added.check(CLI::NonNegativeNumber);
  if (rules.non_empty) added.check(refuse_empty);
  if (std::holds_alternative<double*>(option.target)) added.check(refuse_not_finite);
  if (std::holds_alternative<std::int64_t*>(option.target) || std::holds_alternative<std::uint64_t*>(option.target) ||
      std::holds_alternative<std::optional<std::int64_t>*>(option.target)) {
    added.check(refuse_too_large);
  }
}

void add_option(CLI::App& app, const Option& option, bool in_help = true) {
  CLI::Option& added = *add_target(app, option);
  add_checks(added, option);
  const OptionRules& rules = option.rules;
  if (rules.required) added.required();
  if (rules.values == ListValues::one_each) added.allow_extra_args(false);
  if (rules.values == ListValues::last) added.expected(1)->allow_extra_args(false)->take_last();
  if (!rules.shows_type) added.type_name("");
  if (!in_help) added.group("");  // a group without a name is not shown
  if (in_help && !rules.group.empty()) added.group(rules.group);
}

// Chooses the command when it is named. A command with `run` and subcommands may be named without a subcommand; only
// then its required options are required.
void choose_if_named(CLI::App& app, const Command& command, const Command*& chosen) {
  if (!command.commands.empty()) {
    app.require_subcommand(command.run ? 0 : 1, 1);
    if (!command.run) return;
    for (const Option& option : command.options) {
      if (option.rules.required) app.get_option(option.name)->required(false);
    }
  }
  app.callback([&] {
    if (!app.get_subcommands().empty()) return;
    for (const Option& option : command.options) {
      if (option.rules.required && app.count(option.name) == 0) throw CLI::RequiredError(option.name);
    }
    chosen = &command;
  });
}

// Adds the options --tasks.pos.weight and so on that the command line gives for the option --tasks.NAME.weight.
void add_named(CLI::App& app, const Option& option, Words words) {
  const auto* const target = std::get_if<NamedTarget>(&option.target);
  if (!target) return;
  const std::size_t any = option.name.find(kAnyName);
  const std::string prefix = option.name.substr(0, any + 1), suffix = option.name.substr(any + kAnyName.size() - 1);
  for (const std::string_view word : words) {
    const std::string name(word.substr(0, word.find('=')));
    const bool fits = name.size() > prefix.size() + suffix.size() && name.starts_with(prefix) && name.ends_with(suffix);
    if (!fits || app.get_option_no_throw(name)) continue;
    const std::string given = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
    Option named{name, (*target)(given), option.help, option.rules};
    named.rules.group = "";
    add_option(app, named);
  }
}

// Whether a word names this command or option.
bool is_named(Words words, std::string_view name) {
  return std::ranges::any_of(words, [&](std::string_view word) { return word.substr(0, word.find('=')) == name; });
}

// Adds the options of the command and, recursively, its subcommands. A subcommand that no word of the command line
// names gets only its help, since thousands of options take longer to add than most commands take to run. For the same
// reason an option that is one of many is added only if a word names it, unless `all` are asked for. Parsing sets
// `chosen` to the command that is named.
void add_contents(CLI::App& app, Command& command, Words words, bool all, const Command*& chosen) {
  if (const auto add_options = std::exchange(command.add_options, nullptr)) add_options(command);
  const bool help_all = is_named(words, "--help-all");
  for (const Option& option : command.options) {
    if (all || !option.rules.one_of_many || is_named(words, option.name))
      add_option(app, option, help_all || !option.rules.only_in_help_all);
  }
  for (const Option& option : command.options) add_named(app, option, words);
  for (const Option& option : command.options) {
    for (const std::string& other : option.rules.excludes) app.get_option(option.name)->excludes(app.get_option(other));
    for (const std::string& other : option.rules.needs) app.get_option(option.name)->needs(app.get_option(other));
  }
  if (!command.help_all.empty()) {
    app.add_flag_callback(
           "--help-all", [] { throw CLI::CallForHelp(); }, command.help_all)
        ->trigger_on_parse();
    if (!help_all) app.footer("\n" + command.help_end);
  }
  for (Command& below : command.commands) {
    CLI::App& added = *app.add_subcommand(below.name, below.help);
    if (is_named(words, below.name)) add_contents(added, below, words, all, chosen);
  }
  app.add_flag_callback("-q,--quiet", be_quiet, "On standard error warnings and errors only: no progress");
  choose_if_named(app, command, chosen);
}

}  // namespace

const Command* parse_command_line(Command& program, const std::string& version, int argc, const char* const* argv) {
  const Words words(argv, static_cast<std::size_t>(argc));
  const std::optional<char> mark = mark_after_brackets(words);
  // A help text and an error message need all options, which are left out at first: for them the words are parsed
  // again.
  for (const bool all : {false, true}) {
    const Command* chosen = nullptr;
    CLI::App app(program.help, program.name);
    app.set_version_flag("--version", version);
    add_contents(app, program, words, all, chosen);
    if (mark) divide_values(app, *mark);
    try {
      app.parse(reversed_words(app, words, mark));
    } catch (const CLI::Success& request) {  // a help or the version
      if (!all) continue;
      app.exit(request);
      return nullptr;
    } catch (const CLI::ParseError& error) {
      if (!all) continue;
      std::string message = explain(app, error);
      if (mark) std::erase(message, *mark);
      fail_usage(message, " (see --help)");
    }
    return chosen;
  }
  return nullptr;
}

}  // namespace tapeformer::cli
