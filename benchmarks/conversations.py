"""Anthropic conversations of any size, as a coding agent sends them.

About 4.1 KB a turn: a step of the model (often a sentence, always a call) and the result of its
call. Sizes of results are log-normal (median 1.6 KB, at most 20 KB), one result in twenty is an
error, every fiftieth turn a person says something. The keys of a body stand in Claude Code's order,
with its cache markers on the system prompt and on the last block, so the marker moves with each
turn. Everything follows from the seed; no two messages are alike.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable

MODEL = "claude-opus-4-5"
"""A model that takes thinking back whatever stands before it."""
CHECKING_MODEL = "claude-opus-5-5"
"""A model that refuses thinking produced behind another prefix."""

_MARK = b',"cache_control":{"type":"ephemeral"}'
_WORDS = (
    "self", "value", "index", "return", "cache", "request", "token", "buffer", "parse", "turn",
    "path", "import", "config", "result", "default", "None", "while", "yield", "assert", "length",
    "offset", "header", "stream", "error", "async", "await", "handler", "chunk",
)  # fmt: skip
_LINES = 4_000
_TOOLS = ("Bash", "Read", "Edit", "Grep", "Write")
_HUMAN_EVERY = 50
_TURNS = 10
"""Turns that a steady conversation grows before it is taken back to its size."""
_RESULT_MEDIAN, _RESULT_SPREAD, _RESULT_MOST = 1_600, 1.3, 20_000


def _corpus() -> list[bytes]:
    """Return lines that look like code, escaped as they stand inside a JSON string."""
    chance = random.Random(7)
    lines = []
    for number in range(_LINES):
        words = " ".join(chance.choices(_WORDS, k=chance.randint(2, 9)))
        line = f'{" " * chance.choice((0, 4, 8))}{words} = "{number}"\n'
        lines.append(json.dumps(line)[1:-1].encode())
    return lines


_CORPUS = _corpus()
_LINE_BYTES = sum(map(len, _CORPUS)) / _LINES


class Conversation:
    """A conversation that grows turn by turn.

    Args:
        seed: Another seed is another conversation.
        fixed: Bytes of system prompt and tools, about.
        thinking: Put a signed thinking block into each step, on a model that checks it.
        stream: Ask for a streamed answer.
    """

    def __init__(
        self, seed: int, *, fixed: int = 8_000, thinking: bool = False, stream: bool = False
    ) -> None:
        self._chance = random.Random(seed)
        self._name = f"{seed:06x}"
        self._calls = 0
        self._thinking = thinking
        model = CHECKING_MODEL if thinking else MODEL
        self._head = b'{"model":"%s","messages":[' % model.encode()
        system = b'[{"type":"text","text":"%s"%s}]' % (self._text(fixed * 6 // 10), _MARK)
        more = b',"thinking":{"type":"adaptive"}' if thinking else b""
        self._tail = b'],"system":%s,"tools":%s%s,"max_tokens":32000,"stream":%s}' % (
            system,
            self._tools(fixed * 4 // 10),
            more,
            b"true" if stream else b"false",
        )
        task = b'{"type":"text","text":"%s task: %s"}' % (self._name.encode(), self._text(1_000))
        self._messages = [b'{"role":"user","content":[%s]}' % task]
        self._bytes = len(self._messages[0])
        self.turns = 0

    @property
    def size(self) -> int:
        """Bytes of the body, about."""
        return len(self._head) + len(self._tail) + self._bytes + len(self._messages)

    @property
    def last_step_bytes(self) -> int:
        """Bytes of the model's last step: the output of the request before this one."""
        return len(self._messages[-2])

    def body(self) -> bytes:
        """Return the request's body with its cache marker on the last block."""
        return self._head + self.rest(0)

    def beginning(self, turns: int) -> bytes:
        """Return the body up to behind some turns; it stays what it is while the body grows."""
        return self._head + b",".join(self._messages[: 2 * turns]) + b","

    def rest(self, turns: int) -> bytes:
        """Return what follows `beginning`; the whole but its head for no turns."""
        *before, last = self._messages[2 * turns :]
        marked = last[:-3] + _MARK + last[-3:]
        return b",".join([*before, marked]) + self._tail

    def grow(self, turns: int = 1) -> None:
        """Add turns."""
        for _ in range(turns):
            self.turns += 1
            human = self.turns % _HUMAN_EVERY == 0
            for message in self._said() if human else self._worked():
                self._messages.append(message)
                self._bytes += len(message)

    def grow_to(self, size: int) -> None:
        """Add turns until the body has `size` bytes."""
        while self.size < size:
            self.grow()

    def rewind(self, turns: int) -> None:
        """Take the last turns back; what grows next is new."""
        self.turns -= turns
        for message in self._messages[-2 * turns :]:
            self._bytes -= len(message)
        del self._messages[-2 * turns :]

    def _text(self, size: int) -> bytes:
        """Return about `size` bytes of text."""
        first = self._chance.randrange(_LINES)
        count = max(1, round(size / _LINE_BYTES))
        lines = _CORPUS[first : first + count]
        while len(lines) < count:
            lines += _CORPUS[: count - len(lines)]
        return b"".join(lines)

    def _tools(self, size: int) -> bytes:
        count = max(len(_TOOLS), size // 1_000)
        tool = (
            b'{"name":"%s","description":"%s","input_schema":{"type":"object",'
            b'"properties":{"command":{"type":"string"},"file_path":{"type":"string"}}}}'
        )
        names = [*_TOOLS, *(f"mcp__server__tool_{n}" for n in range(count - len(_TOOLS)))]
        each = max(60, size // count - 130)
        return b"[%s]" % b",".join(tool % (name.encode(), self._text(each)) for name in names)

    def _worked(self) -> tuple[bytes, bytes]:
        """Return a step with a call, and the call's result."""
        chance = self._chance
        self._calls += 1
        call = f"toolu_{self._name}{self._calls:012d}".encode()
        blocks = self._thoughts()
        if chance.random() < 0.6:
            blocks.append(b'{"type":"text","text":"%s"}' % self._text(chance.randint(50, 400)))
        blocks.append(
            b'{"type":"tool_use","id":"%s","name":"%s","input":%s}' % (call, *self._call())
        )
        error = b',"is_error":true' if chance.random() < 0.05 else b""
        size = min(chance.lognormvariate(math.log(_RESULT_MEDIAN), _RESULT_SPREAD), _RESULT_MOST)
        result = b'{"tool_use_id":"%s","type":"tool_result","content":"%s"%s}' % (
            call,
            self._text(int(size)),
            error,
        )
        return (
            b'{"role":"assistant","content":[%s]}' % b",".join(blocks),
            b'{"role":"user","content":[%s]}' % result,
        )

    def _call(self) -> tuple[bytes, bytes]:
        """Return a tool's name and the arguments of a call."""
        chance = self._chance
        tool = chance.choice(_TOOLS)
        path = f"/app/src/{chance.choice(_WORDS)}/{chance.choice(_WORDS)}.py".encode()
        if tool in ("Edit", "Write"):
            return tool.encode(), b'{"file_path":"%s","new_string":"%s"}' % (
                path,
                self._text(chance.randint(200, 2_000)),
            )
        if tool == "Bash":
            return b"Bash", b'{"command":"%s"}' % self._text(chance.randint(60, 300))
        return tool.encode(), b'{"file_path":"%s","limit":%d}' % (path, chance.randint(10, 400))

    def _said(self) -> tuple[bytes, bytes]:
        """Return a step that ends the model's turn, and what a person answers."""
        chance = self._chance
        step = b'{"type":"text","text":"%s"}' % self._text(chance.randint(300, 900))
        human = b'{"type":"text","text":"%s"}' % self._text(chance.randint(100, 600))
        return (
            b'{"role":"assistant","content":[%s]}' % b",".join([*self._thoughts(), step]),
            b'{"role":"user","content":[%s]}' % human,
        )

    def _thoughts(self) -> list[bytes]:
        if not self._thinking:
            return []
        signature = self._chance.randbytes(200).hex().encode()
        text = self._text(self._chance.randint(100, 800))
        return [b'{"type":"thinking","thinking":"%s","signature":"%s"}' % (text, signature)]


def tiny_body(seed: int) -> bytes:
    """Return the body of a conversation that has just begun."""
    return Conversation(seed, fixed=1_000).body()


def steady_bodies(seed: int, size: int) -> Callable[[], tuple[bytes, bytes]]:
    """Return what makes a conversation's next body: longer by a turn, ten times, then anew.

    Taking turns back keeps the size; what is said instead is new each time. A body comes in two
    pieces, a long one that is always the same and a short one: a client that joined them would be
    busier than a fast proxy.
    """
    talk = Conversation(seed)
    talk.grow_to(size)
    base = talk.turns
    beginning = talk.beginning(base)

    def following() -> tuple[bytes, bytes]:
        if talk.turns - base >= _TURNS:
            talk.rewind(_TURNS)
        talk.grow()
        return beginning, talk.rest(base)

    return following
