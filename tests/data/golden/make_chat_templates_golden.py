"""Renders conversations by chat templates with transformers, for tests/data/chat/test_chat_template.cpp.

Usage: python3 make_chat_templates_golden.py > chat_templates.json      (written by transformers 5.5; needs no model)

The templates are our own. They use what the published ones of Llama 3, Qwen2, Qwen3, SmolLM, Gemma and Mistral use, in
their style: white space control, namespaces, slices, methods of strings, raise_exception.
"""

import json

from transformers.utils.chat_template_utils import render_jinja_template

LLAMA = """{{- bos_token }}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content'] | trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{%- if tools is not none %}{{- raise_exception("no tools here") }}{%- endif %}
{#- the system message always stands first #}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{%- if not date_string is defined %}
    {%- set date_string = "26 Jul 2024" %}
{%- endif %}
{{- "Today Date: " + date_string + "\\n\\n" }}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""

QWEN = """{%- if tools %}
    {{- '<|im_start|>system\\nTools: ' }}{{- tools | tojson }}{{- '<|im_end|>\\n' }}
{%- else %}
    {%- if messages[0]['role'] == 'system' %}
        {{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>system\\nYou are a helper.<|im_end|>\\n' }}
    {%- endif %}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant" and not message.tool_calls) %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "tool" %}
        {%- if (loop.index0 == 0) or (messages[loop.index0 - 1].role != "tool") %}{{- 'x' }}{%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""

THINKING = """{%- set ns = namespace(open=true, last=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.open and message.role == "user" and message.content is string and not(message.content.startswith('<r>') and message.content.endswith('</r>')) %}
        {%- set ns.open = false %}
        {%- set ns.last = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = message.content if message.content is string else '' %}
    {%- if message.role == "assistant" %}
        {%- set thought = '' %}
        {%- if '</think>' in content %}
            {%- set thought = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last and (loop.last or (not loop.last and thought)) %}
            {{- '<|im_start|>' + message.role + '\\n<think>\\n' + thought.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\\n' + content }}
        {%- endif %}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\\n' + content }}
    {%- endif %}
    {{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}
{%- endif %}"""

GEMMA = (
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system message') }}{% endif %}"
    "{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate user/assistant/user/assistant/...') }}{% endif %}"
    "{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}"
    "{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{'<start_of_turn>model\n'}}{% endif %}"
)

MISTRAL = """{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}

{{- bos_token }}
{%- for message in loop_messages %}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('After the optional system message, roles must alternate') }}
    {%- endif %}
    {%- if message["role"] == "user" %}
        {%- if loop.first and system_message is defined %}
            {{- " [INST] " + system_message + "\\n\\n" + message["content"] + " [/INST]" }}
        {%- else %}
            {{- " [INST] " + message["content"] + " [/INST]" }}
        {%- endif %}
    {%- elif message["role"] == "assistant" %}
        {{- " " + message["content"] + eos_token}}
    {%- else %}
        {{- raise_exception("Only user and assistant roles are supported") }}
    {%- endif %}
{%- endfor %}
"""

SMOL = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nA helper<|im_end|>\n' }}{% endif %}"
    "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

# White space: lines of tags and of comments, signs, a newline at the end.
BLOCKS = """Conversation:
  {% for message in messages %}
  {# a comment #}
    {% if message.role == 'user' %}
Q: {{ message.content }}
    {% else %}
A: {{ message.content -}}
    {% endif %}
  {%+ if loop.last +%}
.
  {% endif %}

  {% else %}
nothing
  {% endfor %}
end {{ messages | length }}

"""

# Operators, filters, tests, methods.
OPERATORS = """{% set a = 7 %}{{ a // 2 }} {{ -a // 2 }} {{ a % 3 }} {{ -a % 3 }} {{ a / 2 }} {{ a * 2 - 1 }} {{ 'x' ~ a ~ none ~ true }}
{{ 'b' in 'abc' }} {{ 'z' not in ['a'] }} {{ 1 == 1.0 }} {{ 'a' != 'b' }} {{ 1 < 2 and not 2 <= 1 or false }}
{{ missing is defined }} {{ missing | default('none') }} {{ '' | default('empty', true) }} {{ none is none }} {{ missing }}|
{{ messages[0].content[1:4] }} {{ messages[0].content[::-1] }} {{ messages[-1].role }} {{ messages[0]['content'][-2:] }}
{{ messages[0].content | length }} {{ messages | length }} {{ messages[0] | tojson }} {{ ['a', 1, none, true] | tojson }}
{{ '  t ' | trim }}|{{ 'a,b' .split(',') | join('+') }} {{ 'AbC' | lower }} {{ 'abc' | upper }} {{ 'aXbX' | replace('X', '-') }}
{{ 'yes' if messages else 'no' }} {{ 'x' 'y' }} {{ "tab\\tquote\\" \\u00e9" }} {{ (1 + 2) * 3 }} {{ 'a' is string }} {{ {} is mapping }}
{% for m in messages if m.role == 'user' %}{{ loop.index }}/{{ loop.length }}{{ ', ' if not loop.last }}{% endfor %}

{% for k, v in {'a': 1, 'b': 'c'}.items() %}{{ k }}={{ v }};{% endfor %}

{% set ns = namespace(n=0) %}{% for i in range(5) %}{% if i == 3 %}{% break %}{% endif %}{% if i == 1 %}{% continue %}{% endif %}{% set ns.n = ns.n + i %}{% set a = i %}{% endfor %}{{ ns.n }} {{ a }}
{% for m in [] %}x{% else %}empty{% endfor %} {{ messages[0].missing is undefined }} {{ messages[0].get('role') }} {{ 3 is equalto 3 }}
{{- '' if true }} {{ [1, 2] + [3] == [1, 2, 3] }} {{ 'abc'.startswith('ab') }} {{ 1.5 + 1 }} {{ {'a': [1, {'b': 'ü'}]} | tojson }}
"""

TEMPLATES = {
    "llama": (LLAMA, "<|begin_of_text|>", "<|eot_id|>"),
    "qwen": (QWEN, None, "<|im_end|>"),
    "thinking": (THINKING, None, "<|im_end|>"),
    "gemma": (GEMMA, "<bos>", "<eos>"),
    "mistral": (MISTRAL, "<s>", "</s>"),
    "smol": (SMOL, None, None),
    "blocks": (BLOCKS, None, None),
    "operators": (OPERATORS, None, None),
}


def talk(*texts, system=None):
    messages = [] if system is None else [{"role": "system", "content": system}]
    return messages + [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(texts)]


CONVERSATIONS = [
    talk("Hello"),
    talk("Hello", "Hi there."),
    talk("  spaces \n", "\n<think>\nhm, Ünï\n</think>\n\nanswer \t", "日本語 🙂\r\n", system=" Be brief. "),
    talk("a\n\nb", "", "'\"\\", "<think>x</think>y", "more", system=""),
    [{"role": "assistant", "content": "I begin"}, {"role": "user", "content": "no"}],
]


def render(template, messages, prompt, special):
    try:
        texts, _ = render_jinja_template(
            conversations=[messages], chat_template=template, add_generation_prompt=prompt, **special)
        return {"text": texts[0]}
    except Exception as error:
        return {"error": str(error)}


cases = []
for name, (template, bos, eos) in TEMPLATES.items():
    special = {key: value for key, value in (("bos_token", bos), ("eos_token", eos)) if value is not None}
    for i, messages in enumerate(CONVERSATIONS):
        prompt = i % 2 == 0
        cases.append({"template": name, **special, "conversation": i, "prompt": prompt,
                      **render(template, messages, prompt, special)})
print(json.dumps({"templates": {name: row[0] for name, row in TEMPLATES.items()}, "conversations": CONVERSATIONS,
                  "cases": cases}, ensure_ascii=False, indent=1))
