"""The rules of Responses over a whole request, each a function to a breach or None."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from cuesta.testing.simulator.openai import Breach
from cuesta.testing.simulator.responses.kinds import KINDS, in_words
from cuesta.testing.simulator.responses.memory import Memory
from cuesta.testing.simulator.responses.reading import Item, ResponsesRequest

Rule: TypeAlias = Callable[[ResponsesRequest, Memory], Breach | None]

_PERSIST = (
    " Items are not persisted when `store` is set to false. Try again with `store` set to true, or "
    "remove this item from your input."
)


def stores(request: ResponsesRequest) -> bool:
    """Tell whether a request lets the provider store its items: it does by default."""
    return request.body.get("store") is not False


def _before(request: ResponsesRequest) -> int:
    """Return how many items come from the previous response, not from the input."""
    given = request.body.get("input")
    sent = len(given) if isinstance(given, list) else int(isinstance(given, str))
    return len(request.entries) - sent


def text_is_unicode(request: ResponsesRequest, _: Memory) -> Breach | None:
    """No text holds half a surrogate pair."""
    if any(item.surrogate for item in request.entries):
        text = "Invalid body: failed to parse JSON value. Please check the value to ensure it is "
        return Breach("surrogate", text + "valid JSON.", None, "invalid_json")
    return None


def items_are_well_formed(request: ResponsesRequest, _: Memory) -> Breach | None:
    """Every item is of known shape by itself."""
    before = _before(request)
    for place, item in enumerate(request.entries):
        if item.fault is not None:
            return item.fault.at(f"input[{place - before}]")
    return None


def previous_response_is_known(request: ResponsesRequest, memory: Memory) -> Breach | None:
    """A previous response was stored."""
    name = request.body.get("previous_response_id")
    if name is None or memory.response(str(name)) is not None:
        return None
    text = f"Previous response with id '{name}' not found."
    return Breach("previous", text, "previous_response_id", "previous_response_not_found")


def trigger_is_last(request: ResponsesRequest, _: Memory) -> Breach | None:
    """A compaction is triggered by the last item, if at all."""
    if any(item.kind == "compaction_trigger" for item in request.entries[:-1]):
        text = "The 'compaction_trigger' item must be the final input item."
        return Breach("trigger", text, "input")
    return None


def ids_are_unique(request: ResponsesRequest, _: Memory) -> Breach | None:
    """No two items share an id, no two calls a call's, and no two outputs either."""
    seen: set[str] = set()
    calls: set[str] = set()
    answers: set[str] = set()
    for item in request.entries:
        for name, known in ((item.id, seen), (item.call, calls), (item.answers, answers)):
            if not name:
                continue
            if name in known:
                text = (
                    f"Duplicate item found with id {name}. Remove duplicate items from your input "
                    "and try again."
                )
                return Breach("duplicate", text, "input")
            known.add(name)
    return None


def items_are_found(request: ResponsesRequest, memory: Memory) -> Breach | None:
    """What is only named by its id is stored, and stored items may be used."""
    for item in request.entries:
        named = item.kind == "item_reference" or (
            item.kind == "reasoning" and bool(item.id) and not item.seal
        )
        if not named or (stores(request) and memory.stored(item.id) is not None):
            continue
        text = f"Item with id '{item.id}' not found."
        return Breach(
            "not-found", text + ("" if stores(request) else _PERSIST), "input", None, status=404
        )
    return None


def seals_are_genuine(request: ResponsesRequest, memory: Memory) -> Breach | None:
    """Encrypted content was given out, and comes back unchanged and in its own item."""
    for item in request.entries:
        if not item.seal:
            continue
        owner = memory.sealed(item.seal)
        if owner is not None and (not item.id or not owner or item.id == owner):
            continue
        what = f"for item {item.id}" if item.id else f"{item.seal[:4]}...{item.seal[-4:]}"
        reason = (
            "Encrypted content could not be decrypted or parsed."
            if owner is None
            else "Encrypted content item_id did not match the target item id."
        )
        text = f"The encrypted content {what} could not be verified. Reason: {reason}"
        return Breach("encrypted", text, None, "invalid_encrypted_content")
    return None


def calls_are_paired(request: ResponsesRequest, _: Memory) -> Breach | None:
    """Each output follows a call of its kind, and each call has its output."""
    calls: dict[str, Item] = {}
    for item in request.entries:
        if item.call:
            calls[item.call] = item
            if item.kind == "local_shell_call" and item.id:
                calls[item.id] = item
        elif item.answers:
            call = calls.get(item.answers)
            if call is None or item.kind not in _outputs(call.kind):
                text = f"No tool call found for {in_words(item.kind)} with call_id {item.answers}."
                return Breach("unexpected-result", text, "input")
    answered = {item.answers for item in request.entries if item.answers}
    for item in request.entries:
        own = {item.call, item.id if item.kind == "local_shell_call" else item.call}
        if item.call and not own & answered:
            text = f"No tool output found for {in_words(item.kind)} {item.call}."
            return Breach("pairing", text, "input")
    return None


def _outputs(kind: str) -> tuple[str, ...]:
    known = KINDS.get(kind)
    return known.output if known is not None else (f"{kind}_output",)


def approvals_are_asked_for(request: ResponsesRequest, _: Memory) -> Breach | None:
    """An approval answers a request for one that came before."""
    asked: set[str] = set()
    for item, given in zip(request.entries, request.given, strict=True):
        if item.kind == "mcp_approval_request":
            asked.add(item.id)
        elif item.kind == "mcp_approval_response" and given["approval_request_id"] not in asked:
            text = (
                "No approval request found for approval response with approval_request_id "
                f"{given['approval_request_id']}."
            )
            return Breach("unexpected-result", text, "input")
    return None


def reasoning_has_its_item(request: ResponsesRequest, memory: Memory) -> Breach | None:
    """Reasoning with an id is followed by the item that it was answered with."""
    for place, item in enumerate(request.entries):
        if item.kind != "reasoning" or not item.id or not memory.has_following(item.id):
            continue
        behind = request.entries[place + 1] if place + 1 < len(request.entries) else None
        wanted = memory.following(item.id)
        if behind is None or not behind.made or (wanted and behind.id != wanted):
            text = (
                f"Item '{item.id}' of type 'reasoning' was provided without its required following "
                "item."
            )
            return Breach("following-item", text, "input")
    return None


def items_have_their_reasoning(request: ResponsesRequest, memory: Memory) -> Breach | None:
    """An item that was answered behind reasoning stands behind it, with no output between.

    Reasoning without an id is known by its seal.
    """
    present: set[str] = set()
    for item in request.entries:
        if not item.made:
            present.clear()
            continue
        if item.kind == "reasoning":
            present.add(item.id or memory.sealed(item.seal) or "")
            continue
        wanted = memory.reasoning(item.id)
        if wanted and wanted not in present:
            text = (
                f"Item '{item.id}' of type '{item.kind}' was provided without its required "
                f"'reasoning' item: '{wanted}'."
            )
            return Breach("reasoning-item", text, "input")
    return None


RULES: tuple[Rule, ...] = (
    text_is_unicode,
    items_are_well_formed,
    previous_response_is_known,
    trigger_is_last,
    ids_are_unique,
    items_are_found,
    seals_are_genuine,
    calls_are_paired,
    approvals_are_asked_for,
    reasoning_has_its_item,
    items_have_their_reasoning,
)
"""Every rule but that of the window, in the order in which they are tried."""
