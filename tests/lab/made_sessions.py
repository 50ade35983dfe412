"""Small sessions and the files that they are saved in, made from a seed."""

import json
import random

from cuesta.core.usage import Usage
from cuesta.lab.records import Account, Record, Variant
from cuesta.trace.session import Call, Session

_WORDS = ("alpha", "bravo", "src/core/parser.py", "return", "failed", "test_merge", "42", "delta")


def prose(rng, words):
    return " ".join(rng.choice(_WORDS) for _ in range(words))


def messages_of(seed, turns, words=120):
    """Return a system prompt, a task, and so many commands with their outputs."""
    rng = random.Random(seed)
    yield {"role": "system", "content": prose(rng, 200)}
    yield {"role": "user", "content": f"Fix the parser. {prose(rng, 60)}"}
    for turn in range(turns):
        call = {"id": f"c{turn}", "type": "function"}
        call["function"] = {"name": "bash", "arguments": json.dumps({"command": prose(rng, 8)})}
        yield {"role": "assistant", "content": prose(rng, 12), "tool_calls": [call]}
        content = prose(rng, rng.randrange(words // 2, 2 * words))
        yield {"role": "tool", "tool_call_id": f"c{turn}", "content": content}


def session(seed=1, turns=12, model="claude-sonnet-4-5", *, billed=True, words=120, name="made"):
    """Return a session; its bills say four characters a token, most of them cached."""
    raws, calls = [], []
    sent = before = 0
    for message in messages_of(seed, turns, words):
        raw = json.dumps(message).encode()
        if message["role"] == "assistant":
            usage = Usage(sent - before, before, output=len(raw) // 4) if billed else None
            calls.append(Call(len(raws), model, usage, time=1_000_000.0 + 10 * len(raws)))
            before = sent
        raws.append(raw)
        sent += len(raw) // 4
    return Session("made", name, "openai_chat", tuple(raws), tuple(calls))


def trajectory(seed=1, turns=12, model="claude-sonnet-4-5", words=120):
    """Return the text of a file as mini-swe-agent 1.x saves them."""
    rng = random.Random(seed)
    messages = [
        {"role": "system", "content": prose(rng, 200)},
        {"role": "user", "content": f"Fix the parser. {prose(rng, 60)}"},
    ]
    for _ in range(turns):
        prompt = sum(len(message["content"]) for message in messages) // 4
        usage = {"prompt_tokens": prompt, "completion_tokens": 30}
        extra = {"response": {"model": model, "usage": usage}}
        command = f"```bash\n{prose(rng, 8)}\n```"
        messages.append({"role": "assistant", "content": command, "extra": extra})
        output = prose(rng, rng.randrange(words, 2 * words))
        told = f"<returncode>0</returncode>\n<output>\n{output}\n</output>"
        messages.append({"role": "user", "content": told})
    info = {"mini_version": "1.15.0", "exit_status": "Submitted", "submission": ""}
    content = {
        "info": info,
        "messages": messages,
        "trajectory_format": "mini-swe-agent-1",
        "instance_id": f"made-{seed}",
    }
    return json.dumps(content)


def record(variant, cost, *, calls=10, cliffs=0, peak=1_000, session="one", base=None):
    """Return a record with round figures; `cost` is by the engine model, the perfect's is twice."""
    usage = Usage(100 * calls, 900 * calls, output=10 * calls)
    return Record(
        path="made.jsonl",
        harness="made",
        session=session,
        variant=Variant(variant) if isinstance(variant, str) else variant,
        model="claude-sonnet-4-5",
        time=0.0,
        calls=calls,
        own_calls=0,
        cliffs=cliffs,
        peak=peak,
        prompt=1_000 * calls,
        answered=0,
        perfect=Account(usage, None if cost is None else 2 * cost),
        engine=Account(usage, cost),
        billed=base,
        unpriced="" if cost is not None else "no price is known",
    )
