"""Chat templates as open models bring them: Jinja programs that may refuse a list of messages.

The templates are written here; what they refuse, and in which words, is what those of the families
refuse. Sources: vllm-project/vllm#41114, #6862, gi-dellav/zerostack#94,
NousResearch/hermes-agent#74087.
"""

from __future__ import annotations

import json
from functools import cache, partial
from typing import TYPE_CHECKING, NoReturn

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

if TYPE_CHECKING:
    from jinja2 import Template

    from cuesta.testing.simulator.canon import Json

_TEXT = """
{%- macro text(message) -%}
  {%- if message.content is string -%}{{ message.content }}
  {%- elif message.content -%}
    {%- for part in message.content -%}{{ part.text or "<media>" }}{%- endfor -%}
  {%- endif -%}
{%- endmacro -%}
"""

TEMPLATES = {
    "qwen": _TEXT
    + """
{%- if messages | selectattr("role", "equalto", "user") | list | length == 0 -%}
  {{- raise_exception("No user query found in messages.") -}}
{%- endif -%}
{%- for message in messages -%}
  {%- if message.role == "system" and not loop.first -%}
    {{- raise_exception("System message must be at the beginning.") -}}
  {%- elif message.role not in ["system", "user", "assistant", "tool"] -%}
    {{- raise_exception("Unexpected message role.") -}}
  {%- endif -%}
  {{- "<|im_start|>" + ("user" if message.role == "tool" else message.role) + "\n" -}}
  {{- text(message) -}}
  {%- for call in message.tool_calls or [] -%}
    {{- "\n<tool_call>" + call | tojson + "</tool_call>" -}}
  {%- endfor -%}
  {{- "<|im_end|>\n" -}}
{%- endfor -%}
{{- "<|im_start|>assistant\n" -}}
""",
    "mistral": _TEXT
    + """
{%- set turns = messages[1:] if messages[0].role == "system" else messages -%}
{%- set count = namespace(plain=0) -%}
{%- for message in turns -%}
  {%- if message.role not in ["user", "assistant", "tool"] -%}
    {{- raise_exception("Only user, assistant and tool roles are supported, got "
        + message.role + ".") -}}
  {%- endif -%}
  {%- if message.role != "tool" and not message.tool_calls -%}
    {%- if (message.role == "user") != (count.plain % 2 == 0) -%}
      {{- raise_exception("After the optional system message, conversation roles must alternate "
          + "user and assistant roles except for tool calls and results.") -}}
    {%- endif -%}
    {%- set count.plain = count.plain + 1 -%}
  {%- endif -%}
{%- endfor -%}
{%- if messages[0].role == "system" -%}
  {{- "[SYSTEM_PROMPT]" + text(messages[0]) + "[/SYSTEM_PROMPT]" -}}
{%- endif -%}
{%- for message in turns -%}
  {%- if message.role == "user" -%}{{- "[INST]" + text(message) + "[/INST]" -}}
  {%- elif message.role == "tool" -%}{{- "[TOOL_RESULTS]" + text(message) + "[/TOOL_RESULTS]" -}}
  {%- else -%}
    {{- text(message) -}}
    {%- for call in message.tool_calls or [] -%}
      {{- "[TOOL_CALLS]" + call | tojson -}}
    {%- endfor -%}
    {{- "</s>" -}}
  {%- endif -%}
{%- endfor -%}
""",
}
"""One template for each family."""


class TemplateRefusedError(ValueError):
    """A template raised an exception: the server answers 400 with its words."""


def render(family: str, body: Json) -> str:
    """Put a request's messages through a family's template.

    Args:
        family: A key of `TEMPLATES`.
        body: The body; its messages are of known shape.

    Returns:
        The prompt.

    Raises:
        TemplateRefusedError: If the template refuses the messages.
    """
    try:
        return _template(family).render(messages=body["messages"], tools=body.get("tools"))
    except TemplateError as error:
        raise TemplateRefusedError(str(error)) from None


@cache
def _template(family: str) -> Template:
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.globals["raise_exception"] = _raise
    # The filter that Jinja brings escapes for HTML; chat templates are rendered with a plain one.
    environment.filters["tojson"] = partial(json.dumps, ensure_ascii=False)
    return environment.from_string(TEMPLATES[family])


def _raise(message: str) -> NoReturn:
    raise TemplateError(message)
