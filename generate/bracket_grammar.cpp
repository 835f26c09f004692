#include "generate/bracket_grammar.h"

#include <algorithm>

#include "core/error.h"

namespace tapeformer {
namespace {

// Whether it is a visible character of ASCII, and no bracket.
bool is_label_char(char c) { return c > ' ' && c <= '~' && c != '(' && c != ')'; }

std::vector<std::string> words_in(std::string_view sentence) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  std::vector<std::string> words;
  for (std::size_t at = sentence.find_first_not_of(kSpace); at != sentence.npos;) {
    const std::size_t end = std::min(sentence.find_first_of(kSpace, at), sentence.size());
    words.emplace_back(sentence.substr(at, end - at));
    at = sentence.find_first_not_of(kSpace, end);
  }
  return words;
}

// The sum, if both are known.
std::optional<std::int64_t> sum_of(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
  return a && b ? std::optional(*a + *b) : std::nullopt;
}

}  // namespace

BracketVocabulary::BracketVocabulary(const Tokenizer& tokenizer, std::int32_t end) : end_(end) {
  for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    tokens_.push_back(tokenizer.is_special(id) ? std::string_view() : tokenizer.token_bytes(id));
    if (tokens_.back().empty()) continue;
    ids_.emplace(tokens_.back(), id);
    longest_ = std::max(longest_, tokens_.back().size());
    if (std::ranges::all_of(tokens_.back(), is_label_char) &&
        (short_label_.empty() || tokens_.back().size() < short_label_.size())) {
      short_label_ = tokens_.back();
    }
  }
  if (!tokens_of("(") || !tokens_of(" )") || short_label_.empty()) {
    fail_usage("grammar brackets: the ", tokenizer.kind(), " tokenizer has no tokens for \"(\", \" )\" and a label");
  }
  constexpr std::string_view kProbe = "( )";
  std::string written;
  for (const std::int32_t id : tokenizer.encode(kProbe)) written += tokenizer.token_bytes(id);
  if (written != kProbe) {
    fail_usage("grammar brackets: expected a char, word or bpe tokenizer, got ", tokenizer.kind());
  }
}

std::optional<std::int64_t> BracketVocabulary::tokens_of(std::string_view text) const {
  std::int64_t count = 0;
  for (; !text.empty(); ++count) {
    std::size_t length = std::min(longest_, text.size());
    while (length > 0 && !ids_.contains(text.substr(0, length))) --length;
    if (length == 0) return std::nullopt;
    text.remove_prefix(length);
  }
  return count;
}

// What has been written of a tree. Its next part is a bracket that opens or closes, or a word.
struct BracketGrammar::State {
  enum class Place { begin, label, word, close, after, space };
  struct Open {
    std::string label;
    std::size_t first;          // the number of words before the bracket
    std::int64_t close_tokens;  // of its closing bracket, with the space before it
  };

  Place place = Place::begin;  // in a part, after one, or after the space that follows one
  std::size_t at = 0;          // the bytes of the word, or of the closing label, that have been written
  std::size_t words = 0;       // the number of words that have been written completely
  std::string label;           // of the bracket that is being opened
  std::vector<Open> open;      // the brackets that have been opened, with complete labels
  bool is_complete() const { return place == Place::after && open.empty(); }
};

BracketGrammar::BracketGrammar(const BracketVocabulary& vocabulary, std::string_view sentence, std::int64_t most)
    : vocabulary_(vocabulary), most_(most), words_(words_in(sentence)), word_tokens_(words_.size() + 1, 0) {
  check(!words_.empty(), "grammar brackets: expected a sentence, got none");
  for (std::size_t i = words_.size(); i-- > 0;) {
    const std::string& word = words_[i];
    check(word[0] != '(' && word[0] != ')', "grammar brackets: expected words that do not begin with a bracket, got ",
          word, " (write -LRB- or -RRB-)");
    const auto tokens = vocabulary_.tokens_of(" " + word);
    check(tokens.has_value(), "grammar brackets: the model has no tokens for the word ", word);
    word_tokens_[i] = word_tokens_[i + 1] + *tokens;
  }
  const std::int64_t shortest = tokens_left(State()).value_or(most) + 1;
  check(shortest <= most, "grammar brackets: the shortest tree of the sentence has ", shortest,
        " tokens, expected at most ", most);
}

