"""What harnesses that send no tools mean by their plain text: thoughts, actions, observations.

They tell the model in prose how to write an action, read it out of the answer, and send what came
of it as a user message. `read_as` turns such messages into the blocks that calls of the wire's own
would have been read into, so that they fold the same way. Sources: mini-swe-agent 1.17 and the text
mode of 2.4 (fenced bash), SWE-agent's parsers (thought and action), Harbor 0.26's Terminus-2
(keystrokes in JSON or XML).
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType

from cuesta.core.transcript import Block, BlockKind, Message, Role, is_worth_clearing

Arguments = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Act:
    """What an answer says and does.

    Attributes:
        thoughts: What stands around its actions, in order.
        calls: Its actions: a tool's name and arguments each.
    """

    thoughts: tuple[str, ...]
    calls: tuple[tuple[str, Arguments], ...]


@dataclass(frozen=True, slots=True)
class TextProtocol:
    """How one harness talks.

    Attributes:
        demands: What the harness's own prompt says of the format, as it stands there; all of it.
        act: Reads an answer; None where the harness would find no action in it.
        observation: Fits what the harness sends in answer to an action, and nothing a person says.
        complaint: Fits what it sends in answer to an answer that it cannot read.
        failure: Fits an observation that reports a failure.
    """

    demands: tuple[re.Pattern[str], ...]
    act: Callable[[str], Act | None]
    observation: re.Pattern[str]
    complaint: re.Pattern[str]
    failure: re.Pattern[str]


_ID = "action"
"""Pairs an answer's last action with the observation of all of them: one is open at a time."""
_BASH = (
    (re.compile(r"```mswea_bash_command[ \t]*\n"), "\n```"),
    (re.compile(r"<mswea_bash_command>"), "</mswea_bash_command>"),
    (re.compile(r"<bash_code>"), "</bash_code>"),
    (re.compile(r"```bash[ \t]*\n"), "\n```"),
)
"""What opens and closes a command, in the order in which they are looked for."""
_FENCE = re.compile(r"^```[^\s`]*[ \t]*$", re.MULTILINE)
_FUNCTION = re.compile(r"<function=([\w.-]+)>"), "</function>"
_PARAMETER = re.compile(r"<parameter=([\w.-]+)>"), "</parameter>"
_COMMAND = re.compile(r"<command>"), "</command>"
_KEYSTROKES = re.compile(r"<keystrokes([^>]*)>"), "</keystrokes>"
_DURATION = re.compile(r"""duration\s*=\s*["']?([\d.]+)""")
_ANALYSIS = re.compile(r"<analysis>"), "</analysis>"
_PLAN = re.compile(r"<plan>"), "</plan>"
_COMPLETE = re.compile(r"<task_complete>\s*true\s*</task_complete>", re.IGNORECASE)
_JSON = json.JSONDecoder()
_NEVER = re.compile(r"(?!)")


@dataclass(frozen=True, slots=True)
class _Marked:
    """A piece between two marks: what opened it, what is in it, and where it all ends."""

    opening: re.Match[str]
    inner: str
    end: int

    @property
    def start(self) -> int:
        return self.opening.start()


def _marked(marks: tuple[re.Pattern[str], str], text: str) -> Iterator[_Marked]:
    """Yield the pieces between two marks, in order.

    The first opening that nothing closes ends the search, so that a text of openings alone is read
    in linear time, which one pattern for both marks would not.
    """
    opens, closes = marks
    found = opens.search(text)
    while found:
        end = text.find(closes, found.end())
        if end < 0:
            return
        yield _Marked(found, text[found.end() : end], end + len(closes))
        found = opens.search(text, end + len(closes))


def _bash_act(text: str) -> Act | None:
    """Read mini-swe-agent's answer: exactly one command between its marks, or none at all."""
    found = next(filter(None, (list(_marked(marks, text)) for marks in _BASH)), [])
    return _around(text, found[0]) if len(found) == 1 else None


def _thought_act(text: str) -> Act | None:
    """Read SWE-agent's answer: a function or a command in tags, or the last fenced block."""
    function = _last(_marked(_FUNCTION, text))
    if function:
        given = _marked(_PARAMETER, function.inner)
        arguments = {one.opening[1]: _without_a_line_break(one.inner) for one in given}
        thoughts = _outside(text, function.start, function.end)
        return Act(thoughts, ((function.opening[1], arguments),))
    command = _last(_marked(_COMMAND, text))
    if command:
        return _around(text, command)
    fences = deque(_FENCE.finditer(text), maxlen=2)
    if len(fences) < 2:
        return None
    opening, closing = fences
    inner = text[opening.end() + 1 : closing.start()]
    thoughts = _outside(text, opening.start(), closing.end())
    return Act(thoughts, (("bash", {"command": inner.strip("\n")}),))


