"""The kinds of items, in one table.

Sources: openai/openai-python `response_input_param.py`; openai/codex `protocol/src/models.rs` and
`core/src/context_manager/normalize.rs`; for `additional_tools` SaladDay/cc-switch-cli#466.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType

ANY: tuple[type, ...] = (object,)
_TEXT = (str,)
_OBJECT = (dict,)
_LIST = (list,)
_OUTPUT = (str, list)

COMMON = frozenset({"type", "id", "status", "internal_chat_message_metadata_passthrough"})
"""Members that any item may have beside those of its kind."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of item.

    Attributes:
        required: Members that it must have, and their types.
        optional: Members that it may have.
        prefix: What its id begins with, or empty where that is not checked.
        made: Whether the model makes it, so that it may stand between reasoning and its item.
        output: The kinds of which one answers it; empty where nothing does.
    """

    required: dict[str, tuple[type, ...]] = field(default_factory=dict)
    optional: frozenset[str] = frozenset()
    prefix: str = ""
    made: bool = False
    output: tuple[str, ...] = ()


def _call(
    prefix: str, output: tuple[str, ...], *optional: str, **required: tuple[type, ...]
) -> Kind:
    return Kind({"call_id": _TEXT, **required}, frozenset(optional), prefix, True, output)


def _answer(*optional: str, **required: tuple[type, ...]) -> Kind:
    return Kind({"call_id": _TEXT, **required}, frozenset(optional))


KINDS = MappingProxyType(
    {
        "message": Kind({}, frozenset({"role", "content", "phase"}), "msg"),
        "reasoning": Kind(
            {"summary": _LIST}, frozenset({"content", "encrypted_content"}), "rs", made=True
        ),
        "function_call": _call(
            "fc", ("function_call_output",), "namespace", name=_TEXT, arguments=_TEXT
        ),
        "function_call_output": _answer(output=_OUTPUT),
        "custom_tool_call": _call(
            "ctc", ("custom_tool_call_output",), "namespace", name=_TEXT, input=_TEXT
        ),
        "custom_tool_call_output": _answer("name", output=_OUTPUT),
        "local_shell_call": _call(
            "lsh", ("local_shell_call_output", "function_call_output"), action=_OBJECT
        ),
        "local_shell_call_output": Kind({"output": _TEXT}, frozenset({"call_id"})),
        "shell_call": _call("sh", ("shell_call_output",), "environment", "caller", action=_OBJECT),
        "shell_call_output": _answer("max_output_length", "caller", output=_LIST),
        "apply_patch_call": _call("apc", ("apply_patch_call_output",), "caller", operation=_OBJECT),
        "apply_patch_call_output": _answer("output", "caller", status=_TEXT),
        "computer_call": _call(
            "cu", ("computer_call_output",), "action", "actions", "pending_safety_checks"
        ),
        "computer_call_output": _answer("acknowledged_safety_checks", output=_OBJECT),
        "tool_search_call": Kind(
            {"arguments": ANY},
            frozenset({"call_id", "execution"}),
            "tsc",
            made=True,
            output=("tool_search_output",),
        ),
        "tool_search_output": Kind({"tools": _LIST}, frozenset({"call_id", "execution"})),
        "mcp_list_tools": Kind(
            {"server_label": _TEXT, "tools": _LIST}, frozenset({"error"}), "mcpl", made=True
        ),
        "mcp_approval_request": Kind(
            {"id": _TEXT, "arguments": _TEXT, "name": _TEXT, "server_label": _TEXT},
            prefix="mcpr",
            made=True,
        ),
        "mcp_approval_response": Kind(
            {"approval_request_id": _TEXT, "approve": (bool,)}, frozenset({"reason"})
        ),
        "mcp_call": Kind(
            {"arguments": _TEXT, "name": _TEXT, "server_label": _TEXT},
            frozenset({"approval_request_id", "error", "output"}),
            "mcp",
            made=True,
        ),
        "web_search_call": Kind({}, frozenset({"action"}), "ws", made=True),
        "file_search_call": Kind({"queries": _LIST}, frozenset({"results"}), "fs", made=True),
        "code_interpreter_call": Kind(
            {"container_id": _TEXT}, frozenset({"code", "outputs"}), "ci", made=True
        ),
        "image_generation_call": Kind({}, frozenset({"result", "revised_prompt"}), "ig", made=True),
        "compaction": Kind({"encrypted_content": _TEXT}, frozenset({"created_by"}), "cmp"),
        "compaction_trigger": Kind(),
        "context_compaction": Kind({}, frozenset({"encrypted_content"})),
        "item_reference": Kind({"id": _TEXT}),
        "additional_tools": Kind({"tools": _LIST}, frozenset({"role"})),
    }
)
"""Every kind, by the name in an item's `type`."""


def in_words(kind: str) -> str:
    """Return a kind as error messages name it: `function call output`."""
    return kind.replace("_", " ")
