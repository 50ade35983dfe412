"""Sums over saved sessions by another way: plain JSON, and nothing of the product.

Usage: python tests/harnesses/independent_sums.py FILE...
"""

import json
import re
import sys
from collections import Counter
from pathlib import Path

_TAGS = (
    "system-reminder|task-notification|local-command-caveat|local-command-stdout"
    "|local-command-stderr|command-name|command-message|command-args|environment_context"
)
_NOTICE = re.compile(rf"<({_TAGS})>.*?</\1>", re.DOTALL | re.IGNORECASE)


def human(text):
    """Tell whether anything is left of a text without the harnesses' notices."""
    return bool(_NOTICE.sub("", text).strip())


def speaks(content):
    """Tell whether a person speaks in content: text, or blocks of text and pictures."""
    if isinstance(content, str):
        return human(content)
    return any(b.get("type") == "image" or human(b.get("text", "")) for b in content)


def turns(speakers):
    """Count the answers that do not follow an answer."""
    pairs = zip(["", *speakers], speakers, strict=False)
    return sum(now == "model" != before for before, now in pairs)


def claude_code(content):
    """Sum up Claude Code's lines; a sub-agent's are those of another conversation."""
    found, bills, talks = Counter(), {}, {}
    for line in map(json.loads, {line: None for line in content.splitlines() if line.strip()}):
        message = line.get("message")
        talk = talks.setdefault(line.get("agentId", ""), []) if line.get("uuid") else []
        if line["type"] == "attachment" and "rendered" in line:
            talk.append("client")
        elif line["type"] == "user" and not line.get("isCompactSummary"):
            blocks = message["content"]
            results = isinstance(blocks, list) and any(b["type"] == "tool_result" for b in blocks)
            found["human"] += not results and speaks(blocks)
            talk.append("client")
        elif line["type"] == "assistant" and message["model"] != "<synthetic>":
            found["tools"] += sum(b["type"] == "tool_use" for b in message["content"])
            if message["id"] not in bills:
                talk.append("model")
            now, before = message["usage"], bills.get(message["id"], {"output_tokens": -1})
            bills[message["id"]] = max(before, now, key=lambda usage: usage["output_tokens"])
    found["calls"] = len(bills)
    found["turns"] = sum(map(turns, talks.values()))
    for usage in bills.values():
        found["input"] += usage["input_tokens"]
        found["read"] += usage["cache_read_input_tokens"]
        found["written"] += usage["cache_creation_input_tokens"]
        found["output"] += usage["output_tokens"]
    return found


def gemini_cli(content):
    """Sum up Gemini CLI's chats; of a message that is there twice the last form counts."""
    chat = json.loads(content) if content.count(b"\n{") < 2 else {"messages": []}
    lines = content.splitlines() if not chat["messages"] else []
    said = chat["messages"] or [m for m in map(json.loads, lines) if "id" in m and "type" in m]
    found, speakers = Counter(), []
    for message in {message["id"]: message for message in said}.values():
        if message["type"] == "user":
            words = message["content"]
            texts = [words] if isinstance(words, str) else [p["text"] for p in words]
            found["human"] += any(map(human, texts))
            speakers.append("client")
        elif message["type"] == "gemini":
            asked, usage = message.get("toolCalls") or [], message["tokens"]
            speakers += ["model", *("client" for _ in asked)]
            found["calls"] += 1
            found["tools"] += len(asked)
            found["input"] += usage["input"] - usage["cached"]
            found["read"] += usage["cached"]
            found["output"] += usage["output"] + usage["thoughts"]
    found["turns"] = turns(speakers)
    return found


def pi(content):
    """Sum up Pi's lines; each of them counts once, whatever branches stand on it."""
    found, speakers = Counter(), []
    for line in map(json.loads, content.splitlines()):
        message = line.get("message") or {}
        role, blocks = message.get("role"), message.get("content")
        if role == "user" or line["type"] == "custom_message":
            found["human"] += speaks(blocks or line.get("content"))
            speakers.append("client")
        elif role == "bashExecution" or line["type"] == "branch_summary":
            found["human"] += 1
            speakers.append("client")
        elif role == "toolResult":
            speakers.append("client")
        elif role == "assistant":
            usage = message["usage"]
            billed = usage["input"] + usage["cacheRead"] + usage["cacheWrite"] > 0
            found["calls"] += billed
            found["tools"] += sum(block["type"] == "toolCall" for block in blocks)
            speakers += ["model"] if billed or blocks else []
            if billed:
                found["input"] += usage["input"]
                found["read"] += usage["cacheRead"]
                found["written"] += usage["cacheWrite"]
                found["output"] += usage["output"]
    found["turns"] = turns(speakers)
    return found


def codex(content):
    """Sum up a rollout of the newer kind, without the answers that a compaction made."""
    found, speakers, open_bill = Counter(), [], Counter()
    for line in map(json.loads, content.splitlines()):
        kind, payload = line["type"], line["payload"]
        if kind == "compacted":
            found -= open_bill
            speakers.pop()
        elif kind == "token_usage_record":
            usage = payload["usage"]
            read, written = usage["cached_input_tokens"], usage["cache_write_input_tokens"]
            bill = {"input": usage["input_tokens"] - read - written, "read": read}
            open_bill = Counter(bill, calls=1, written=written, output=usage["output_tokens"])
            found += open_bill
        elif kind == "response_item":
            item = payload["type"]
            mine = item in {"reasoning", "function_call"} or payload.get("role") == "assistant"
            speakers.append("model" if mine else "client")
            found["tools"] += item == "function_call"
            found["human"] += payload.get("role") == "user" and speaks(payload["content"])
    found["turns"] = turns(speakers)
    return found


def opencode(content):
    """Sum up an export, without what a compaction made."""
    found, speakers = Counter(), []
    for message in json.loads(content)["messages"]:
        parts, told = message["parts"], message["info"].get("summary")
        kinds = [part["type"] for part in parts]
        if message["info"]["role"] == "user":
            own = any(part.get("synthetic") for part in parts) or "compaction" in kinds
            found["human"] += not own
            speakers += [] if own else ["client"]
        elif told is not True:
            for part in parts:
                found["tools"] += part["type"] == "tool"
                if part["type"] == "step-start":
                    speakers.append("model")
                elif part["type"] == "tool":
                    speakers.append("client")
                elif part["type"] == "step-finish":
                    tokens = part["tokens"]
                    found["calls"] += 1
                    found["input"] += tokens["input"]
                    found["read"] += tokens["cache"]["read"]
                    found["written"] += tokens["cache"]["write"]
                    found["output"] += tokens["output"] + tokens["reasoning"]
    found["turns"] = turns(speakers)
    return found


WAYS = {
    "claude-code": claude_code,
    "gemini-cli": gemini_cli,
    "pi": pi,
    "codex": codex,
    "opencode": opencode,
}
NAMES = ("calls", "turns", "human", "tools", "input", "read", "written", "output")


def main(paths):
    """Print a line a file; a folder's name tells the harness."""
    for path in map(Path, paths):
        found = WAYS[path.parent.name](path.read_bytes())
        row = (path.parent.name, path.name, *(f"{name} {found[name]:,}" for name in NAMES))
        print(*row)  # noqa: T201 - the figures are the point


if __name__ == "__main__":
    main(sys.argv[1:])