def _keystrokes_act(text: str) -> Act | None:
    """Read Terminus-2's answer: an object, or tags where it is told to write XML."""
    return _json_act(text) or (_xml_act(text) if "<commands" in text else None)


def _json_act(text: str) -> Act | None:
    start = text.find("{")
    if start < 0:
        return None
    try:
        value, end = _JSON.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    commands = value.get("commands")
    if not isinstance(commands, list) or not all(map(_is_command, commands)):
        return None
    said = (value.get(key) for key in ("analysis", "plan"))
    thoughts = (text[:start], *(text for text in said if isinstance(text, str)), text[end:])
    complete = str(value.get("task_complete", "")).lower() in {"true", "1", "yes"}
    return Act(thoughts, _keystrokes(commands, complete=complete))


def _is_command(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("keystrokes"), str)


def _xml_act(text: str) -> Act:
    said = (next(_marked(marks, text), None) for marks in (_ANALYSIS, _PLAN))
    commands: list[Arguments] = []
    for one in _marked(_KEYSTROKES, text):
        duration = _DURATION.search(one.opening[1])
        waits = {"duration": duration[1]} if duration else {}
        commands.append({"keystrokes": one.inner, **waits})
    complete = _COMPLETE.search(text) is not None
    return Act(tuple(one.inner for one in said if one), _keystrokes(commands, complete=complete))


def _keystrokes(commands: list[Arguments], *, complete: bool) -> tuple[tuple[str, Arguments], ...]:
    """Return the calls; an empty list of commands waits, which the harness answers as well."""
    calls = [("keystrokes", command) for command in commands]
    if complete:
        calls.append(("task_complete", {}))
    return tuple(calls or [("keystrokes", {})])


def _last(pieces: Iterable[_Marked]) -> _Marked | None:
    found = deque(pieces, maxlen=1)
    return found[0] if found else None


def _without_a_line_break(text: str) -> str:
    """Take off the one line break that may stand on each side of a value in tags."""
    return text.removeprefix("\n").removesuffix("\n")


def _around(text: str, command: _Marked) -> Act:
    thoughts = _outside(text, command.start, command.end)
    return Act(thoughts, (("bash", {"command": command.inner.strip("\n")}),))


def _outside(text: str, start: int, end: int) -> tuple[str, ...]:
    return text[:start], text[end:]


PROTOCOLS: Mapping[str, TextProtocol] = MappingProxyType(
    {
        "mini-swe-agent-1": TextProtocol(
            demands=(
                re.compile(r"exactly\s+ONE\s+bash\s+code\s+block", re.IGNORECASE),
                re.compile(r"```bash\b|```mswea_bash_command\b|<mswea_bash_command>|<bash_code>"),
            ),
            act=_bash_act,
            observation=re.compile(
                r"\s*(?:<returncode>|<exception>|Observation:|The last command <command>)"
            ),
            complaint=re.compile(
                r"\s*(?:Please always provide EXACTLY ONE action|Format error:"
                r"|Your previous (?:response|output) )"
            ),
            failure=re.compile(
                r"\s*(?:<exception>|<returncode>(?!0</returncode>)|The last command <command>)"
            ),
        ),
        "swe-agent": TextProtocol(
            demands=(
                re.compile(r"format\s+your\s+output\s+using\s+two\s+fields;\s+discussion\s+and"),
                re.compile(
                    r"always\s+include\s+_one_\s+discussion\s+and\s+_one_\s+command\s+field"
                ),
            ),
            act=_thought_act,
            observation=re.compile(
                r"\s*(?:OBSERVATION:|Observation:|Your command ran successfully and did not"
                r"|Your bash command contained syntax errors|The command '.*' was cancelled"
                r"|EXECUTION TIMED OUT|COMMAND FAILED TO EXECUTE)"
                r"|.*\nbash-\$\s*\Z",
                re.DOTALL,
            ),
            complaint=re.compile(
                r"\s*(?:Your output was not formatted correctly|Your last output did not"
                r"|Your proposed edit has introduced|Operation '.*' is not supported)"
            ),
            failure=re.compile(
                r"\s*(?:Your bash command contained syntax errors|The command '.*' was cancelled"
                r"|EXECUTION TIMED OUT|COMMAND FAILED TO EXECUTE)",
                re.DOTALL,
            ),
        ),
        "terminus-2": TextProtocol(
            demands=(
                re.compile(r"Format your response as (?:JSON|XML) with the following structure:"),
                re.compile(r"\"keystrokes\": |<keystrokes duration="),
            ),
            act=_keystrokes_act,
            observation=re.compile(
                r"\s*(?:New Terminal Output:|Current Terminal Screen:|Current terminal state:"
                r"|Previous response had warnings:|Previous command:)"
            ),
            complaint=re.compile(
                r"\s*(?:Previous response had parsing errors:|ERROR!! NONE of the actions)"
            ),
            failure=_NEVER,
        ),
    }
)
"""The text protocols by name."""


