"""Conversations of harnesses that send no tools, by hand, on every wire."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from cuesta.exchange.engine import Engine
from cuesta.exchange.options import CompactionOptions
from cuesta.testing.driver import Bench

MINI, SWE, TERMINUS = "mini-swe-agent-1", "swe-agent", "terminus-2"
HARNESSES = (MINI, SWE, TERMINUS)
PATHS = {
    "openai_chat": "/v1/chat/completions",
    "anthropic": "/v1/messages",
    "openai_responses": "/v1/responses",
}
MODELS = {"openai_chat": "qwen3-coder", "anthropic": "claude-sonnet-4-5", "openai_responses": "gpt"}
Message = dict[str, Any]

_DEMANDS = {
    MINI: "Answer with exactly ONE bash code block:\n```bash\nyour_command_here\n```",
    SWE: (
        "Format your output using two fields; discussion and command. Do format your output using "
        "two fields; discussion and command, and always include _one_ discussion and _one_ "
        "command field."
    ),
    TERMINUS: (
        "Format your response as JSON with the following structure:\n"
        '{"analysis": "...", "plan": "...", "commands": [{"keystrokes": "ls\\n"}]}'
    ),
}


def said(role: str, content: str) -> Message:
    return {"role": role, "content": content}


def head(harness: str, task: str = "Fix the cache.") -> list[Message]:
    """What stands before the first answer; Terminus-2 has no system prompt."""
    if harness == TERMINUS:
        return [said("user", f"{_DEMANDS[harness]}\n\nTask:\n{task}\n\nTerminal:\n$")]
    return [said("system", _DEMANDS[harness]), said("user", task)]


def answer(harness: str, number: int, command: str = "") -> Message:
    """An answer with one action."""
    command = command or f"make step-{number}"
    thought = f"I look at part {number}."
    if harness == TERMINUS:
        keys = [{"keystrokes": f"{command}\n", "duration": 0.1}]
        value = {"analysis": thought, "plan": "Go on.", "commands": keys}
        return said("assistant", json.dumps(value, indent=2))
    mark = "bash" if harness == MINI else ""
    return said("assistant", f"THOUGHT: {thought}\n\n```{mark}\n{command}\n```")


def output(harness: str, number: int, size: int = 3_000) -> Message:
    """What the harness answers to it, of about `size` characters."""
    text = f"out-{number} " * (size // 8)
    if harness == TERMINUS:
        return said("user", f"New Terminal Output:\n$ make step-{number}\n{text}\n$")
    if harness == SWE:
        return said(
            "user", f"OBSERVATION:\n{text}\n(Open file: n/a)\n(Current directory: /)\nbash-$"
        )
    return said("user", f"<returncode>0</returncode>\n<output>\n{text}\n</output>")


def complaint(harness: str) -> Message:
    """What it answers to an answer that it cannot read."""
    return said(
        "user",
        {
            MINI: "Please always provide EXACTLY ONE action in triple backticks, found 0 actions.",
            SWE: "Your output was not formatted correctly. Once more, please.",
            TERMINUS: "Previous response had parsing errors:\nERROR: No valid JSON found",
        }[harness],
    )


def talk(harness: str, turns: int, size: int = 3_000) -> list[Message]:
    """A task and some turns."""
    behind = ((answer(harness, n), output(harness, n, size)) for n in range(turns))
    return [*head(harness), *(message for pair in behind for message in pair)]


def body(messages: list[Message], wire: str = "openai_chat", **fields: Any) -> bytes:
    """The request that a client of this wire makes of it."""
    value: dict[str, Any] = {"model": MODELS[wire], **fields}
    if wire == "openai_chat":
        return json.dumps({**value, "messages": messages}).encode()
    system = "\n".join(m["content"] for m in messages if m["role"] == "system")
    rest = [m for m in messages if m["role"] != "system"]
    if wire == "anthropic":
        given = {"system": system} if system else {}
        return json.dumps({**value, "max_tokens": 4_096, **given, "messages": rest}).encode()
    given = {"instructions": system} if system else {}
    items = [{"type": "message", **m} for m in rest]
    return json.dumps({**value, **given, "input": items, "store": False}).encode()


def bench(threshold: int = 8_000, block: int = 4_096, **options: Any) -> Bench:
    """A fresh engine with an empty ledger."""
    chosen = CompactionOptions(threshold=threshold, **options)
    return Bench(Engine(chosen, seed=3, block=block))


def requests(messages: list[Message]) -> list[list[Message]]:
    """The histories that the model is asked with while a conversation grows."""
    ends = [i for i, m in enumerate(messages) if m["role"] == "assistant"]
    return [messages[:end] for end in (*ends, len(messages)) if end]


def grow(over: Bench, messages: list[Message], wire: str = "openai_chat") -> list[Any]:
    """Send each request of a conversation; return what became of each."""
    return [over.send(body(part, wire), path=PATHS[wire]) for part in requests(messages)]


HUMAN = st.text("abc \n`{}<>", max_size=30).map(lambda text: said("user", f"Please: {text}"))


@st.composite
def talks(draw: st.DrawFn) -> tuple[str, list[Message]]:
    """A conversation in a text protocol, with people, slips and odd ends in it."""
    harness = draw(st.sampled_from(HARNESSES))
    messages = head(harness)
    for number in range(draw(st.integers(1, 16))):
        size = draw(st.sampled_from([40, 600, 1_500]))
        slip = [said("assistant", "I am not sure."), complaint(harness)]
        plain = [answer(harness, number), output(harness, number, size)]
        kind = draw(st.sampled_from(["plain"] * 6 + ["slip", "left out", "human", "both", "chat"]))
        messages += {
            "plain": plain,
            "slip": slip,
            "left out": [*plain, complaint(harness)],
            "human": [plain[0], draw(HUMAN)],
            "both": [*plain, draw(HUMAN)],
            "chat": [said("assistant", "All done."), draw(HUMAN)],
        }[kind]
    return harness, messages
