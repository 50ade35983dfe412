"""The rules of the wire over a whole request, each a function to a refusal or None.

Sources of every rule: `refusals.SOURCES`. Thinking has a room of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from cuesta.testing.simulator.blocks import HERE, SERVER_CALLS, Fault
from cuesta.testing.simulator.images import Picture
from cuesta.testing.simulator.reading import Request
from cuesta.testing.simulator.refusals import Refusal, refuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cuesta.core.models import Model
    from cuesta.testing.simulator.facts import Named
    from cuesta.testing.simulator.reading import Turn

Rule: TypeAlias = Callable[[Request], Refusal | None]

MAX_MARKERS = 4
MANY_IMAGES = 20
MAX_SIDE = 8000
MAX_SIDE_OF_MANY = 2000
MAX_IMAGE_BYTES = 5 * 1024 * 1024

_NO_PREFILL_FLOOR = (4, 6)
_SYSTEM_FLOOR = {"opus": (4, 8)}
_SYSTEM_FLOOR_OF_OTHERS = (5, 0)
_NO_PREFILL = (
    "This model does not support assistant message prefill. The conversation must end with a user "
    "message."
)
_DIRECTIVE = (
    "; the directive-only form (content: [] with output_config) is accepted at any position"
)


def _placed(fault: Fault, place: int) -> Refusal:
    return refuse(fault.rule, fault.text.replace(HERE, f"messages.{place}"))


def _at(path: str, place: int) -> str:
    return path.replace(HERE, f"messages.{place}")


def text_is_unicode(request: Request) -> Refusal | None:
    """No text holds half a surrogate pair."""
    if not request.head.surrogate and not any(m.surrogate for m in request.messages):
        return None
    return refuse("surrogate", "The request body is not valid JSON: no low surrogate in string")


def parts_are_well_formed(request: Request) -> Refusal | None:
    """Tools, system and every message are of known shape by themselves."""
    if request.head.fault is not None:
        return refuse(*request.head.fault)
    for place, message in enumerate(request.messages):
        if message.fault is not None:
            return _placed(message.fault, place)
    return None


def content_is_present(request: Request) -> Refusal | None:
    """Every message has content, but a last one of the assistant and one that sets options."""
    for place, message in enumerate(request.messages):
        last = place == len(request.messages) - 1 and message.role == "assistant"
        if not message.kinds and not message.directive and not last:
            return refuse(
                "empty",
                f"messages.{place}: all messages must have non-empty content except for the "
                "optional final assistant message",
            )
    return None


def user_comes_first(request: Request) -> Refusal | None:
    """The first message with content is the user's."""
    turns = request.turns
    if not turns or turns[0][0] == "user":
        return None
    if turns[0][0] == "system":
        return refuse(
            "system-place",
            f"messages.{turns[0][1][0]}: use the top-level 'system' parameter for the initial "
            f"system prompt{_DIRECTIVE}",
        )
    return refuse("first", 'messages: first message must use the "user" role')


def system_messages_are_supported(request: Request) -> Refusal | None:
    """Only newer models take system messages between the others."""
    if not any(message.role == "system" for message in request.messages):
        return None
    model = request.model
    floor = _SYSTEM_FLOOR.get(model.family, _SYSTEM_FLOOR_OF_OTHERS)
    if not model.claude or model.generation >= floor:
        return None
    return refuse("system-model", "role 'system' is not supported on this model")


def system_messages_are_placed(request: Request) -> Refusal | None:
    """A run of system messages follows the user and precedes the assistant or ends the list."""
    turns = request.turns
    for index, (role, places) in enumerate(turns):
        if role != "system":
            continue
        if index and not _may_precede_system(request, turns[index - 1]):
            return refuse(
                "system-place",
                f"messages.{places[0]}: role 'system' must follow a 'user' message or an "
                f"'assistant' message ending in a server tool result{_DIRECTIVE}",
            )
        if index + 1 < len(turns) and turns[index + 1][0] != "assistant":
            return refuse(
                "system-place",
                f"messages.{places[-1]}: role 'system' must precede an 'assistant' message or end "
                f"the array{_DIRECTIVE}",
            )
    return None


def _may_precede_system(request: Request, turn: Turn) -> bool:
    role, places = turn
    return role == "user" or _last_kind(request, places).endswith("_tool_result")


