// The filters, tests, methods and functions of chat templates.
#include <algorithm>
#include <span>

#include "core/error.h"
#include "core/text/joined.h"
#include "data/chat/template_text.h"
#include "data/chat/template_value.h"

namespace tapeformer {
namespace {

using Arguments = TemplateArguments;
using Value = const TemplateValue&;
using Given = const Arguments&;
using Function = TemplateValue (*)(Value, Given);

struct NamedFunction {
  std::string_view name;
  const char* parameters[2];  // the names of the arguments that it takes, at most
  Function function;
};

const std::string& text_of(const TemplateValue& value) {
  check(value.string() != nullptr, "expected a string, got ", kind_of(value));
  return *value.string();
}

const TemplateValue* argument(const Arguments& arguments, std::size_t index, std::string_view name) {
  if (index < arguments.values.size()) return &arguments.values[index];
  for (const auto& entry : arguments.named) {
    if (entry.first == name) return &entry.second;
  }
  return nullptr;
}

const TemplateValue& required(const Arguments& arguments, std::size_t index, std::string_view name) {
  const TemplateValue* const found = argument(arguments, index, name);
  check(found != nullptr, "expected the argument ", name, ", got none");
  return *found;
}

// Removes white space, or the characters of the argument, at the ends.
TemplateValue stripped(const std::string& text, const Arguments& arguments, bool left, bool right) {
  const TemplateValue* const given = argument(arguments, 0, "chars");
  const bool has_characters = given && !given->get<std::nullptr_t>();
  return {has_characters ? stripped_text(text, text_of(*given), left, right) : stripped_text(text, left, right)};
}

template <class F>
std::string with_ascii(std::string text, const F& convert) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x80) c = static_cast<char>(convert(static_cast<unsigned char>(c)));
  }
  return text;
}

TemplateValue split_text(const std::string& text, const std::string& separator) {
  check(!separator.empty(), "split: expected a separator, got an empty one");
  TemplateList parts;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find(separator, begin)) != text.npos; begin = end + separator.size()) {
    parts.push_back({text.substr(begin, end - begin)});
  }
  parts.push_back({text.substr(begin)});
  return make_list(std::move(parts));
}

// As Python's json.dumps(value, ensure_ascii=False) writes it.
std::string json_of(const TemplateValue& value) {
  if (const auto* undefined = value.get<TemplateUndefined>()) fail("tojson: '", undefined->name, "' is undefined");
  if (value.get<std::nullptr_t>()) return "null";
  if (const bool* b = value.get<bool>()) return *b ? "true" : "false";
  if (value.string()) return json_string(*value.string());
  if (value.list()) return "[" + joined(*value.list(), ", ", json_of) + "]";
  if (value.dict()) {
    const auto text = [](const auto& entry) { return json_string(entry.first) + ": " + json_of(entry.second); };
    return "{" + joined(*value.dict(), ", ", text) + "}";
  }
  return printed(value);
}

TemplateValue items_pairs(const TemplateValue& value) {
  check(value.dict() != nullptr, "items: expected a dictionary, got ", kind_of(value));
  TemplateList pairs;
  for (const auto& entry : *value.dict()) pairs.push_back(make_list({{entry.first}, entry.second}));
  return make_list(std::move(pairs));
}

TemplateValue end_item(const TemplateValue& value, bool first) {
  const TemplateList items = items_of(value);
  return items.empty() ? TemplateValue{TemplateUndefined{"first"}} : first ? items.front() : items.back();
}

