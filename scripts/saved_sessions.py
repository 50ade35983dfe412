"""Read saved sessions that tell what each call was billed, as prompts that grow."""

import json
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import zstandard

Json = dict[str, Any]


@dataclass(slots=True)
class Call:
    """One call to a model.

    Attributes:
        model: The model's name.
        prompt: Billed prompt tokens.
        added: Messages that are new since the last call, in Anthropic's or OpenAI Chat's form.
        thoughts: Billed thinking tokens of the last answer that the session does not hold.
        hole: Whether what was saved before this call is not what was sent.
    """

    model: str
    prompt: int
    added: list[Json]
    thoughts: int = 0
    hole: bool = False


@dataclass(slots=True)
class Session:
    """One saved session.

    Attributes:
        source: The agent program.
        wire: The dialect that its messages are written in here.
        calls: Its calls.
        whole: Whether the saved messages are the whole prompt, system prompt and tools included.
    """

    source: str
    wire: str
    calls: list[Call] = field(default_factory=list)
    whole: bool = False


def claude_code(path: Path) -> Session:
    """Read a Claude Code session; a message that was saved block by block is put together.

    A line that hangs on one which is not there, a call without result and a compaction are holes.
    """
    session = Session("claude-code", "anthropic")
    added: list[Json] = []
    answer: Json = {}
    name, cut = "", False
    known: set[str | None] = {None}
    for line in _lines(path):
        message = line.get("message") or {}
        cut = cut or line.get("parentUuid") not in known
        cut = cut or bool(line.get("isCompactSummary")) or line.get("subtype") == "compact_boundary"
        known.add(line.get("uuid"))
        if line.get("isSidechain"):
            continue
        if line["type"] == "user":
            added.append({"role": "user", "content": message["content"]})
        elif line["type"] == "assistant" and message["model"] != "<synthetic>":
            if message["id"] == name:
                answer["content"] += message["content"]
                continue
            name, answer = message["id"], {"role": "assistant", "content": [*message["content"]]}
            usage = message["usage"]
            prompt = sum(
                usage[key]
                for key in (
                    "input_tokens",
                    "cache_creation_input_tokens",
                    "cache_read_input_tokens",
                )
            )
            hole = cut or not _paired(added)
            session.calls.append(Call(message["model"], prompt, added, hole=hole))
            added, cut = [answer], False
    return session


def pi(path: Path) -> Session:
    """Read a Pi session."""
    session = Session("pi", "anthropic")
    added: list[Json] = []
    for line in _lines(path):
        message = line.get("message") or {}
        role = message.get("role")
        if role == "user":
            added.append({"role": "user", "content": message["content"]})
        elif role == "toolResult":
            result = {
                "type": "tool_result",
                "tool_use_id": message["toolCallId"],
                "content": message["content"],
            }
            added.append({"role": "user", "content": [result]})
        elif role == "assistant":
            usage = message["usage"]
            prompt = usage["input"] + usage["cacheRead"] + usage["cacheWrite"]
            answer = {"role": "assistant", "content": [_pi_block(b) for b in message["content"]]}
            if prompt:
                session.calls.append(Call(message["model"], prompt, added, hole=not _paired(added)))
                added = []
            added.append(answer)
    return session


def _pi_block(block: Json) -> Json:
    if block["type"] == "toolCall":
        return {
            "type": "tool_use", "id": block["id"], "name": block["name"],
            "input": block["arguments"],
        }  # fmt: skip
    if block["type"] == "thinking":
        return {"type": "thinking", "thinking": block["thinking"]}
    return block


def gemini_cli(path: Path) -> Session:
    """Read a Gemini CLI chat. Its thoughts are summaries; their billed size stands beside."""
    session = Session("gemini-cli", "openai_chat")
    added: list[Json] = []
    thoughts = 0
    for message in json.loads(path.read_bytes())["messages"]:
        if message["type"] == "user":
            added.append({"role": "user", "content": _gemini_text(message["content"])})
        elif message["type"] == "gemini":
            usage = message["tokens"]
            call = Call(message["model"], usage["input"], added, thoughts)
            session.calls.append(call)
            added, thoughts = _gemini_answer(message), usage["thoughts"]
    return session


def _gemini_text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    return "\n".join(part.get("text") or json.dumps(part) for part in parts)


def _gemini_answer(message: Json) -> list[Json]:
    calls = message.get("toolCalls") or []
    asked = [
        {
            "id": call["id"],
            "type": "function",
            "function": {"name": call["name"], "arguments": json.dumps(call["args"])},
        }
        for call in calls
    ]
    answer = {"role": "assistant", "content": message["content"], "tool_calls": asked}
    told = [
        {
            "role": "tool",
            "tool_call_id": call["id"],
            "content": "".join(map(_gemini_result, call.get("result") or [])),
        }
        for call in calls
    ]
    return [answer, *told]


def _gemini_result(part: Json) -> str:
    response = part.get("functionResponse", {}).get("response", part)
    return json.dumps(response, ensure_ascii=False)


def mini_swe_agent(path: Path) -> Iterator[Session]:
    """Read an archive of mini-swe-agent trajectories; their messages are the whole prompt."""
    with (
        path.open("rb") as file,
        zstandard.ZstdDecompressor().stream_reader(file) as plain,
        tarfile.open(fileobj=plain, mode="r|") as archive,
    ):
        for member in archive:
            content = archive.extractfile(member) if member.name.endswith(".traj.json") else None
            if content is not None:
                yield _trajectory(json.load(content)["messages"])


def _trajectory(messages: Sequence[Json]) -> Session:
    session = Session("mini-swe-agent", "openai_chat", whole=True)
    added: list[Json] = []
    for message in messages:
        if message["role"] == "assistant":
            response = message["extra"]["response"]
            session.calls.append(Call(response["model"], response["usage"]["prompt_tokens"], added))
            added = []
        added.append({"role": message["role"], "content": message["content"]})
    return session


def saved_sessions(folder: Path) -> Iterator[Session]:
    """Yield the sessions with usage under a folder."""
    for path in sorted(folder.glob("claude-code/*.jsonl")):
        yield claude_code(path)
    for path in sorted(folder.glob("pi/*.jsonl")):
        yield pi(path)
    for path in sorted(folder.glob("gemini-cli/*.json")):
        yield gemini_cli(path)
    for path in sorted(folder.glob("mini-swe-agent/*.tar.zst")):
        yield from mini_swe_agent(path)


def _lines(path: Path) -> Iterator[Json]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def _paired(messages: Sequence[Json]) -> bool:
    """Tell whether every call among messages is answered there, and every result has its call."""
    blocks = [
        block
        for message in messages
        if isinstance(message["content"], list)
        for block in message["content"]
    ]
    calls = sorted(block["id"] for block in blocks if block["type"] == "tool_use")
    return calls == sorted(b["tool_use_id"] for b in blocks if b["type"] == "tool_result")
