#include "data/synthetic/instructions.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "core/error.h"

namespace tapeformer {
namespace {

std::string sorted(std::string word) {
  std::ranges::sort(word);
  return word;
}

std::string capitals(std::string word) {
  for (char& c : word) c = static_cast<char>(std::toupper(c));
  return word;
}

// The letters with spaces between them.
std::string spelled(const std::string& word) {
  std::string letters;
  for (const char c : word) letters += str_cat(letters.empty() ? "" : " ", std::string(1, c));
  return letters;
}

// A question about a word: two ways to ask it, where % stands for the word, a way to ask it again, and its answer.
struct Instruction {
  std::array<std::string_view, 2> questions;
  std::string_view again;
  std::string (*answer)(std::string word);
};

constexpr std::array kInstructions{
    Instruction{{"Sort the letters of %.", "Put % in alphabetical order."}, "Now sort it.", sorted},
    Instruction{{"Reverse %.", "Write % backwards."},
                "Now reverse it.",
                [](std::string word) { return std::string(word.rbegin(), word.rend()); }},
    Instruction{{"Copy %.", "Repeat % once."}, "Now copy it.", [](std::string word) { return word; }},
    Instruction{{"Spell %.", "Put spaces between the letters of %."},
                "Now spell it.",
                [](std::string word) { return spelled(word); }},
    Instruction{{"Write % in capitals.", "Give me % in upper case."}, "Now in capitals.", capitals},
    Instruction{{"Count the letters of %.", "How long is %?"},
                "How long is it?",
                [](std::string word) { return str_cat(word.size()); }},
};

const Instruction& draw_instruction(RandomStream& random) { return kInstructions[random.below(kInstructions.size())]; }

// No text of this corpus has a character that JSON escapes.
std::string turn(std::string_view question, std::string_view answer) {
  return str_cat(R"({"role": "user", "content": ")", question, R"("}, {"role": "assistant", "content": ")", answer,
                 R"("})");
}

}  // namespace

std::string instructions_line(RandomStream& random) {
  std::string word(3 + random.below(6), 'a');
  for (char& letter : word) letter = static_cast<char>('a' + random.below(26));
  const Instruction& first = draw_instruction(random);
  std::string question(first.questions[random.below(first.questions.size())]);
  question.replace(question.find('%'), 1, word);
  std::string messages = turn(question, first.answer(word));
  if (random.below(4) == 0) {
    const Instruction& second = draw_instruction(random);
    messages += ", " + turn(second.again, second.answer(word));
  }
  return str_cat(R"({"messages": [)", messages, "]}\n");
}

}  // namespace tapeformer