def _last_kind(request: Request, places: list[int]) -> str:
    kinds = [kind for place in places for kind in request.messages[place].kinds]
    return kinds[-1] if kinds else ""


def call_ids_are_unique(request: Request) -> Refusal | None:
    """No two calls of a request share an id."""
    seen: set[str] = set()
    for place, message in enumerate(request.messages):
        for call in message.calls:
            if call.name in seen:
                return refuse(
                    "unique-ids",
                    f"messages.{place}.content.{call.block}: `tool_use` ids must be unique",
                )
            seen.add(call.name)
    return None


def calls_are_answered(request: Request) -> Refusal | None:
    """Each call has its result in the run that opens the very next user message."""
    turns = request.turns
    for index, (role, places) in enumerate(turns):
        if role != "assistant":
            continue
        answered: set[str] = set()
        if index + 1 < len(turns) and turns[index + 1][0] == "user":
            answered = _opening_results(request, turns[index + 1][1])
        for place in places:
            missing = [c.name for c in request.messages[place].calls if c.name not in answered]
            if missing:
                return refuse(
                    "pairing",
                    f"messages.{place}: `tool_use` ids were found without `tool_result` blocks "
                    f"immediately after: {', '.join(missing)}. Each `tool_use` block must have a "
                    "corresponding `tool_result` block in the next message.",
                )
    return None


def _opening_results(request: Request, places: list[int]) -> set[str]:
    found: set[str] = set()
    for place in places:
        message = request.messages[place]
        found.update(result.name for result in message.results if result.block < message.leading)
        if message.leading < len(message.kinds):
            break
    return found


def results_are_expected(request: Request) -> Refusal | None:
    """Each result answers a call of the assistant message right before, and none twice."""
    before: frozenset[str] = frozenset()
    for _, places in request.turns:
        seen: set[str] = set()
        for place in places:
            for result in request.messages[place].results:
                at = f"messages.{place}.content.{result.block}"
                if result.name not in before:
                    return _unexpected(at, result, "`tool_use` block in the previous message")
                if result.name in seen:
                    return refuse(
                        "single-result",
                        f"{at}: each tool_use must have a single result. Found multiple "
                        f"`tool_result` blocks with id: {result.name}",
                    )
                seen.add(result.name)
        before = frozenset(c.name for place in places for c in request.messages[place].calls)
    return None


def _unexpected(at: str, result: Named, wanted: str) -> Refusal:
    return refuse(
        "server-pairing" if result.kind != "tool_result" else "unexpected-result",
        f"{at}: unexpected `tool_use_id` found in `{result.kind}` blocks: {result.name}. Each "
        f"`{result.kind}` block must have a corresponding {wanted}.",
    )


def server_calls_are_answered(request: Request) -> Refusal | None:
    """A server tool's call and result stand in one assistant message, but in a paused turn."""
    turns = request.turns
    paused = {place for role, places in _tail(turns) if role == "assistant" for place in places}
    for _, places in turns:
        open_calls: dict[str, tuple[int, str]] = {}
        for place in places:
            message = request.messages[place]
            for entry in message.server:
                if message.kinds[entry.block] in SERVER_CALLS:
                    open_calls[entry.name] = (place, entry.kind)
                elif open_calls.pop(entry.name, None) is None:
                    at = f"messages.{place}.content.{entry.block}"
                    return _unexpected(at, entry, "`server_tool_use` block before it")
        for name, (place, tool) in open_calls.items():
            if place not in paused:
                return refuse(
                    "server-pairing",
                    f"messages.{place}: `{tool}` tool use with id `{name}` was found without a "
                    f"corresponding `{tool}_tool_result` block",
                )
    return None


def _tail(turns: Sequence[Turn]) -> list[Turn]:
    """Return the last turn, trailing system messages ignored."""
    spoken = [turn for turn in turns if turn[0] != "system"]
    return spoken[-1:]


def no_assistant_prefill(request: Request) -> Refusal | None:
    """Newer models refuse a list that ends with the assistant, but in a paused turn."""
    for role, places in _tail(request.turns):
        if role != "assistant":
            return None
        kind = _last_kind(request, places)
        if kind in SERVER_CALLS or kind.endswith("_tool_result"):
            return None
        if refuses_prefill(request.model):
            return refuse("prefill", _NO_PREFILL)
        if request.messages[places[-1]].trailing_space:
            return refuse(
                "trailing",
                "messages: final assistant content cannot end with trailing whitespace",
            )
    return None


