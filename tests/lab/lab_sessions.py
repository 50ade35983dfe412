"""Sessions of a few made-up steps, for probes."""

import json

from cuesta.lab.prepared import prepare
from cuesta.trace.session import Call, Session


def session(steps, *, head="Please do it.", compactions=(), name="made up"):
    """Build a prepared session; a step is a command, its output, and perhaps what is said."""
    messages = [{"role": "user", "content": head}]
    ats = []
    for number, (command, output, *said) in enumerate(steps):
        ats.append(len(messages))
        use = {
            "type": "tool_use",
            "id": f"t{number}",
            "name": "bash",
            "input": {"command": command},
        }
        texts = [{"type": "text", "text": text} for text in said]
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": output}
        messages += [
            {"role": "assistant", "content": [*texts, use]},
            {"role": "user", "content": [result]},
        ]
    return prepare(
        Session(
            "claude-code",
            name,
            "anthropic",
            tuple(json.dumps(message).encode() for message in messages),
            tuple(Call(at, "claude-haiku-4-5") for at in ats),
            compactions=tuple(compactions),
        )
    )
