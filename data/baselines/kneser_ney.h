// An n-gram model of tokens, with which other models of the same tokens are compared.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/progress.h"
#include "data/text/token_file.h"

namespace tapeformer {

struct KneserNeyOptions {
  int order = 5;           // the tokens of the longest n-gram, 1 to KneserNey::kMaxOrder
  std::int64_t vocab = 0;  // the number of tokens in the vocabulary
  // The token that opens each document, beyond which no n-gram reaches; -1: there are no documents.
  std::int32_t document_token = -1;
  // Learning ends after so many tokens, or when there are so many different n-grams. An n-gram takes about 45 bytes.
  std::int64_t max_tokens = std::numeric_limits<std::int64_t>::max();
  std::int64_t max_ngrams = std::int64_t{8} << 20;
};

// Interpolated modified Kneser-Ney smoothing (Chen & Goodman 1999, An empirical study of smoothing techniques for
// language modeling, section 3). With the n - 1 tokens h before token w, and h' = h without its first token:
//
//   P_n(w|h) = (c(hw) - D_n(c(hw)))/c(h•) + (Σ_v D_n(c(hv)))/c(h•) · P_(n-1)(w|h'),   P_0(w) = 1/vocab
//
// c(h•) = Σ_v c(hv). If it is 0, P_n = P_(n-1). Of the longest n-grams, c is how often they occur; of a shorter one,
// the number of different tokens that occur before it, and also how often it begins a text or document, where nothing
// is before it. With t_r the number of n-grams of one length whose c is r:
//
//   D(0) = 0,  D(r) = r - (r + 1)·Y·t_(r+1)/t_r for r = 1, 2,  D(r >= 3) = 3 - 4·Y·t_4/t_3,  Y = t_1/(t_1 + 2·t_2)
//
// Where these are not defined, or not positive, because the text is small or the vocabulary is, they are 0.5, 1
// and 1.5.
class KneserNey {
 public:
  static constexpr int kMaxOrder = 5;

  // Learns from the tokens, in order. Throws Error for no tokens, and for an order or a vocabulary out of range.
  static KneserNey learn(TokenView tokens, const KneserNeyOptions& options, const ProgressCallback& progress = {});

  // The number of tokens it has learned from: all, or the first ones.
  std::int64_t tokens() const { return tokens_; }
  // D(1), D(2) and D(3 or more) of the n-grams of this length.
  const std::array<double, 3>& discounts(int length) const { return levels_[length].discounts; }

  // The last tokens that were read, up to order - 1; none of them at first.
  struct History {
    std::array<std::uint32_t, kMaxOrder> ngrams = {};  // the n-gram of the last n tokens, for each n; kNone: not known
    int length = 0;
  };
  // Reads a token: returns -ln P(token | history), and adds the token to the history.
  double read(History& history, std::int32_t token) const;

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // The n-grams of one length, numbered in the order in which they are found. A hash table finds the number of an
  // n-gram by its key: the number of the n-gram without its last token, and that token.
  struct Level {
    std::vector<std::uint64_t> keys = {};
    std::vector<std::uint32_t> counts = {};  // c
    std::vector<std::uint32_t> slots = std::vector<std::uint32_t>(16, kNone);
    std::array<double, 3> discounts = {};

    std::size_t slot_of(std::uint64_t key) const;
    // Returns the number of the n-gram, which gets one if it has none.
    std::uint32_t number(std::uint64_t key);
    // Returns kNone for an n-gram that does not occur.
    std::uint32_t find(std::uint64_t key) const { return slots[slot_of(key)]; }
    void grow();
    void set_discounts();
    double discount(std::uint32_t count) const { return discounts[(count < 3 ? count : 3) - 1]; }
  };
  // What follows an n-gram.
  struct Context {
    double discounted = 0;    // Σ_v D(c(hv))
    std::uint32_t total = 0;  // c(h•)
  };

  explicit KneserNey(const KneserNeyOptions& options) : options_(options) {}
  void count(History& history, std::int32_t token);
  void estimate();
  // Moves to the history that ends with the token, whose n-grams are `ends`.
  void advance(History& history, std::int32_t token, const std::array<std::uint32_t, kMaxOrder + 1>& ends) const;
  std::int64_t ngrams() const;

  KneserNeyOptions options_;
  std::int64_t tokens_ = 0;
  std::array<Level, kMaxOrder + 1> levels_;                        // by length; 0 is not used
  std::array<std::vector<Context>, kMaxOrder + 1> contexts_ = {};  // what follows the n-grams of each length
};

}  // namespace tapeformer