std::optional<std::int64_t> BracketGrammar::close_tokens(std::string_view label) const {
  return vocabulary_.tokens_of(str_cat(" )", label));
}

// Closes all brackets as soon as possible, which is after the remaining words. Each of them needs a space before it,
// but that of the first one may have been written already.
std::optional<std::int64_t> BracketGrammar::tokens_left(const State& state) const {
  using Place = State::Place;
  std::int64_t closing = 0;
  for (const State::Open& open : state.open) closing += open.close_tokens;
  const auto rest_of = [&](std::string_view text) { return vocabulary_.tokens_of(text); };
  const std::int64_t words = word_tokens_[state.words];
  switch (state.place) {
    case Place::begin:
      return sum_of(sum_of(rest_of("(" + vocabulary_.short_label()), close_tokens(vocabulary_.short_label())), words);
    case Place::label: {
      const std::string& label = state.label.empty() ? vocabulary_.short_label() : state.label;
      return sum_of(sum_of(rest_of(state.label.empty() ? label : ""), close_tokens(label)), words + closing);
    }
    case Place::word:
      return sum_of(rest_of(std::string_view(words_[state.words]).substr(state.at)),
                    word_tokens_[state.words + 1] + closing);
    case Place::close: {
      const State::Open& open = state.open.back();
      return sum_of(rest_of(std::string_view(open.label).substr(state.at)), words + closing - open.close_tokens);
    }
    case Place::after:
      return words + closing;
    case Place::space:
      if (state.words < words_.size()) {
        return sum_of(rest_of(words_[state.words]), word_tokens_[state.words + 1] + closing);
      }
      return sum_of(rest_of(")" + state.open.back().label), closing - state.open.back().close_tokens);
  }
  return std::nullopt;
}

// Advances the state by the next byte of a text; returns false if no tree continues with this byte.
bool BracketGrammar::reads(State& state, char c) const {
  using Place = State::Place;
  const bool words_left = state.words < words_.size();
  switch (state.place) {
    case Place::begin:
      state.place = Place::label;
      return c == '(';
    case Place::label: {
      if (c != ' ') {
        state.label += c;
        return is_label_char(c);
      }
      const auto tokens = close_tokens(state.label);
      if (state.label.empty() || !tokens) return false;
      state.open.push_back({std::exchange(state.label, {}), state.words, *tokens});
      state.place = Place::space;
      return true;
    }
    case Place::word:
      if (c != words_[state.words][state.at]) return false;
      if (++state.at == words_[state.words].size()) ++state.words, state.place = Place::after;
      return true;
    case Place::close:
      if (c != state.open.back().label[state.at]) return false;
      if (++state.at == state.open.back().label.size()) state.open.pop_back(), state.place = Place::after;
      return true;
    case Place::after:
      state.place = Place::space;
      return c == ' ' && !state.open.empty();
    case Place::space:
      state.at = 0;
      if (c == ')') {
        state.place = Place::close;
        const bool is_root = state.open.size() == 1;
        return state.open.back().first < state.words && !(is_root && words_left);
      }
      state.place = c == '(' ? Place::label : Place::word;
      return words_left && (c == '(' || reads(state, c));
  }
  return false;
}

OutputGrammar::Allowed BracketGrammar::allowed_after(std::span<const std::int32_t> written) const {
  State state;
  for (const std::int32_t id : written) {
    for (const char c : vocabulary_.bytes(id)) check(reads(state, c), "grammar brackets: the text is no tree");
  }
  const std::int64_t left = most_ - std::ssize(written);
  return [this, state, left](std::int32_t id) {
    if (id == vocabulary_.end()) return state.is_complete();
    const std::string_view bytes = vocabulary_.bytes(id);
    if (bytes.empty()) return false;
    State next = state;
    for (const char c : bytes) {
      if (!reads(next, c)) return false;
    }
    const auto tokens = tokens_left(next);
    return tokens && *tokens + 1 <= left - 1;  // one for this token, one for the end
  };
}

}  // namespace tapeformer
