// A command is plain data, from which the options of the command line follow; its results are printed in one way.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "cli/options/parser.h"
#include "cli/terminal/results.h"
#include "core/error.h"

using namespace tapeformer;
using namespace tapeformer::cli;

namespace {

enum class Shade { light, dark };

struct Arguments {
  bool json = false;
  double rate = 1, power = 1;
  std::int64_t count = 5;
  std::string file, from;
  std::vector<std::string> names, stops, keys;
  std::optional<Shade> shade;
  std::optional<std::string> text;
};

}  // namespace

template <>
struct tapeformer::Words<Shade> {
  static constexpr std::pair<Shade, std::string_view> list[] = {{Shade::light, "light"}, {Shade::dark, "dark"}};
};

namespace {

// The command that the words name; `set` gets what they say.
std::string parsed(Arguments& set, std::vector<const char*> words) {
  Command program{.name = "program",
                  .help = "Tests",
                  .commands = {{.name = "show",
                                .help = "Shows",
                                .options = {{"file", &set.file, "A file", {.required = true}},
                                            {"--json", &set.json, "Json"},
                                            {"--rate", &set.rate, "A rate", {.non_negative = true}},
                                            {"--power", &set.power, "A power"},
                                            {"--count", &set.count, "A count", {.least = 1, .most = 9}},
                                            {"--names", &set.names, "Names"},
                                            {"--stop", &set.stops, "Stops", {.values = ListValues::one_each}},
                                            {"--key", &set.keys, "A key", {.values = ListValues::last}},
                                            {"--text", &set.text, "A text", {.excludes = {"--json"}}},
                                            {"--from", &set.from, "A folder", {.non_empty = true}},
                                            word_option("--shade", set.shade, "A shade", {.needs = {"--text"}})},
                                .run = [] {}},
                               {.name = "hide", .help = "Hides", .run = [] {}},
                               {.name = "count",
                                .help = "Counts",
                                .options = {{"file", &set.file, "A file", {.required = true}}},
                                .run = [] {},
                                .commands = {{.name = "all", .help = "Counts all", .run = [] {}}}}}};
  words.insert(words.begin(), "program");
  const Command* const command = parse_command_line(program, "1", static_cast<int>(words.size()), words.data());
  return command ? command->name : "";
}

std::string refusal(std::vector<const char*> words) {
  Arguments set;
  try {
    return "took " + parsed(set, std::move(words));
  } catch (const UsageError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("commands: options set the variables of their rows, each by its type") {
  Arguments set;
  CHECK(parsed(set, {"hide"}) == "hide");
  CHECK(parsed(set, {"show", "a", "--json", "--rate", "0.5", "--count", "9", "--names", "x", "y", "--stop", "u",
                     "--stop", "v", "--key", "1", "--key", "2"}) == "show");
  CHECK((set.json && set.rate == 0.5 && set.count == 9 && set.file == "a"));
  CHECK(set.names == std::vector<std::string>{"x", "y"});
  CHECK(set.stops == std::vector<std::string>{"u", "v"});
  CHECK(set.keys == std::vector<std::string>{"2"});
  CHECK((!set.shade && !set.text));
  CHECK(parsed(set, {"count", "a"}) == "count");  // a command of its own, beside which there are others
  CHECK(parsed(set, {"count", "all"}) == "all");
  CHECK(parsed(set, {"show", "--text", "", "--shade", "dark", "b"}) == "show");
  CHECK((set.shade == Shade::dark && set.text == "" && set.file == "b"));
}

TEST_CASE("commands: a value in brackets is taken as it is written") {
  Arguments set;
  CHECK(parsed(set, {"show", "[a,b]", "--names", "[MASK]", "[1, 2]", "[]", "--stop=[SEP]", "--text", "[x]"}) == "show");
  CHECK(set.names == std::vector<std::string>{"[MASK]", "[1, 2]", "[]"});
  CHECK(set.stops == std::vector<std::string>{"[SEP]"});
  CHECK((set.file == "[a,b]" && set.text == "[x]"));
  CHECK(parsed(set, {"show", "a", "--names=[b]", "c"}) == "show");
  CHECK(set.names == std::vector<std::string>{"[b]", "c"});
  CHECK(refusal({"show", "a", "[b]"}) == "The following argument was not expected: [b] (see --help)");
  CHECK(refusal({"show", "a", "--count", "[2]"}) ==
        "--count: expected a whole number from 1 to 9, got [2] (see --help)");
}

TEST_CASE("commands: an equals sign with nothing after it gives an empty value, not the next word") {
  Arguments set;
  CHECK(parsed(set, {"show", "a", "--text=", "--count=9", "--key", "1", "--key=", "--names=", "b"}) == "show");
  CHECK((set.text == "" && set.count == 9));
  CHECK(set.keys == std::vector<std::string>{""});
  CHECK(set.names == std::vector<std::string>{"", "b"});
  CHECK(refusal({"show", "a", "--count=", "--json"}).starts_with("--count: expected a whole number from 1 to 9, got"));
}

TEST_CASE("commands: options that take long to list are listed only for the command that is named") {
  std::string key;
  int listed = 0;
  Command program{.name = "program",
                  .help = "Tests",
                  .commands = {{.name = "show",
                                .help = "Shows",
                                .add_options =
                                    [&](Command& show) {
                                      ++listed;
                                      show.options.push_back({"--key", &key, "A key"});
                                    },
                                .run = [] {}},
                               {.name = "hide", .help = "Hides", .run = [] {}}}};
  const std::vector<const char*> hide{"program", "hide"}, show{"program", "show", "--key", "a"};
  const auto named = [&](const std::vector<const char*>& words) {
    return parse_command_line(program, "1", static_cast<int>(words.size()), words.data())->name;
  };
  CHECK(named(hide) == "hide");
  CHECK(listed == 0);
  CHECK(named(show) == "show");
  CHECK(listed == 1);
  CHECK(key == "a");
}

TEST_CASE("commands: a key that is one of many is taken, refused and found as any other option") {
  std::vector<std::string> rate, names;
  const auto parse = [&](std::vector<const char*> words) {
    const OptionRules one_value{.values = ListValues::last, .one_of_many = true};
    Command program{.name = "program",
                    .help = "Tests",
                    .commands = {{.name = "show",
                                  .help = "Shows",
                                  .options = {{"--model.rate", &rate, "A rate", one_value},
                                              {"--names", &names, "Names", one_value}},
                                  .run = [] {}}}};
    words.insert(words.begin(), {"program", "show"});
    try {
      parse_command_line(program, "1", static_cast<int>(words.size()), words.data());
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(parse({"--model.rate", "1"}) == "");
  CHECK((rate == std::vector<std::string>{"1"} && names.empty()));
  CHECK(parse({"--model.rate=2", "--names", "a", "--names", "b"}) == "");
  CHECK((rate == std::vector<std::string>{"2"} && names == std::vector<std::string>{"b"}));
  CHECK(parse({"--names"}) == "--names: expected a value, got none (see --help)");
  CHECK(parse({"--rate", "1"}) == "unknown option --rate: did you mean --model.rate? (see --help)");
}

TEST_CASE("commands: what the rules of an option do not accept is refused in one line") {
  CHECK(refusal({"show"}) == "expected file, got none (see --help)");
  CHECK(refusal({"count"}) == "expected file, got none (see --help)");
  CHECK(refusal({"show", "a", "--stop", "u", "v"}) == "The following argument was not expected: v (see --help)");
  CHECK(refusal({"show", "a", "--count", "10"}) == "--count: expected a whole number from 1 to 9, got 10 (see --help)");
  CHECK(refusal({"show", "a", "--power", "inf"}) == "--power: expected a finite number, got inf (see --help)");
  CHECK(refusal({"show", "a", "--rate", "-1"}).starts_with("--rate: "));
  CHECK(refusal({"show", "a", "--from", ""}) == "--from: expected a value, got an empty one (see --help)");
  CHECK(refusal({"show", "a", "--text", "x", "--json"}) == "--json excludes --text (see --help)");
  CHECK(refusal({"show", "a", "--shade", "dark"}) == "--shade requires --text (see --help)");
  CHECK(refusal({"show", "a", "--text", "x", "--shade", "red"}).starts_with("--shade: "));
  CHECK(refusal({"shw"}) == "unknown command shw: did you mean show? (see --help)");
  CHECK(refusal({"show", "a", "--cuont", "1"}) == "unknown option --cuont: did you mean --count? (see --help)");
}

TEST_CASE("results: a table fills its columns up, but not the last one, and counts characters") {
  Table table({{.width = 5, .gap = 0}, {.width = 4, .right = true, .gap = 1}, {}});
  table.add({"één", "1", "x"});
  table.add({"longer", "12345", "y"});
  table.add({"end", "2", ""});
  CHECK(table.text() ==
        "één      1  x\n"
        "longer 12345  y\n"
        "end      2\n");
  CHECK(Table::fitted({{"a", "bb"}, {"ccc", "d"}}).text() == "a    bb\nccc  d\n");
  CHECK(Table::fitted({{"ä", "b"}, {"日本", "c"}, {"abcd", "d"}}).text() == "ä     b\n日本  c\nabcd  d\n");
  CHECK(json_text({{"token", "\xFF"}}) == "{\"token\":\"\xEF\xBF\xBD\"}");
}
