#include "data/trees/bracketing.h"

#include <algorithm>

#include "core/error.h"
#include "core/text/lines.h"
#include "core/text/replace_all.h"

namespace tapeformer {
namespace {

constexpr std::string_view kTreeSpace = " \t\r\n\v\f";

// Removes the next word from the text and returns it; empty at the end.
std::string_view take_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kTreeSpace), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(kTreeSpace));
  text.remove_prefix(word.size());
  return word;
}

// Puts together a tree from its parts in the order of the text. The first thing that is wrong is kept.
class TreeBuilder {
 public:
  void open(std::string_view label) {
    if (open_.empty() && !tree_.brackets.empty()) complain("it has more than one root");
    open_.push_back(tree_.brackets.size());
    tree_.brackets.push_back({std::string(label), count(), -1});
  }
  void word(std::string_view word, std::string_view tag = {}) {
    if (open_.empty() && tag.empty()) complain(str_cat("the word ", word, " is outside of all brackets"));
    tree_.words.emplace_back(word);
    if (!tag.empty()) tree_.tags.emplace_back(tag);
  }
  // Closes the innermost bracket.
  void close() {
    tree_.brackets[open_.back()].end = count();
    open_.pop_back();
  }
  void close(std::string_view label) {
    const auto same = [&](std::size_t i) { return tree_.brackets[i].label == label; };
    if (std::ranges::none_of(open_, same)) return complain(str_cat(")", label, " closes no bracket"));
    while (!same(open_.back())) {
      complain(str_cat(")", label, " closes (", tree_.brackets[open_.back()].label));
      close();
    }
    if (tree_.brackets[open_.back()].begin == count()) complain(str_cat("(", label, " has no words"));
    close();
  }
  void complain(std::string what) {
    if (tree_.broken.empty()) tree_.broken = std::move(what);
  }
  // Closes what is open. Brackets without words are left out.
  Bracketing finish() {
    if (!open_.empty()) complain(str_cat("(", tree_.brackets[open_.back()].label, " is not closed"));
    while (!open_.empty()) close();
    std::erase_if(tree_.brackets, [](const Bracket& bracket) { return bracket.begin == bracket.end; });
    return std::move(tree_);
  }

 private:
  std::int64_t count() const { return std::ssize(tree_.words); }

  Bracketing tree_;
  std::vector<std::size_t> open_;  // indices of brackets
};

// Calls open(bracket), close(bracket) and word(index) in the order of the text.
template <class Open, class Close, class Word>
void walk(const Bracketing& tree, const Open& open, const Close& close, const Word& word) {
  std::vector<const Bracket*> inside;
  auto next = tree.brackets.begin();
  for (std::int64_t at = 0; at <= std::ssize(tree.words); ++at) {
    for (; !inside.empty() && inside.back()->end == at; inside.pop_back()) close(*inside.back());
    for (; next != tree.brackets.end() && next->begin == at; ++next) {
      open(*next);
      inside.push_back(&*next);
    }
    if (at < std::ssize(tree.words)) word(at);
  }
}

// A label of the Penn Treebank without function tags and indices: NP-SBJ-1 → NP. -LRB- and its like stay.
std::string_view bare_label(std::string_view label) {
  return label.starts_with('-') ? label : label.substr(0, label.find_first_of("-=|"));
}

// A word as the Penn Treebank writes it, in which a bracket would be one of the tree.
std::string treebank_word(std::string_view word) { return replace_all(replace_all(word, "(", "-LRB-"), ")", "-RRB-"); }

bool is_root(std::string_view label) { return label.empty() || label == "TOP" || label == "ROOT"; }

// Removes the next "(", ")" or atom from the text and returns it; empty at the end.
std::string_view take_part(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kTreeSpace), text.size()));
  const bool atom = !text.empty() && text[0] != '(' && text[0] != ')';
  const std::string_view part = text.substr(0, atom ? text.find_first_of(" \t\r\n\v\f()") : 1);
  text.remove_prefix(part.size());
  return part;
}

