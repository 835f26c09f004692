#include "data/chat/chat_template.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "data/chat/chat_format.h"
#include "tokenizer/train_tokenizer.h"

using namespace tapeformer;

namespace {

std::string rendered(std::string_view text, const std::vector<ChatMessage>& messages = {{"user", "Hi"}}) {
  return ChatTemplate(text).render(messages, {});
}

std::string many_times(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

// The message of the error in which f ends.
template <class F>
std::string chat_error_of(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("chat template: renders as transformers does") {
  const auto golden = nlohmann::json::parse(read_file(TEST_DATA "/golden/chat_templates.json"));
  std::vector<std::vector<ChatMessage>> conversations;
  for (const auto& list : golden["conversations"]) {
    auto& messages = conversations.emplace_back();
    for (const auto& message : list) messages.push_back({message["role"], message["content"]});
  }
  int refused = 0;
  CHECK(golden["cases"].size() >= 30);
  for (const auto& row : golden["cases"]) {
    const std::string name = row["template"];
    const std::size_t conversation = row["conversation"];
    CAPTURE(name);
    CAPTURE(conversation);
    const ChatTemplate chat(golden["templates"][name].get<std::string>());
    const ChatRenderOptions options{.generation_prompt = row["prompt"],
                                    .bos_token = row.value("bos_token", ""),
                                    .eos_token = row.value("eos_token", "")};
    const auto render = [&] { return chat.render(conversations[conversation], options); };
    if (row.contains("text")) {
      CHECK(render() == row["text"].get<std::string>());
    } else {
      const std::string expected = "the template refuses the conversation: " + row["error"].get<std::string>();
      CHECK(chat_error_of(render).ends_with(expected));
      ++refused;
    }
  }
  CHECK(refused == 4);
}

TEST_CASE("chat template: ChatML") {
  const std::vector<ChatMessage> messages{{"system", "S"}, {"user", "U"}};
  CHECK(ChatTemplate(kChatMl).render(messages, {.generation_prompt = true}) ==
        "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n");
}

TEST_CASE("chat template: a mark that the tokenizer cannot write is refused as one of the template") {
  const std::string_view texts[] = {"plain text"};
  const auto letters = train_tokenizer({.kind = "char", .vocab = 0, .special_tokens = {}}, texts);
  CHECK(chat_error_of([&] { ChatFormat(*letters, {}); }) ==
        "chat template: the tokenizer cannot write <|im_end|>, which ends an answer: char tokenizer: character '<' "
        "(U+003C) at byte 0 is not in the vocabulary; a bpe tokenizer takes any bytes");
}

TEST_CASE("chat template: what is not in the subset is refused by its name, with the line") {
  const std::pair<std::string, std::string> refused[] = {
      {"a\n{% macro f(x) %}{% endmacro %}", "chat template: line 2: the statement 'macro' is not supported here"},
      {"{{ messages | map(attribute='role') }}", "chat template: line 1: the filter 'map' is not supported; there are"},
      {"\n\n{{ 'a' is upper }}", "chat template: line 3: the test 'upper' is not supported; there are"},
      {"{{ strftime_now('%d') }}", "chat template: line 1: the function 'strftime_now' is not supported; there are"},
      {"{{ 'a'.title() }}", "chat template: line 1: the method 'title' is not supported; there are"},
      {"{% set x %}a{% endset %}", "chat template: line 1: {% set x %} … {% endset %} is not supported"},
      {"{{ 1 < 2 < 3 }}", "chat template: line 1: a chain of comparisons"},
      {"{{ (1, 2) }}", "chat template: line 1: a tuple (a, b) is not supported"},
      {"{% if true %}a", "chat template: line 1: expected {% endif %}, got the end"},
      {"{% endif %}", "chat template: line 1: the statement 'endif' is not supported here"},
      {"{% break %}", "chat template: line 1: the statement 'break' is not supported here"},
      {"{% for m in messages %}{% generation %}{% break %}{% endgeneration %}{% endfor %}",
       "chat template: line 1: the statement 'break' is not supported here"},
      {"{{ 'a }}", "chat template: line 1: a string has no end"},
      {"{{ a", "chat template: line 1: {{ has no end }}"},
      {"{{ '\\N{DASH}' }}", "chat template: line 1: the escape \\N of a string is not supported"},
      {"{{ '\\UFFFFFFFF' }}", "chat template: line 1: expected the number of a character in a string"},
      {"{# a", "chat template: line 1: a comment {# has no end #}"},
      {"{{ a b }}", "chat template: line 1: expected the end of the tag, got 'b'"},
      {"{% if a %}\n{% else if b %}{% endif %}", "chat template: line 2: expected the end of the tag, got 'if'"},
      {"{% if a %}{% endif b %}", "chat template: line 1: expected the end of the tag, got 'b'"},
      {"{% for a in b %}{% break c %}{% endfor %}", "chat template: line 1: expected the end of the tag, got 'c'"},
      {"{{ a ? }}", "chat template: line 1: unexpected character '?' in a tag"},
      {"{{ " + std::string(200, '(') + " }}", "chat template: line 1: expected at most 100 nested expressions"},
      {"{{ 1" + many_times(" + 1", 5000) + " }}", "chat template: line 1: a tag has more than 2000 tokens"},
      {"{{ [[[[" + std::string(200, '[') + " }}", "chat template: line 1: expected at most 100 nested expressions"},
  };
  for (const auto& entry : refused) {
    const std::string text = entry.first, message = entry.second;
    CAPTURE(text);
    const std::string error = chat_error_of([&] { ChatTemplate chat(text); });
    CAPTURE(error);
    CHECK(error.starts_with(message));
  }
  const std::string blocks = many_times("{% if true %}", 200);
  CHECK(chat_error_of([&] { ChatTemplate chat(blocks); }) == "chat template: expected at most 100 nested blocks");
}

TEST_CASE("chat template: numbers, escapes, white space and loops are Python's") {
  CHECK(rendered("{{ 1000000 / 1 }} {{ 5 / 2 }} {{ 1 / 32000 }} {{ 10000000000000000 / 1 }} {{ 0 / 5 }}") ==
        "1000000.0 2.5 3.125e-05 1e+16 0.0");
  CHECK(rendered("{{ 1.0 // 0.1 }} {{ 1.0 % 0.1 }} {{ -7.5 // 2 }} {{ -7.5 % 2 }} {{ 7.5 // -2 }} {{ 7.5 % -2 }}") ==
        "9.0 0.09999999999999995 -4.0 0.5 -4.0 -0.5");
  CHECK(rendered("{{ -4.0 % 2 }} {{ 4.0 % -2 }} {{ -1.0 // -2 }} {{ 0.0 // -2 }} {{ 6.0 // 3 }}") ==
        "0.0 -0.0 0.0 -0.0 2.0");
  CHECK(rendered("{{ '\\U0001F600\\101\\60\\x42\\d' }}") == "\U0001F600A0B\\d");
  CHECK(rendered("a\u3000{%- if true %}b{% endif -%}\u00a0\u2003c") == "abc");
  CHECK(rendered("{{ ' a '.strip('') }}|{{ ' a ' | trim }}|{{ 'éaé'.strip('é') }}") == " a |a|a");
  CHECK(rendered("{% for i in [1, 2] %}{{ loop.depth }}{{ loop.depth0 }}{% endfor %}") == "1010");
  // Jinja runs `else` if there is no turn, or if `break` or `continue` ends each.
  CHECK(rendered("{% for i in [] %}{{ i }}{% else %}none{% endfor %}") == "none");
  CHECK(rendered("{% for i in [1, 2] %}{{ i }}{% break %}{% else %}none{% endfor %}") == "1none");
  CHECK(rendered("{% for i in [1, 2] %}{{ i }}{% continue %}{% else %}none{% endfor %}") == "12none");
  CHECK(rendered("{% for i in [1, 2] %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% else %}none{% endfor %}") == "1");
}

TEST_CASE("chat template: a namespace is true, and no dictionary") {
  const std::string set = "{% set n = namespace() %}{% set m = namespace() %}";
  CHECK(rendered(set + "{{ 'yes' if n else 'no' }} {{ n is mapping }} {{ n is iterable }} {{ n is sequence }}") ==
        "yes False False False");
  CHECK(rendered(set + "{{ n == n }} {{ n == m }} {{ n == {} }} {{ n.a is defined }} {{ n['a'] is defined }}") ==
        "True False False False False");
  CHECK(rendered(set + "{% set n.a = 5 %}{{ n.a }}{{ n['a'] }}") == "55");
  CHECK(chat_error_of([&] { rendered(set + "{% for x in n %}{% endfor %}"); }) ==
        "chat template: line 1: for: expected a list, a dictionary or a string, got a namespace");
}

TEST_CASE("chat template: a key that a dictionary has twice has its last value") {
  CHECK(rendered("{% set d = {'a': 1, 'b': 2, 'a': 3} %}{{ d.a }} {{ d | length }} {{ d | tojson }}") ==
        "3 2 {\"a\": 3, \"b\": 2}");
}

TEST_CASE("chat template: what the else of a loop and a generation block set ends with them") {
  const std::string set = "{% set x = 'in' %}{{ x }}", out = "{% set x = 'out' %}";
  CHECK(rendered(out + "{% for m in [] %}{% else %}" + set + "{% endfor %}{{ x }}") == "inout");
  CHECK(rendered(out + "{% generation %}" + set + "{% endgeneration %}{{ x }}") == "inout");
  CHECK(rendered("{% for m in [1, 2] %}{% generation %}{{ loop.index }}{{ m }}{% endgeneration %}{% endfor %}") ==
        "1122");
  CHECK(rendered(out + "{% if true %}" + set + "{% endif %}{{ x }}") == "inin");
}

TEST_CASE("chat template: what Python refuses while it renders is told with the line") {
  const std::pair<std::string, std::string> refused[] = {
      {"{{ nothing.at_all }}", "chat template: line 1: 'nothing' is undefined, and has no 'at_all'"},
      {"\n{{ 'a' + 1 }}",
       "chat template: line 2: +: expected two numbers or two strings, got a string and a whole number"},
      {"{{ messages }}", "chat template: line 1: {{ }}: expected a string or a number to print, got a list"},
      {"{{ {1: 'a'}[1] }}", "chat template: line 1: { : }: expected a string as a key, got a whole number"},
      {"{{ raise_exception is defined }}",
       "chat template: line 1: the function 'raise_exception' is not supported as a value"},
      {"{{ 'a' if strftime_now is defined else 'b' }}",
       "chat template: line 1: the function 'strftime_now' is not supported as a value"},
      {"{{ 1 // 0 }}", "chat template: line 1: //: division by zero"},
      {"{% for x in 5 %}{% endfor %}",
       "chat template: line 1: for: expected a list, a dictionary or a string, got a whole number"},
      {"{{ raise_exception('no') }}", "chat template: line 1: the template refuses the conversation: no"},
      {"{{ range(1000000000) | length }}", "chat template: line 1: range: expected at most 100000 numbers"},
      {"{{ 'aaa' | replace('a', 'b', 1) }}", "chat template: line 1: replace: expected at most 2 arguments, got 3"},
      {"{{ 'aaa'.replace('a', 'b', count=1) }}",
       "chat template: line 1: replace: the argument 'count' is not supported"},
      {"{{ ['a'] | join(', ', attribute='role') }}",
       "chat template: line 1: join: the argument 'attribute' is not supported"},
      {"{{ nothing | tojson }}", "chat template: line 1: tojson: 'nothing' is undefined"},
      {"{{ 9223372036854775808 }}", "chat template: line 1: the number 9223372036854775808 is out of range"},
      {"{{ " + many_times("9", 400) + ".0 }}",
       "chat template: line 1: the number " + many_times("9", 400) + ".0 is out of range"},
      {"{{ 9223372036854775807 + 1 }}", "chat template: line 1: +: the numbers are too large"},
      // Templates that would never end, or fill the memory or the stack.
      {"{% set n = namespace() %}{% set n.me = n %}{{ n == n }}",
       "chat template: line 1: a namespace within another value is not supported"},
      {"{% set messages.me = 1 %}", "chat template: line 1: set messages.me: expected a namespace, got a list"},
      {"{% set n = namespace(a=1) %}{% for i in range(999) %}{% set n.a = [n.a] %}{% endfor %}",
       "chat template: line 1: expected values within each other at most 100 deep"},
      {"{% set n = namespace(a=[1]) %}{% for i in range(99) %}{% set n.a = [n.a, n.a] %}{% endfor %}",
       "chat template: line 1: a value has more than 67108864 bytes"},
      {"{% set n = namespace(a='a') %}{% for i in range(99) %}{% set n.a = n.a ~ n.a %}{% endfor %}",
       "chat template: line 1: a value has more than 67108864 bytes"},
      {"{% for i in range(9999) %}{% for j in range(9999) %}{% endfor %}{% endfor %}",
       "chat template: line 1: the template takes too long"},
  };
  for (const auto& entry : refused) {
    const std::string text = entry.first, message = entry.second;
    CAPTURE(text);
    CHECK(chat_error_of([&] { rendered(text); }) == message);
  }
  CHECK(rendered("{{ nothing }}{{ messages[7] }}").empty());
  CHECK(rendered("{% set range = 5 %}{{ range }}{% for dict in [1] %}{{ dict }}{% endfor %}") == "51");
  const std::string least = "-9223372036854775807 - 1";
  CHECK(rendered("{{ (" + least + ") // 3 }} {{ (" + least +
                 ") % 3 }} {{ 7 % -4 }} {{ 'abc'[::9223372036854775807] }}") == "-3074457345618258603 1 -1 a");
}
