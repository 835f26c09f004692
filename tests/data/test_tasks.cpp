#include "data/synthetic/tasks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "core/error.h"
#include "data/synthetic/corpora.h"
#include "tests/long_test.h"

using namespace tapeformer;

namespace {

constexpr int kLines = 3000;

// Calls f(source, target) for many lines of a task, and checks the form that all have.
template <class F>
void for_lines(const std::string& name, const F& f) {
  std::set<std::string> different;
  for (int i = 0; i < kLines; ++i) {
    const std::string line = corpus_line(name, i, 5);
    const std::size_t tab = line.find('\t');
    REQUIRE(line.ends_with('\n'));
    REQUIRE(std::count(line.begin(), line.end(), '\t') == 1);
    REQUIRE(std::count(line.begin(), line.end(), '\n') == 1);
    REQUIRE(std::ranges::all_of(line, [](char c) { return c == '\t' || c == '\n' || (c >= ' ' && c <= '~'); }));
    different.insert(line);
    CAPTURE(line);
    f(line.substr(0, tab), line.substr(tab + 1, line.size() - tab - 2));
  }
  CHECK(different.size() > kLines * 9 / 10);
}

// What a number in words is worth, read from left to right.
std::int64_t value_of(std::string words) {
  const std::map<std::string, std::int64_t> values{
      {"zero", 0},      {"one", 1},       {"two", 2},       {"three", 3},    {"four", 4},     {"five", 5},
      {"six", 6},       {"seven", 7},     {"eight", 8},     {"nine", 9},     {"ten", 10},     {"eleven", 11},
      {"twelve", 12},   {"thirteen", 13}, {"fourteen", 14}, {"fifteen", 15}, {"sixteen", 16}, {"seventeen", 17},
      {"eighteen", 18}, {"nineteen", 19}, {"twenty", 20},   {"thirty", 30},  {"forty", 40},   {"fifty", 50},
      {"sixty", 60},    {"seventy", 70},  {"eighty", 80},   {"ninety", 90}};
  std::ranges::replace(words, '-', ' ');
  std::istringstream stream(words);
  std::int64_t thousands = 0, below = 0;
  for (std::string word; stream >> word;) {
    if (word == "thousand") {
      thousands = std::exchange(below, 0) * 1000;
    } else if (word == "hundred") {
      below *= 100;
    } else {
      below += values.at(word);
    }
  }
  return thousands + below;
}

bool is_digits(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

TEST_CASE("tasks: reverse and sort") {
  std::set<std::size_t> lengths;
  for_lines("reverse", [&](const std::string& source, const std::string& target) {
    CHECK(std::string(target.rbegin(), target.rend()) == source);
    lengths.insert(source.size());
  });
  CHECK(lengths == std::set<std::size_t>{4, 5, 6, 7, 8, 9, 10, 11, 12});
  for_lines("sort", [&](const std::string& source, const std::string& target) {
    CHECK(std::ranges::is_sorted(target));
    CHECK(std::ranges::is_permutation(source, target));
  });
}

TEST_CASE("tasks: dates are of the calendar, and every part of the source is in the target" * long_test()) {
  std::map<std::string, int> forms;
  const std::string months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  for_lines("dates", [&](const std::string& source, const std::string& target) {
    REQUIRE(target.size() == 10);
    const int year = std::stoi(target.substr(0, 4)), month = std::stoi(target.substr(5, 2)),
              day = std::stoi(target.substr(8));
    CHECK(target[4] == '-');
    CHECK(target[7] == '-');
    REQUIRE((month >= 1 && month <= 12));
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    const int days[] = {31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    CHECK((year >= 1900 && year <= 2099));
    CHECK((day >= 1 && day <= days[month - 1]));
    CHECK(source.ends_with(str_cat(year)));
    const bool numeric = source == str_cat(day, '.', month, '.', year);
    CHECK((numeric || source.find(months[month - 1]) != source.npos));
    CHECK(source.find(str_cat(day)) != source.npos);
    // Letters and digits alike tell the forms apart.
    std::string form = source.find("day,") != source.npos ? "weekday" : source.find(" of ") != source.npos ? "of" : "";
    if (numeric) form = "numeric";
    if (source.find(" the ") != source.npos) form = "the";
    ++forms[form];
  });
  CHECK(forms["weekday"] > kLines / 16);
  CHECK(forms["of"] > kLines / 16);
  CHECK(forms["numeric"] > kLines / 16);
  CHECK(forms["the"] > kLines / 16);
  // Weekdays and ordinals that a calendar has.
  int known = 0;
  for (int i = 0; i < 200000; ++i) {
    const std::string line = corpus_line("dates", i, 1);
    if (line.ends_with("\t2000-02-29\n")) {
      ++known;
      if (line.find(',') != line.npos && line.find("ue") != line.npos) CHECK(line.starts_with("Tue"));
      if (line.find("of") != line.npos) CHECK(line.starts_with("29th of February 2000"));
    }
  }
  CHECK(known > 0);
}

TEST_CASE("tasks: numbers, in words and in digits" * long_test()) {
  CHECK(number_in_words(0) == "zero");
  CHECK(number_in_words(13) == "thirteen");
  CHECK(number_in_words(40) == "forty");
  CHECK(number_in_words(100) == "one hundred");
  CHECK(number_in_words(21407) == "twenty-one thousand four hundred seven");
  CHECK(number_in_words(900000) == "nine hundred thousand");
  CHECK(number_in_words(999999) == "nine hundred ninety-nine thousand nine hundred ninety-nine");
  CHECK_THROWS_WITH_AS(number_in_words(1000000), "number_in_words: expected 0 to 999999, got 1000000", Error);
  for (std::int64_t number = 0; number < 1000000; number += 37) {
    if (value_of(number_in_words(number)) != number) FAIL(number);
  }
  int to_words = 0;
  std::set<std::size_t> digits;
  for (int i = 0; i < kLines; ++i) {
    const std::string line = corpus_line("numbers", i, 5);
    std::string source = line.substr(0, line.find('\t')), target = line.substr(source.size() + 1);
    target.pop_back();
    if (is_digits(source)) {
      ++to_words;
      std::swap(source, target);
    }
    REQUIRE(is_digits(target));
    CHECK(source == number_in_words(std::stoll(target)));
    digits.insert(target.size());
  }
  CHECK(digits == std::set<std::size_t>{1, 2, 3, 4, 5, 6});
  CHECK(std::abs(to_words - kLines / 2) < kLines / 10);
}

TEST_CASE("tasks: sums") {
  for_lines("add", [](const std::string& source, const std::string& target) {
    const std::size_t plus = source.find('+');
    REQUIRE(plus != source.npos);
    const std::string a = source.substr(0, plus), b = source.substr(plus + 1);
    REQUIRE((is_digits(a) && is_digits(b) && is_digits(target)));
    CHECK(a.size() <= 4);
    CHECK(b.size() <= 4);
    CHECK(std::stoll(a) + std::stoll(b) == std::stoll(target));
  });
}

TEST_CASE("tasks: clauses are translated word by word, the last word first") {
  std::map<std::string, std::string> words;  // the translation of each word, which is always the same
  std::map<std::size_t, int> lengths;
  const auto split = [](const std::string& text) {
    std::istringstream stream(text);
    return std::vector<std::string>(std::istream_iterator<std::string>(stream), {});
  };
  const std::string noun = "((red|old|small|brave) )?(fox|king|owl|tree|child|river|horse|house)";
  const std::string clause = noun + " (sees|likes|finds|follows) " + noun;
  const std::regex sentence(clause + "( (and|but|while) " + clause + ")*");
  for_lines("clauses", [&](const std::string& source, const std::string& target) {
    CHECK(std::regex_match(source, sentence));
    const std::vector<std::string> sources = split(source), targets = split(target);
    REQUIRE(sources.size() == targets.size());
    ++lengths[(sources.size() - 1) / 10];
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const std::string& translation = targets[targets.size() - 1 - i];
      CHECK(words.emplace(sources[i], translation).first->second == translation);
    }
  });
  CHECK(words.size() == 8 + 4 + 4 + 3);
  for (const std::size_t part : {0, 1, 2, 3}) CHECK(lengths[part] > 50);  // 1–10, …, 31–40 words
}

TEST_CASE("tasks: have no entropy that is known") {
  for (const char* name : {"reverse", "sort", "dates", "numbers", "add", "clauses"})
    CHECK_FALSE(corpus_entropy(name).has_value());
  CHECK(corpus_entropy("stories").has_value());
}
