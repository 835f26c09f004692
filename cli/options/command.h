// Describes a command of the program and its options as plain data, from which parser.h reads a command line.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/keys.h"

namespace tapeformer::cli {

// The target of an option whose name has the placeholder NAME: --tasks.NAME.weight. The function gets the name that the
// user gives in its place, and returns the list that the option sets; the list must live as long as the command.
using NamedTarget = std::function<std::vector<std::string>*(const std::string& name)>;
inline constexpr std::string_view kAnyName = ".NAME.";

// What an option sets. A bool makes the option a flag; a number or a string takes one value; a list takes values as
// ListValues says; a function receives the value, and throws UsageError for one that it does not accept.
using OptionTarget = std::variant<bool*, double*, std::int64_t*, std::uint64_t*, std::optional<std::int64_t>*,
                                  std::string*, std::optional<std::string>*, std::vector<std::string>*,
                                  std::function<void(const std::string&)>, NamedTarget>;

// How a list takes its values.
enum class ListValues {
  all,       // every word up to the next option: --text a b c
  one_each,  // one value each time that the option is given: --stop a --stop b
  last       // one value; if the option is given several times, the last one counts
};

// What an option accepts, and how the help shows it.
struct OptionRules {
  bool required = false;
  std::vector<std::string> words = {};     // the values that are accepted; empty: any
  std::optional<std::int64_t> least = {};  // the smallest whole number that is accepted
  std::optional<std::int64_t> most = {};   // the largest whole number; needs `least`
  bool non_negative = false;               // whether a double must be at least 0
  bool non_empty = false;                  // whether a string must have characters
  std::vector<std::string> excludes = {};  // the options that cannot be given beside this one
  std::vector<std::string> needs = {};     // the options that must be given beside this one
  ListValues values = ListValues::all;
  bool shows_type = true;         // whether the help shows TEXT, INT or FLOAT after the name
  std::string group = {};         // the heading of the help under which the option is; empty: "Options"
  bool only_in_help_all = false;  // whether only --help-all shows the option
  bool one_of_many = false;       // whether it is one of hundreds of options, and no other option excludes or needs it
};

struct Option {
  std::string name;  // "--json"; a name without dashes, such as "run", is a positional argument
  OptionTarget target;
  std::string help;
  OptionRules rules = {};
};

// The options of some lists, one list after the other.
inline std::vector<Option> concatenated(std::initializer_list<std::vector<Option>> lists) {
  std::vector<Option> all;
  for (const std::vector<Option>& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

struct Command {
  std::string name, help;
  std::vector<Option> options = {};
  std::function<void(Command&)> add_options = {};  // adds many options; called only if the command is named
  std::function<void()> run = {};
  std::vector<Command> commands = {};  // subcommands (tokenizer train); `run` is called if none is given
  std::string help_all = {};           // the help text of --help-all; empty: the command has no --help-all
  std::string help_end = {};           // the last line of --help, if there is --help-all
};

// Makes an option whose value is one of the words of an enum (Words). `value` is an enum, or an optional of one.
template <class Value>
Option word_option(std::string name, Value& value, std::string help, OptionRules rules = {}) {
  using Enum = typename decltype(std::optional{value})::value_type;
  rules.words = words_of<Enum>();
  return {std::move(name), [&value](const std::string& word) { value = value_of<Enum>(word); }, std::move(help),
          std::move(rules)};
}

}  // namespace tapeformer::cli
