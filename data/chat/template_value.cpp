#include "data/chat/template_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/error.h"
#include "core/text/utf8.h"

namespace tapeformer {
namespace {

// The number that a value is; nullopt if it is none. Python's True is 1.
std::optional<double> number_of(const TemplateValue& value) {
  if (const bool* b = value.get<bool>()) return *b;
  if (const std::int64_t* i = value.get<std::int64_t>()) return static_cast<double>(*i);
  if (const double* d = value.get<double>()) return *d;
  return std::nullopt;
}

std::optional<std::int64_t> integer_of(const TemplateValue& value) {
  if (const bool* b = value.get<bool>()) return *b;
  if (const std::int64_t* i = value.get<std::int64_t>()) return *i;
  return std::nullopt;
}

bool begins_character(char c) { return !is_continuation_byte(c) && c != kTemplateEscape; }

// The characters of a string; an escape belongs to the character before it.
std::vector<std::string> characters_of(std::string_view text) {
  std::vector<std::string> characters;
  for (const char c : text) {
    if (characters.empty() || begins_character(c)) characters.emplace_back();
    characters.back() += c;
  }
  return characters;
}

[[noreturn]] void fail_operands(std::string_view operation, const TemplateValue& a, const TemplateValue& b) {
  fail(operation, ": expected two numbers or two strings, got ", kind_of(a), " and ", kind_of(b));
}

// x % y and x // y as Python has them: the remainder is exact and has the sign of y, and the quotient follows from it.
double remainder_of(double x, double y) {
  const double remainder = std::fmod(x, y);
  if (remainder == 0) return std::copysign(0.0, y);
  return (remainder < 0) != (y < 0) ? remainder + y : remainder;
}

double whole_quotient(double x, double y) {
  const double quotient = (x - remainder_of(x, y)) / y;  // whole, but for rounding
  return quotient == 0 ? std::copysign(0.0, x / y) : std::round(quotient);
}

TemplateValue combine_numbers(std::string_view operation, const TemplateValue& a, const TemplateValue& b) {
  const std::optional<double> x = number_of(a), y = number_of(b);
  if (!x || !y) fail_operands(operation, a, b);
  const std::optional<std::int64_t> i = integer_of(a), j = integer_of(b);
  const bool divides = operation == "/" || operation == "//" || operation == "%";
  check(!divides || *y != 0, operation, ": division by zero");
  if (operation == "/") return {*x / *y};
  if (i && j) {
    std::int64_t result = 0;
    const bool overflows = operation == "+"   ? __builtin_add_overflow(*i, *j, &result)
                           : operation == "-" ? __builtin_sub_overflow(*i, *j, &result)
                           : operation == "*" ? __builtin_mul_overflow(*i, *j, &result)
                                              : *j == -1;
    check(!overflows, operation, ": the numbers are too large");
    if (!divides) return {result};
    // Python rounds towards minus infinity.
    const std::int64_t remainder = *i % *j, quotient = *i / *j;
    const bool below = remainder != 0 && (remainder < 0) != (*j < 0);
    return {operation == "%" ? remainder + (below ? *j : 0) : quotient - (below ? 1 : 0)};
  }
  if (operation == "+") return {*x + *y};
  if (operation == "-") return {*x - *y};
  if (operation == "*") return {*x * *y};
  return {operation == "%" ? remainder_of(*x, *y) : whole_quotient(*x, *y)};
}

bool is_less(std::string_view operation, const TemplateValue& a, const TemplateValue& b) {
  const std::optional<double> x = number_of(a), y = number_of(b);
  if (x && y) return *x < *y;
  if (!a.string() || !b.string()) fail_operands(operation, a, b);
  return *a.string() < *b.string();
}

// The index of an item, counted from the beginning; nullopt if there is none.
std::optional<std::size_t> index_in(const TemplateValue& index, std::int64_t size) {
  const std::optional<std::int64_t> number = integer_of(index);
  if (!number) fail("[ ]: expected a whole number, got ", kind_of(index));
  const std::int64_t at = *number < 0 ? *number + size : *number;
  if (at < 0 || at >= size) return std::nullopt;
  return static_cast<std::size_t>(at);
}

// Adds the size of an item that is so many levels below the outermost value.
void add_size(const TemplateValue& value, int level, std::size_t& size) {
  check(level < kMostTemplateNesting, "expected values within each other at most ", kMostTemplateNesting, " deep");
  check(!value.get<std::shared_ptr<TemplateNamespace>>(), "a namespace within another value is not supported");
  size += kTemplateItemBytes;
  if (value.string()) size += value.string()->size();
  if (value.list()) {
    for (const TemplateValue& item : *value.list()) add_size(item, level + 1, size);
  } else if (value.dict()) {
    for (const auto& entry : *value.dict()) {
      size += entry.first.size();
      add_size(entry.second, level + 1, size);
    }
  }
  check(size <= kMostTemplateBytes, "a value has more than ", kMostTemplateBytes, " bytes");
}

}  // namespace

const TemplateList* TemplateValue::list() const {
  const auto* pointer = get<std::shared_ptr<TemplateList>>();
  return pointer ? pointer->get() : nullptr;
}

const TemplateDict* TemplateValue::dict() const {
  const auto* pointer = get<std::shared_ptr<TemplateDict>>();
  return pointer ? pointer->get() : nullptr;
}

std::size_t size_as_item(const TemplateValue& value) {
  std::size_t size = 0;
  add_size(value, 1, size);
  return size;
}

TemplateValue make_string(std::string text) {
  check(text.size() <= kMostTemplateBytes, "a value has more than ", kMostTemplateBytes, " bytes");
  return {std::move(text)};
}

TemplateValue make_list(TemplateList items) {
  TemplateValue value{std::make_shared<TemplateList>(std::move(items))};
  size_as_item(value);
  return value;
}

TemplateValue make_dict(TemplateDict items) {
  TemplateValue value{std::make_shared<TemplateDict>(std::move(items))};
  size_as_item(value);
  return value;
}

TemplateValue make_namespace(TemplateDict items) {
  for (const auto& entry : items) size_as_item(entry.second);
  return {std::make_shared<TemplateNamespace>(TemplateNamespace{std::move(items)})};
}

std::string_view kind_of(const TemplateValue& value) {
  static constexpr std::string_view kKinds[] = {"undefined", "none",   "a boolean",    "a whole number", "a number",
                                                "a string",  "a list", "a dictionary", "a namespace"};
  return kKinds[value.data.index()];
}

bool is_true(const TemplateValue& value) {
  if (const std::optional<double> number = number_of(value)) return *number != 0;
  if (const std::string* text = value.string()) return !text->empty();
  if (const TemplateList* list = value.list()) return !list->empty();
  if (const TemplateDict* dict = value.dict()) return !dict->empty();
  return value.get<std::shared_ptr<TemplateNamespace>>() != nullptr;
}

std::string printed(const TemplateValue& value) {
  if (value.is_undefined()) return "";
  if (value.get<std::nullptr_t>()) return "None";
  if (const bool* b = value.get<bool>()) return *b ? "True" : "False";
  if (const std::int64_t* i = value.get<std::int64_t>()) return std::to_string(*i);
  if (const double* d = value.get<double>()) {
    // As Python's repr().
    const double size = std::abs(*d);
    const bool is_plain = size == 0 || (size >= 1e-4 && size < 1e16);
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof(buffer), *d,
                                   is_plain ? std::chars_format::fixed : std::chars_format::scientific)
                         .ptr;
    const std::string text(buffer, end);
    return text.find_first_of(".en") == text.npos ? text + ".0" : text;
  }
  if (const std::string* text = value.string()) return *text;
  fail("{{ }}: expected a string or a number to print, got ", kind_of(value));
}

