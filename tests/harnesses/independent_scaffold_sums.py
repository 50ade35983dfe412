"""Sums of the scaffolds' saved sessions, by plain JSON alone: nothing of Cuesta is used here.

python tests/harnesses/independent_scaffold_sums.py FILE...
"""

import io
import json
import re
import sys
import tarfile
from pathlib import Path

import zstandard

_NAMES = ("calls", "turns", "human", "tool calls", "prompt", "cached", "output")
_OUTPUTS = ("<returncode>", "The last command <command>", "Please always provide EXACTLY ONE")


def sums_of(path):
    """Return the sums of a file, or of all files of an archive."""
    if path.name.endswith(".tar.zst"):
        return _added(_mini(json.loads(content)) for content in _members(path))
    text = path.read_text()
    if path.suffix == ".traj":
        return _swe(json.loads(text))
    if path.suffix == ".jsonl":
        return _added(_openhands(json.loads(line)) for line in text.splitlines())
    return _pydantic(json.loads(text))


def _members(path):
    raw = zstandard.ZstdDecompressor().stream_reader(path.open("rb"))
    with tarfile.open(fileobj=io.BufferedReader(raw), mode="r|") as archive:
        for member in archive:
            if member.isfile():
                yield archive.extractfile(member).read()


def _added(rows):
    return dict(
        zip(_NAMES, map(sum, zip(*(row.values() for row in rows), strict=True)), strict=True)
    )


def _named(*numbers):
    return dict(zip(_NAMES, numbers, strict=True))


def _mini(file):
    messages = file["messages"]
    answers = [m for m in messages if m["role"] == "assistant"]
    usages = [m["extra"]["response"]["usage"] for m in answers]
    asked = [m["content"] for m in messages[:-1] if m["role"] == "user"]
    fenced = [re.findall(r"```bash\s*\n(.*?)\n```", m["content"], re.DOTALL) for m in answers]
    return _named(
        len(answers),
        len(answers),
        sum(not text.startswith(_OUTPUTS) for text in asked),
        sum(len(blocks) == 1 for blocks in fenced),
        sum(usage["prompt_tokens"] for usage in usages),
        sum((u["prompt_tokens_details"] or {}).get("cached_tokens") or 0 for u in usages),
        sum(usage["completion_tokens"] for usage in usages),
    )


def _swe(file):
    answers = [m for m in file["history"] if m["role"] == "assistant"]
    roles = [m["role"] for m in file["history"]]
    task = [role for role in roles[: roles.index("assistant")] if role == "user"]
    done = [m for m in answers if m.get("tool_calls") or "```" in m["content"]]
    return _named(len(answers), len(answers), len(task), len(done), 0, 0, 0)


def _openhands(row):
    events = row["history"]
    acts = [e for e in events if "action" in e]
    metas = [e["tool_call_metadata"]["model_response"] for e in acts if "tool_call_metadata" in e]
    responses = {response["id"]: response for response in metas}
    old = [e for e in acts if "source" not in e and e["action"] != "message"]
    asked = [e for e in acts if e["action"] == "message" and e.get("source") != "agent"]
    errors = [e for e in events if e.get("observation") == "error" and "cause" not in e]
    usages = [response["usage"] for response in responses.values()]
    made = sum(len(r["choices"][0]["message"]["tool_calls"]) for r in responses.values())
    calls = len(responses) + len(old)
    prompt = sum(usage["prompt_tokens"] for usage in usages)
    output = sum(usage["completion_tokens"] for usage in usages)
    return _named(calls, calls, len(asked) + len(errors), made + len(old), prompt, 0, output)


def _pydantic(messages):
    answers = [m for m in messages if m["kind"] == "response"]
    kinds = [part["part_kind"] for m in messages for part in m["parts"]]
    return _named(
        len(answers),
        len(answers),
        kinds.count("user-prompt"),
        kinds.count("tool-call"),
        sum(m["usage"]["input_tokens"] for m in answers),
        sum(m["usage"]["cache_read_tokens"] for m in answers),
        sum(m["usage"]["output_tokens"] for m in answers),
    )


if __name__ == "__main__":
    for name in sys.argv[1:]:
        sys.stdout.write(f"{name}: {sums_of(Path(name))}\n")
