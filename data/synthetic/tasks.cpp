#include "data/synthetic/tasks.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <string_view>

#include "core/error.h"

namespace tapeformer {
namespace {

constexpr std::array<std::string_view, 12> kMonths{"January",   "February", "March",    "April",
                                                   "May",       "June",     "July",     "August",
                                                   "September", "October",  "November", "December"};
constexpr std::array<std::string_view, 7> kWeekdays{"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                    "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 20> kSmall{
    "zero", "one",    "two",    "three",    "four",     "five",    "six",     "seven",     "eight",    "nine",
    "ten",  "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
constexpr std::array<std::string_view, 10> kTens{"",      "",      "twenty",  "thirty", "forty",
                                                 "fifty", "sixty", "seventy", "eighty", "ninety"};

std::string line_of(const std::string& source, const std::string& target) {
  return str_cat(source, '\t', target, '\n');
}

std::int64_t between(RandomStream& random, std::int64_t least, std::int64_t most) {
  return least + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most - least + 1)));
}

std::string random_letters(RandomStream& random) {
  std::string letters(static_cast<std::size_t>(between(random, 4, 12)), 'a');
  for (char& letter : letters) letter = static_cast<char>('a' + random.below(26));
  return letters;
}

// Draws a number below 10, 100, … or 10^most: each of these bounds is equally probable.
std::int64_t random_number(RandomStream& random, int most) {
  std::int64_t limit = 10;
  for (std::int64_t digits = between(random, 1, most); digits > 1; --digits) limit *= 10;
  return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(limit)));
}

// Formats 1st, 2nd, 3rd, 4th, … 11th, …
std::string ordinal(unsigned day) {
  const bool teens = day / 10 == 1;
  const char* const ending = day % 10 == 1 && !teens   ? "st"
                             : day % 10 == 2 && !teens ? "nd"
                             : day % 10 == 3 && !teens ? "rd"
                                                       : "th";
  return str_cat(day, ending);
}

// Writes a number from 1 to 999 in words.
std::string hundreds_in_words(std::int64_t number) {
  std::string words;
  if (number >= 100) words = str_cat(kSmall[number / 100], " hundred");
  if (const std::int64_t rest = number % 100; rest > 0) {
    if (!words.empty()) words += ' ';
    if (rest < 20) {
      words += kSmall[rest];
    } else {
      words += kTens[rest / 10];
      if (rest % 10 > 0) words += str_cat('-', kSmall[rest % 10]);
    }
  }
  return words;
}

}  // namespace

std::string reverse_line(RandomStream& random) {
  const std::string letters = random_letters(random);
  return line_of(letters, {letters.rbegin(), letters.rend()});
}

std::vector<AlignmentLink> reverse_alignment(std::string_view source) {
  std::vector<AlignmentLink> links;
  for (std::int64_t i = std::ssize(source); i-- > 0;) links.push_back({i, std::ssize(source) - 1 - i});
  return links;
}

std::string sort_line(RandomStream& random) {
  const std::string letters = random_letters(random);
  std::string sorted = letters;
  std::ranges::sort(sorted);
  return line_of(letters, sorted);
}

std::string dates_line(RandomStream& random) {
  using namespace std::chrono;
  const sys_days first = year{1900} / January / 1, last = year{2099} / December / 31;
  const sys_days date = first + days{between(random, 0, (last - first).count())};
  const year_month_day day{date};
  const auto d = static_cast<unsigned>(day.day()), m = static_cast<unsigned>(day.month());
  const int y = static_cast<int>(day.year());
  const std::string_view month = kMonths[m - 1], brief = month.substr(0, 3);
  const std::string_view weekday_name = kWeekdays[weekday{date}.c_encoding()];
  const std::array sources{str_cat(d, ' ', month, ' ', y),
                           str_cat(month, ' ', d, ", ", y),
                           str_cat(ordinal(d), " of ", month, ' ', y),
                           str_cat(brief, ' ', d, ' ', y),
                           str_cat(weekday_name, ", ", d, ' ', month, ' ', y),
                           str_cat(weekday_name.substr(0, 3), ", ", d, ' ', brief, ' ', y),
                           str_cat(month, " the ", ordinal(d), ", ", y),
                           str_cat(d, '.', m, '.', y)};
  char iso[16];
  std::snprintf(iso, sizeof(iso), "%04d-%02u-%02u", y, m, d);
  return line_of(sources[random.below(sources.size())], iso);
}

std::string number_in_words(std::int64_t number) {
  check(number >= 0 && number < 1000000, "number_in_words: expected 0 to 999999, got ", number);
  if (number == 0) return std::string(kSmall[0]);
  if (number < 1000) return hundreds_in_words(number);
  const std::string thousands = str_cat(hundreds_in_words(number / 1000), " thousand");
  return number % 1000 == 0 ? thousands : str_cat(thousands, ' ', hundreds_in_words(number % 1000));
}

std::string numbers_line(RandomStream& random) {
  const std::int64_t number = random_number(random, 6);
  const std::string digits = str_cat(number), words = number_in_words(number);
  return random.below(2) ? line_of(digits, words) : line_of(words, digits);
}

std::string add_line(RandomStream& random) {
  const std::int64_t a = random_number(random, 4), b = random_number(random, 4);
  return line_of(str_cat(a, '+', b), str_cat(a + b));
}

}  // namespace tapeformer