const NamedFunction kFilters[] = {
    {"trim", {"chars"}, [](Value v, Given a) -> TemplateValue { return stripped(printed(v), a, true, true); }},
    {"length", {}, [](Value v, Given) -> TemplateValue { return {length_of(v)}; }},
    {"count", {}, [](Value v, Given) -> TemplateValue { return {length_of(v)}; }},
    {"default",
     {"default_value", "boolean"},
     [](Value v, Given a) -> TemplateValue {
       const TemplateValue* const boolean = argument(a, 1, "boolean");
       const bool replaces = v.is_undefined() || (boolean && is_true(*boolean) && !is_true(v));
       const TemplateValue* const other = argument(a, 0, "default_value");
       return !replaces ? v : other ? *other : TemplateValue{std::string()};
     }},
    {"tojson", {}, [](Value v, Given) -> TemplateValue { return {json_of(v)}; }},
    {"upper", {}, [](Value v, Given) -> TemplateValue { return {with_ascii(printed(v), ::toupper)}; }},
    {"lower", {}, [](Value v, Given) -> TemplateValue { return {with_ascii(printed(v), ::tolower)}; }},
    {"string", {}, [](Value v, Given) -> TemplateValue { return {printed(v)}; }},
    {"safe", {}, [](Value v, Given) -> TemplateValue { return v; }},
    {"list", {}, [](Value v, Given) -> TemplateValue { return make_list(items_of(v)); }},
    {"first", {}, [](Value v, Given) -> TemplateValue { return end_item(v, true); }},
    {"last", {}, [](Value v, Given) -> TemplateValue { return end_item(v, false); }},
    {"items", {}, [](Value v, Given) -> TemplateValue { return items_pairs(v); }},
    {"join",
     {"d"},
     [](Value v, Given a) -> TemplateValue {
       const TemplateValue* const separator = argument(a, 0, "d");
       std::string text;
       const TemplateList items = items_of(v);
       for (std::size_t i = 0; i < items.size(); ++i) {
         text += (i > 0 && separator ? printed(*separator) : "") + printed(items[i]);
         check(text.size() <= kMostTemplateBytes, "join: the text has more than ", kMostTemplateBytes, " bytes");
       }
       return {text};
     }},
    {"replace",
     {"old", "new"},
     [](Value v, Given a) -> TemplateValue {
       return make_string(replaced_text(printed(v), text_of(required(a, 0, "old")), text_of(required(a, 1, "new"))));
     }},
};

const NamedFunction kMethods[] = {
    {"strip", {"chars"}, [](Value v, Given a) -> TemplateValue { return stripped(text_of(v), a, true, true); }},
    {"lstrip", {"chars"}, [](Value v, Given a) -> TemplateValue { return stripped(text_of(v), a, true, false); }},
    {"rstrip", {"chars"}, [](Value v, Given a) -> TemplateValue { return stripped(text_of(v), a, false, true); }},
    {"startswith",
     {"prefix"},
     [](Value v, Given a) -> TemplateValue { return {text_of(v).starts_with(text_of(required(a, 0, "prefix")))}; }},
    {"endswith",
     {"suffix"},
     [](Value v, Given a) -> TemplateValue { return {text_of(v).ends_with(text_of(required(a, 0, "suffix")))}; }},
    {"split",
     {"sep"},
     [](Value v, Given a) -> TemplateValue { return split_text(text_of(v), text_of(required(a, 0, "sep"))); }},
    {"replace",
     {"old", "new"},
     [](Value v, Given a) -> TemplateValue {
       return make_string(replaced_text(text_of(v), text_of(required(a, 0, "old")), text_of(required(a, 1, "new"))));
     }},
    {"upper", {}, [](Value v, Given) -> TemplateValue { return {with_ascii(text_of(v), ::toupper)}; }},
    {"lower", {}, [](Value v, Given) -> TemplateValue { return {with_ascii(text_of(v), ::tolower)}; }},
    {"items", {}, [](Value v, Given) -> TemplateValue { return items_pairs(v); }},
    {"get",
     {"key", "default"},
     [](Value v, Given a) -> TemplateValue {
       check(v.dict() != nullptr, "get: expected a dictionary, got ", kind_of(v));
       TemplateValue found = attribute(v, text_of(required(a, 0, "key")));
       const TemplateValue* const other = argument(a, 1, "default");
       return !found.is_undefined() ? found : other ? *other : TemplateValue{nullptr};
     }},
};

const NamedFunction kTests[] = {
    {"defined", {}, [](Value v, Given) -> TemplateValue { return {!v.is_undefined()}; }},
    {"undefined", {}, [](Value v, Given) -> TemplateValue { return {v.is_undefined()}; }},
    {"none", {}, [](Value v, Given) -> TemplateValue { return {v.get<std::nullptr_t>() != nullptr}; }},
    {"string", {}, [](Value v, Given) -> TemplateValue { return {v.string() != nullptr}; }},
    {"mapping", {}, [](Value v, Given) -> TemplateValue { return {v.dict() != nullptr}; }},
    {"iterable",
     {},
     [](Value v, Given) -> TemplateValue { return {v.string() || v.list() || v.dict() || v.is_undefined()}; }},
    {"sequence",
     {},
     [](Value v, Given) -> TemplateValue { return {v.string() || v.list() || v.dict() || v.is_undefined()}; }},
    {"boolean", {}, [](Value v, Given) -> TemplateValue { return {v.get<bool>() != nullptr}; }},
    {"number",
     {},
     [](Value v, Given) -> TemplateValue { return {v.get<std::int64_t>() || v.get<double>() || v.get<bool>()}; }},
    {"true", {}, [](Value v, Given) -> TemplateValue { return {v.get<bool>() && is_true(v)}; }},
    {"false", {}, [](Value v, Given) -> TemplateValue { return {v.get<bool>() && !is_true(v)}; }},
    {"equalto", {"other"}, [](Value v, Given a) -> TemplateValue { return {equal(v, required(a, 0, "other"))}; }},
    {"in", {"container"}, [](Value v, Given a) -> TemplateValue { return {contains(required(a, 0, "container"), v)}; }},
};

