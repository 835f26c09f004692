// Phrase-structure trees as labelled brackets over words, and the two ways to write them: as one flat line, which a
// sequence model can write (Vinyals et al. 2015), and with the brackets of the Penn Treebank.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapeformer {

// The words [begin, end) of a sentence, which form one phrase.
struct Bracket {
  std::string label;
  std::int64_t begin, end;
  bool operator==(const Bracket&) const = default;
};

// The tree of a sentence. Its brackets have the order in which they open, so that a phrase comes before those inside.
struct Bracketing {
  std::vector<std::string> words = {};
  std::vector<std::string> tags = {};  // the part of speech of each word; empty: they are not known
  std::vector<Bracket> brackets = {};  // without those of single words (preterminals); none is empty
  std::string broken = {};             // what is wrong with the text that was read; empty: it is one tree
};

// Reads "(S (NP dogs )NP (VP chase (NP cats )NP )VP )S". A text that is no tree is read as far as it goes, and `broken`
// says what is wrong: a bracket that is never closed ends with the text; what closes an outer bracket closes all inside
// as well; what closes none is left out, and so is a bracket without words.
Bracketing read_flat_tree(std::string_view line);
// Writes the tree in that form.
std::string flat_text(const Bracketing& tree);
// Writes the tree in one line with the Penn Treebank's brackets: "(S (NP (NNS dogs)) …)". A word without a tag has XX,
// and a bracket within a word is -LRB- or -RRB-.
std::string treebank_text(const Bracketing& tree);

// The two ways to write trees in a file. flat: every line is a flat tree, or a sentence, a tab and its flat tree.
// treebank: the Penn Treebank's brackets; a tree begins at each line whose first character is "(", or that has a
// sentence and a tab before "(", and may go on over the lines below. In this form, labels are read without what follows
// "-", "=" or "|" (NP-SBJ becomes NP), and empty elements (-NONE-) and a root that has no label, or is called TOP or
// ROOT, are left out.
enum class TreeForm { flat, treebank };
// The form of a file: flat if some word of it closes a bracket with its label, as ")NP" does, but not ")(NP".
TreeForm tree_form(std::string_view text);
// Reads all trees of a text in this form, broken ones too (Bracketing::broken).
std::vector<Bracketing> read_trees(std::string_view text, TreeForm form);

}  // namespace tapeformer
