"""Saved sessions of one's own making, in which every step adds the same."""

import json

from cuesta.core.usage import Usage
from cuesta.trace.session import Call, Session

MODEL = "claude-sonnet-4-5"


def even_session(calls, growth=900, fixed=20_000, name="one", harness="made-up", model=MODEL):
    """Return a session that grows by `growth` tokens a call, behind a fixed part."""
    messages = [{"role": "user", "content": "Make the tests pass."}]
    made = []
    for number in range(calls):
        usage = Usage(input=fixed + growth * number, output=60)
        made.append(Call(len(messages), model, usage))
        call = {"type": "tool_use", "id": f"c{number}", "name": "Read"}
        asked = {**call, "input": {"file_path": f"/src/part_{number}.py"}}
        text = f"line {number} of a file\n" * (growth // 7)
        told = {"type": "tool_result", "tool_use_id": f"c{number}", "content": text}
        messages.append({"role": "assistant", "content": [asked]})
        messages.append({"role": "user", "content": [told]})
    raw = tuple(json.dumps(message).encode() for message in messages)
    return Session(harness, name, "anthropic", raw, tuple(made))