class Behind(Enum):
    """What stands right before a message, as far as its reading depends on that."""

    NOTHING = "nothing that a harness answers"
    ANSWER = "an answer without an action"
    ACTION = "an action"
    RESULT = "what answered one"


def standing(message: Message) -> Behind:
    """Tell what a message is to the one behind it.

    Args:
        message: As `read_behind` returned it.
    """
    kinds = {block.kind for block in message.blocks}
    if message.role is Role.ASSISTANT:
        return Behind.ACTION if BlockKind.CALL in kinds else Behind.ANSWER
    return Behind.RESULT if BlockKind.RESULT in kinds else Behind.NOTHING


def read_as(protocol: str, message: Message, previous: Message | None) -> Message:
    """Read a message behind another; see `read_behind`.

    Args:
        protocol: A name in `PROTOCOLS`, or empty: the message is returned unchanged.
        message: The message, as its dialect reads it.
        previous: What was returned for the message before it.
    """
    return read_behind(protocol, message, standing(previous) if previous else Behind.NOTHING)


def read_behind(protocol: str, message: Message, behind: Behind) -> Message:
    """Read a message's plain text as one harness means it.

    An answer becomes its thoughts and its calls; the user message right behind it becomes their
    result where it fits the harness's own templates. Whatever else is said stays as it is: losing
    an instruction is worse than keeping a notice. Texts are literal pieces of the message's (of its
    JSON, decoded, where the actions stand in JSON).

    Args:
        protocol: A name in `PROTOCOLS`, or empty: the message is returned unchanged.
        message: The message, as its dialect reads it.
        behind: What stands right before it.
    """
    if not protocol or message.role is Role.SYSTEM:
        return message
    row = PROTOCOLS[protocol]
    if message.role is Role.ASSISTANT:
        return _answer(row, message)
    if answers(row, message, behind):
        return _observation(row, message, behind)
    if behind is Behind.ACTION and not _results(message):
        # A person answered instead: the action is settled, and nothing is known of its output.
        return _with(message, (Block(BlockKind.RESULT, call_id=_ID), *message.blocks))
    return message


def answers(row: TextProtocol, message: Message, behind: Behind) -> bool:
    """Tell whether the harness itself answers in a user message, and not a person.

    An observation stands right behind an action. A complaint may stand behind a result as well: the
    answer was left out.

    Args:
        row: The harness's protocol.
        message: The message, as its dialect reads it.
        behind: What stands right before it.
    """
    if message.role is not Role.USER or _results(message):
        return False
    text = "".join(next(iter(_texts(message)), ()))
    complains = behind is not Behind.NOTHING and row.complaint.match(text) is not None
    return complains or (behind is Behind.ACTION and row.observation.match(text) is not None)


def _results(message: Message) -> bool:
    return any(block.kind is BlockKind.RESULT for block in message.blocks)


def _answer(row: TextProtocol, message: Message) -> Message:
    if any(block.kind is BlockKind.CALL for block in message.blocks):
        return message
    act = row.act(_text(message))
    if act is None:
        return message
    others = (block for block in message.blocks if block.kind is not BlockKind.TEXT)
    thoughts = (Block(BlockKind.TEXT, (text,)) for text in act.thoughts if text.strip())
    return _with(message, (*others, *thoughts, *_calls(act)))


def _calls(act: Act) -> list[Block]:
    """Return the calls; only the last can be answered, since one observation answers them all."""
    last = len(act.calls) - 1
    return [
        Block(BlockKind.CALL, name=name, call_id=_ID if i == last else "", arguments=arguments)
        for i, (name, arguments) in enumerate(act.calls)
    ]


def _observation(row: TextProtocol, message: Message, behind: Behind) -> Message:
    """Read what answers an action.

    Its first text is the harness's; what a client has put behind that in the same message (an
    instruction of the next moment) is a person's, and stays.
    """
    first, *more = (block for block in message.blocks if block.kind is BlockKind.TEXT)
    others = [block for block in message.blocks if block.kind is not BlockKind.TEXT]
    text = "".join(first.texts)
    result = Block(
        BlockKind.RESULT,
        (text,) if text else (),
        call_id=_ID if behind is Behind.ACTION else "",
        error=row.complaint.match(text) is not None or row.failure.match(text) is not None,
        media=sum(block.kind is BlockKind.MEDIA for block in others),
        weight=sum(block.weight for block in others),
        pictures=tuple(size for block in others for size in block.pictures),
    )
    clearable = (0,) if is_worth_clearing(result) else ()
    return replace(_with(message, (result, *more)), clearable=clearable)


def _with(message: Message, blocks: tuple[Block, ...]) -> Message:
    return Message(message.role, blocks, message.pinned, message.barrier)


def _texts(message: Message) -> list[tuple[str, ...]]:
    return [block.texts for block in message.blocks if block.kind is BlockKind.TEXT]


def _text(message: Message) -> str:
    return "".join(text for texts in _texts(message) for text in texts)
