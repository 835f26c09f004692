// The values of expressions in chat templates, with Python's rules.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tapeformer {

struct TemplateValue;

// A variable, an attribute or an item that does not exist. It prints as nothing, and its attributes are errors.
struct TemplateUndefined {
  std::string name;
};

using TemplateList = std::vector<TemplateValue>;
using TemplateDict = std::vector<std::pair<std::string, TemplateValue>>;

// What namespace() returns, to whose items {% set NAME.ITEM = … %} gives new values. It is always true, and no
// dictionary: loops and filters do not take it. No other value contains one, so none contains itself.
struct TemplateNamespace {
  TemplateDict items;
};

// The size of a value, at most: the bytes of its strings, and kTemplateItemBytes for each item. A template that makes
// a larger one is refused, and so is one whose values are nested more deeply than kMostTemplateNesting.
inline constexpr std::size_t kMostTemplateBytes = std::size_t{64} << 20, kTemplateItemBytes = 64;
inline constexpr int kMostTemplateNesting = 100;

struct TemplateValue {
  std::variant<TemplateUndefined, std::nullptr_t, bool, std::int64_t, double, std::string,
               std::shared_ptr<TemplateList>, std::shared_ptr<TemplateDict>, std::shared_ptr<TemplateNamespace>>
      data = TemplateUndefined{};

  template <class T>
  const T* get() const {
    return std::get_if<T>(&data);
  }
  const std::string* string() const { return get<std::string>(); }
  const TemplateList* list() const;
  const TemplateDict* dict() const;
  bool is_undefined() const { return get<TemplateUndefined>() != nullptr; }
};

// These throw Error for a value that is too large, and for items among which is a namespace.
TemplateValue make_string(std::string text);
TemplateValue make_list(TemplateList items);
TemplateValue make_dict(TemplateDict items);
TemplateValue make_namespace(TemplateDict items);
// Returns the size of an item of a list, a dictionary or a namespace. Throws Error if it may not be one.
std::size_t size_as_item(const TemplateValue& value);

// The kind of a value in words for messages, such as "a string".
std::string_view kind_of(const TemplateValue& value);
// Returns whether Python takes the value as true.
bool is_true(const TemplateValue& value);
// Returns a value as `{{ … }}` prints it. Throws Error for a list and a dictionary.
std::string printed(const TemplateValue& value);
bool equal(const TemplateValue& a, const TemplateValue& b);
// Returns whether `item` is in a list, a key of a dictionary, or a part of a string. Throws Error for other kinds.
bool contains(const TemplateValue& container, const TemplateValue& item);

// Gives an item of a dictionary a new value, or adds it behind the others.
void set_item(TemplateDict& items, const std::string& name, TemplateValue value);
// Returns VALUE.NAME or VALUE[NAME]: an item of a dictionary; undefined if there is none. Throws Error if the value is
// undefined.
TemplateValue attribute(const TemplateValue& value, const std::string& name);
// Returns VALUE[INDEX] for a list, a string or a dictionary; a negative index counts from the end.
TemplateValue item(const TemplateValue& value, const TemplateValue& index);
// Returns VALUE[BEGIN:END:STEP] as Python does.
TemplateValue slice(const TemplateValue& value, std::optional<std::int64_t> begin, std::optional<std::int64_t> end,
                    std::int64_t step);
// Returns the number of items, or of the characters of a string.
std::int64_t length_of(const TemplateValue& value);
// Returns the items that a loop visits: those of a list, the keys of a dictionary, the characters of a string; none if
// the value is undefined.
TemplateList items_of(const TemplateValue& value);
// Returns A OPERATOR B for + - * / // % ~ < > <= >=.
TemplateValue combine(std::string_view operation, const TemplateValue& a, const TemplateValue& b);

// These apply the filter VALUE | NAME(ARGUMENTS), the test VALUE is NAME(ARGUMENTS), the method VALUE.NAME(ARGUMENTS),
// and the function NAME(ARGUMENTS). Named arguments are given apart. They throw Error that names what is not supported.
struct TemplateArguments {
  std::vector<TemplateValue> values;
  TemplateDict named = {};
};
TemplateValue apply_filter(const std::string& name, const TemplateValue& value, const TemplateArguments& arguments);
bool apply_test(const std::string& name, const TemplateValue& value, const TemplateArguments& arguments);
TemplateValue call_method(const std::string& name, const TemplateValue& value, const TemplateArguments& arguments);
TemplateValue call_function(const std::string& name, const TemplateArguments& arguments);
// These throw Error, when a template is read, for a name that is not among the supported ones.
void require_filter(const std::string& name);
void require_test(const std::string& name);
void require_method(const std::string& name);
void require_function(const std::string& name);
// Returns whether a function of this name is there for templates in transformers, whether it is supported here or not.
bool is_transformers_function(std::string_view name);
// Returns whether a test takes an argument, as in `x is equalto 1`.
bool test_has_argument(const std::string& name);

// A byte that occurs in no UTF-8 text. Where the text of a message has the name of a special token, this byte is put
// after the first byte of the name, so that it is not taken for the token. It does not count as a character.
inline constexpr char kTemplateEscape = '\xff';

}  // namespace tapeformer