bool equal(const TemplateValue& a, const TemplateValue& b) {
  const std::optional<double> x = number_of(a), y = number_of(b);
  if (x && y) return *x == *y;
  if (a.string() && b.string()) return *a.string() == *b.string();
  if (a.list() && b.list()) return std::ranges::equal(*a.list(), *b.list(), equal);
  if (a.dict() && b.dict()) {
    const auto in_b = [&](const auto& entry) {
      const auto found = std::ranges::find(*b.dict(), entry.first, [](const auto& other) { return other.first; });
      return found != b.dict()->end() && equal(found->second, entry.second);
    };
    return a.dict()->size() == b.dict()->size() && std::ranges::all_of(*a.dict(), in_b);
  }
  const auto *space = a.get<std::shared_ptr<TemplateNamespace>>(), *other = b.get<std::shared_ptr<TemplateNamespace>>();
  if (space && other) return *space == *other;
  return (a.is_undefined() && b.is_undefined()) || (a.get<std::nullptr_t>() && b.get<std::nullptr_t>());
}

bool contains(const TemplateValue& container, const TemplateValue& item) {
  if (const std::string* text = container.string()) {
    check(item.string() != nullptr, "in: expected a string in a string, got ", kind_of(item));
    return text->find(*item.string()) != text->npos;
  }
  check(container.list() || container.dict() || container.is_undefined(),
        "in: expected a string, a list or a dictionary, got ", kind_of(container));
  return std::ranges::any_of(items_of(container), [&](const TemplateValue& other) { return equal(other, item); });
}