const NamedFunction kFunctions[] = {
    {"raise_exception",
     {"message"},
     [](Value, Given a) -> TemplateValue {
       fail("the template refuses the conversation: ", printed(required(a, 0, "message")));
     }},
    {"namespace",
     {},
     [](Value, Given a) -> TemplateValue {
       check(a.values.empty(), "namespace: expected named arguments");
       return make_namespace(a.named);
     }},
    {"range",
     {"start", "stop"},
     [](Value, Given a) -> TemplateValue {
       constexpr std::int64_t kMost = 100'000;
       std::vector<std::int64_t> bounds;
       for (const TemplateValue& value : a.values) {
         check(value.get<std::int64_t>() != nullptr, "range: expected whole numbers, got ", kind_of(value));
         bounds.push_back(*value.get<std::int64_t>());
       }
       check(bounds.size() == 1 || bounds.size() == 2, "range: expected one or two numbers, got ", bounds.size());
       const std::int64_t begin = bounds.size() == 2 ? bounds[0] : 0, end = bounds.back();
       check(end <= begin || static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin) <= kMost,
             "range: expected at most ", kMost, " numbers");
       TemplateList numbers;
       for (std::int64_t i = begin; i < end; ++i) numbers.push_back({i});
       return make_list(std::move(numbers));
     }},
};

// Finds a function of a table. Throws Error that lists the table's names.
template <std::size_t n>
const NamedFunction& find_function(const NamedFunction (&table)[n], std::string_view what, std::string_view name) {
  for (const NamedFunction& row : table) {
    if (row.name == name) return row;
  }
  fail("the ", what, " '", name, "' is not supported; there are ", joined(table, ", ", &NamedFunction::name));
}

// Calls the function. Throws Error for arguments that it does not take, which would have no effect.
TemplateValue call(const NamedFunction& function, const TemplateValue& value, const Arguments& arguments) {
  const std::span<const char* const> parameters(function.parameters);
  const auto most = static_cast<std::size_t>(std::ranges::find(parameters, nullptr) - parameters.begin());
  check(arguments.values.size() <= most, function.name, ": expected at most ", most, " arguments, got ",
        arguments.values.size());
  for (const auto& given : arguments.named) {
    const bool is_known = std::ranges::count(parameters.first(most), std::string_view(given.first)) > 0;
    check(is_known, function.name, ": the argument '", given.first, "' is not supported");
  }
  return function.function(value, arguments);
}

std::string_view filter_name(std::string_view name) { return name == "d" ? "default" : name; }
std::string_view test_name(std::string_view name) { return name == "eq" || name == "==" ? "equalto" : name; }

}  // namespace

TemplateValue apply_filter(const std::string& name, const TemplateValue& value, const TemplateArguments& arguments) {
  return call(find_function(kFilters, "filter", filter_name(name)), value, arguments);
}

bool apply_test(const std::string& name, const TemplateValue& value, const TemplateArguments& arguments) {
  return is_true(call(find_function(kTests, "test", test_name(name)), value, arguments));
}

TemplateValue call_method(const std::string& name, const TemplateValue& value, const TemplateArguments& arguments) {
  if (const auto* undefined = value.get<TemplateUndefined>()) {
    fail("'", undefined->name, "' is undefined, and has no method ", name);
  }
  return call(find_function(kMethods, "method", name), value, arguments);
}

TemplateValue call_function(const std::string& name, const TemplateArguments& arguments) {
  const NamedFunction& function = find_function(kFunctions, "function", name);
  // The arguments of namespace() are its items.
  return name == "namespace" ? function.function({}, arguments) : call(function, {}, arguments);
}

void require_filter(const std::string& name) { find_function(kFilters, "filter", filter_name(name)); }
void require_test(const std::string& name) { find_function(kTests, "test", test_name(name)); }
void require_method(const std::string& name) { find_function(kMethods, "method", name); }
void require_function(const std::string& name) { find_function(kFunctions, "function", name); }
bool is_transformers_function(std::string_view name) {
  static constexpr std::string_view kNames[] = {"raise_exception", "strftime_now", "namespace", "range", "dict",
                                                "cycler",          "joiner",       "lipsum"};
  return std::ranges::count(kNames, name) > 0;
}
bool test_has_argument(const std::string& name) { return test_name(name) == "equalto" || name == "in"; }

}  // namespace tapeformer