// Returns where a tree of the Penn Treebank begins in a line: at its first character, or behind a sentence and a tab.
// npos: the line goes on with the tree above.
std::size_t treebank_begin(std::string_view line) {
  if (line.starts_with('(')) return 0;
  const std::size_t tab = line.find("\t(");
  const bool has_sentence = tab != line.npos && kTreeSpace.find(line[0]) == kTreeSpace.npos && line[0] != ')';
  return has_sentence ? tab + 1 : line.npos;
}

// Reads one tree of the Penn Treebank.
Bracketing read_treebank_tree(std::string_view text) {
  TreeBuilder tree;
  std::vector<bool> shown;  // for each open bracket, whether the builder has it
  for (std::string_view part = take_part(text); !part.empty(); part = take_part(text)) {
    if (part == ")") {
      if (shown.empty()) {
        tree.complain("it closes a bracket that is not open");
        break;
      }
      if (shown.back()) tree.close();
      shown.pop_back();
      continue;
    }
    if (part != "(") {
      tree.complain(str_cat("the word ", part, " has no tag"));
      tree.word(part);
      continue;
    }
    std::string_view rest = text;
    std::string_view label = take_part(rest);
    label = label == "(" || label == ")" ? std::string_view() : label;
    if (!label.empty()) text = rest;
    const std::string_view word = take_part(rest);
    if (!label.empty() && word != "(" && word != ")" && !word.empty() && take_part(rest) == ")") {
      if (label != "-NONE-") tree.word(word, label);
      text = rest;
      continue;
    }
    shown.push_back(!is_root(bare_label(label)));
    if (shown.back()) tree.open(bare_label(label));
  }
  if (!shown.empty()) tree.complain("a bracket is not closed");
  return tree.finish();
}

}  // namespace

Bracketing read_flat_tree(std::string_view line) {
  TreeBuilder tree;
  if (line.find_first_not_of(kTreeSpace) == line.npos) tree.complain("it is empty");
  for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) {
    if (word[0] == '(') {
      tree.open(word.substr(1));
    } else if (word[0] == ')') {
      tree.close(word.substr(1));
    } else {
      tree.word(word);
    }
  }
  return tree.finish();
}

std::string flat_text(const Bracketing& tree) {
  std::string text;
  const auto add = [&](std::string_view mark, std::string_view name) {
    text.append(text.empty() ? "" : " ").append(mark).append(name);
  };
  walk(
      tree, [&](const Bracket& bracket) { add("(", bracket.label); },
      [&](const Bracket& bracket) { add(")", bracket.label); }, [&](std::int64_t i) { add("", tree.words[i]); });
  return text;
}

std::string treebank_text(const Bracketing& tree) {
  std::string text;
  const auto space = [&] { return text.empty() || text.back() == '(' ? "" : " "; };
  walk(
      tree, [&](const Bracket& bracket) { text += str_cat(space(), '(', bracket.label); },
      [&](const Bracket&) { text += ')'; },
      [&](std::int64_t i) {
        text += str_cat(space(), '(', tree.tags.empty() ? "XX" : tree.tags[i], ' ', treebank_word(tree.words[i]), ')');
      });
  return text;
}

TreeForm tree_form(std::string_view text) {
  for (std::string_view word = take_word(text); !word.empty(); word = take_word(text)) {
    if (word.size() > 1 && word[0] == ')' && word[1] != ')' && word[1] != '(') return TreeForm::flat;
  }
  return TreeForm::treebank;
}

std::vector<Bracketing> read_trees(std::string_view text, TreeForm form) {
  std::vector<Bracketing> trees;
  if (form == TreeForm::flat) {
    for (const std::string_view line : split_lines(text)) {
      trees.push_back(read_flat_tree(line.substr(line.rfind('\t') + 1)));
    }
    return trees;
  }
  std::string tree;  // its lines
  const auto finish = [&] {
    if (tree.find_first_not_of(kTreeSpace) != tree.npos) trees.push_back(read_treebank_tree(tree));
    tree.clear();
  };
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (const std::size_t begin = treebank_begin(line); begin != line.npos) {
      finish();
      line.remove_prefix(begin);
    }
    tree.append(line) += '\n';
  }
  finish();
  return trees;
}

}  // namespace tapeformer