void set_item(TemplateDict& items, const std::string& name, TemplateValue value) {
  const auto found = std::ranges::find(items, name, [](const auto& entry) { return entry.first; });
  if (found != items.end()) {
    found->second = std::move(value);
  } else {
    items.emplace_back(name, std::move(value));
  }
}

TemplateValue attribute(const TemplateValue& value, const std::string& name) {
  if (const auto* undefined = value.get<TemplateUndefined>()) {
    fail("'", undefined->name, "' is undefined, and has no '", name, "'");
  }
  const auto* space = value.get<std::shared_ptr<TemplateNamespace>>();
  if (const TemplateDict* dict = space ? &(*space)->items : value.dict()) {
    const auto found = std::ranges::find(*dict, name, [](const auto& entry) { return entry.first; });
    if (found != dict->end()) return found->second;
  }
  return {TemplateUndefined{name}};
}

TemplateValue item(const TemplateValue& value, const TemplateValue& index) {
  if (const std::string* name = index.string()) return attribute(value, *name);
  if (const auto* undefined = value.get<TemplateUndefined>()) fail("'", undefined->name, "' is undefined");
  if (value.dict()) return {TemplateUndefined{"[ ]"}};
  const TemplateList items = items_of(value);
  const std::optional<std::size_t> at = index_in(index, std::ssize(items));
  return at ? items[*at] : TemplateValue{TemplateUndefined{"[ ]"}};
}

TemplateValue slice(const TemplateValue& value, std::optional<std::int64_t> begin, std::optional<std::int64_t> end,
                    std::int64_t step) {
  check(step != 0, "[ : : ]: expected a step other than 0");
  check(value.list() || value.string(), "[ : ]: expected a list or a string, got ", kind_of(value));
  const TemplateList items = items_of(value);
  const std::int64_t size = std::ssize(items), first = step > 0 ? 0 : -1, last = step > 0 ? size : size - 1;
  const auto bounded = [&](std::optional<std::int64_t> index, std::int64_t otherwise) {
    if (!index) return otherwise;
    return std::clamp(*index < 0 ? *index + size : *index, first, last);
  };
  const std::int64_t from = bounded(begin, step > 0 ? first : last), to = bounded(end, step > 0 ? last : first);
  TemplateList chosen;
  step = std::clamp(step, -size - 1, size + 1);
  for (std::int64_t i = from; step > 0 ? i < to : i > to; i += step) chosen.push_back(items[i]);
  if (value.list()) return make_list(std::move(chosen));
  std::string text;
  for (const TemplateValue& character : chosen) text += *character.string();
  return {text};
}

std::int64_t length_of(const TemplateValue& value) {
  if (const std::string* text = value.string()) return std::ranges::count_if(*text, begins_character);
  check(value.list() || value.dict() || value.is_undefined(), "length: expected a string, a list or a dictionary, got ",
        kind_of(value));
  return std::ssize(items_of(value));
}

TemplateList items_of(const TemplateValue& value) {
  if (const TemplateList* list = value.list()) return *list;
  TemplateList items;
  if (const TemplateDict* dict = value.dict()) {
    for (const auto& entry : *dict) items.push_back({entry.first});
    return items;
  }
  check(value.string() || value.is_undefined(), "for: expected a list, a dictionary or a string, got ", kind_of(value));
  if (const std::string* text = value.string()) {
    for (std::string& character : characters_of(*text)) items.push_back({std::move(character)});
  }
  return items;
}

TemplateValue combine(std::string_view operation, const TemplateValue& a, const TemplateValue& b) {
  if (operation == "~") return make_string(printed(a) + printed(b));
  if (operation == "<") return {is_less(operation, a, b)};
  if (operation == ">") return {is_less(operation, b, a)};
  if (operation == "<=") return {!is_less(operation, b, a)};
  if (operation == ">=") return {!is_less(operation, a, b)};
  if (operation == "+") {
    if (a.string() && b.string()) return make_string(*a.string() + *b.string());
    if (a.list() && b.list()) {
      TemplateList joined = *a.list();
      joined.insert(joined.end(), b.list()->begin(), b.list()->end());
      return make_list(std::move(joined));
    }
  }
  return combine_numbers(operation, a, b);
}

}  // namespace tapeformer