def refuses_prefill(model: Model) -> bool:
    """Tell whether a model refuses to continue an assistant message."""
    return model.claude and model.generation >= _NO_PREFILL_FLOOR


def calls_end_their_message(request: Request) -> Refusal | None:
    """No text stands behind a call: newer models take it for a prefill."""
    if not refuses_prefill(request.model):
        return None
    for _, places in request.turns:
        called = False
        for place in places:
            for kind in request.messages[place].kinds:
                if called and kind == "text":
                    return refuse("text-after-call", f"messages.{place}: {_NO_PREFILL}")
                called = called or kind == "tool_use"
    return None


def markers_are_few(request: Request) -> Refusal | None:
    """At most four blocks are marked for the cache, one for the whole request included."""
    found = len(request.head.markers) + sum(len(m.markers) for m in request.messages)
    found += request.body.get("cache_control") is not None
    if found <= MAX_MARKERS:
        return None
    return refuse(
        "markers",
        f"A maximum of {MAX_MARKERS} blocks with cache_control may be provided. Found {found}.",
    )


def markers_are_ordered(request: Request) -> Refusal | None:
    """Markers are well-formed, and none of an hour follows one of five minutes."""
    places = [(marker.at, marker.value) for marker in request.head.markers]
    for place, message in enumerate(request.messages):
        places += [(_at(marker.at, place), marker.value) for marker in message.markers]
    whole = request.body.get("cache_control")
    if whole is not None:
        places.append(("", whole))
    short = False
    for path, value in places:
        at = f"{path}.cache_control" if path else "cache_control"
        if not isinstance(value, dict) or value.get("type") != "ephemeral":
            return refuse("marker-shape", f"{at}.type: Input should be 'ephemeral'")
        lifetime = value.get("ttl", "5m")
        if lifetime not in {"5m", "1h"}:
            return refuse("marker-shape", f"{at}.ttl: Input should be '5m' or '1h'")
        if lifetime == "1h" and short:
            return refuse(
                "marker-order",
                f"{at}.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' "
                "cache_control block. Note that blocks are processed in the following order: "
                "`tools`, `system`, `messages`.",
            )
        short = short or lifetime == "5m"
    return None


def images_are_small(request: Request) -> Refusal | None:
    """Images keep within their bytes and pixels; fewer pixels where there are many."""
    shown = [(_at(s.at, n), s.what) for n, m in enumerate(request.messages) for s in m.pictures]
    many = len(shown) > MANY_IMAGES
    side = MAX_SIDE_OF_MANY if many else MAX_SIDE
    for at, picture in shown:
        if not isinstance(picture, Picture):
            continue
        if picture.bytes > MAX_IMAGE_BYTES:
            return refuse(
                "image-bytes",
                f"{at}.image.source.base64: image exceeds 5 MB maximum: {picture.bytes} bytes > "
                f"{MAX_IMAGE_BYTES} bytes",
            )
        if picture.size is not None and max(picture.size) > side:
            kind = " for many-image requests" if many else ""
            return refuse(
                "image-size",
                f"{at}.image.source.base64.data: At least one of the image dimensions exceed max "
                f"allowed size{kind}: {side} pixels",
            )
    return None


def references_are_known(request: Request) -> Refusal | None:
    """A tool reference names a tool that the request offers."""
    if not any(message.references for message in request.messages):
        return None
    tools = request.head.tools.union(*(message.added_tools for message in request.messages))
    for place, message in enumerate(request.messages):
        for reference in message.references:
            if reference.what not in tools:
                return refuse(
                    "tool-reference",
                    f"{_at(reference.at, place)}: Tool reference '{reference.what}' not found in "
                    "available tools",
                )
    return None


RULES: tuple[Rule, ...] = (
    text_is_unicode,
    parts_are_well_formed,
    content_is_present,
    system_messages_are_supported,
    user_comes_first,
    system_messages_are_placed,
    markers_are_few,
    markers_are_ordered,
    call_ids_are_unique,
    calls_are_answered,
    results_are_expected,
    server_calls_are_answered,
    calls_end_their_message,
    no_assistant_prefill,
    images_are_small,
    references_are_known,
)
"""Every rule that does not concern thinking, in the order in which they are tried."""
