"""Reading content in tests: through the registry, as files are."""

import json

from cuesta.dialects.registry import DIALECTS
from cuesta.harnesses.saved.base import BEGINNING, Problems
from cuesta.harnesses.saved.registry import recognise


def read(content, harness):
    """Return the sessions of a file's content, and its problems; and see that all is sound."""
    saved, problems = recognise(content[:BEGINNING]), Problems()
    assert saved is not None
    assert saved.harness == harness
    sessions = list(saved.read(content, problems))
    for session in sessions:
        check(session)
    return sessions, dict(problems.counts)


def check(session):
    """Check what must hold of every session, whatever its file was."""
    parse = DIALECTS[session.wire].parse
    roles = [parse(message)[0].role.value for message in session.messages]
    places = [call.at for call in session.calls]
    assert places == sorted(set(places))
    assert all(roles[place] == "assistant" for place in places)
    assert all(0 <= number < len(session.calls) for number in session.compactions)
    assert list(session.compactions) == sorted(set(session.compactions))
    assert 0 <= session.shared <= len(session.messages)
    assert all(place >= session.shared for place in places)


def messages(session):
    """Return a session's messages, read."""
    return [json.loads(message) for message in session.messages]


def said(session):
    """Return for each message its role and its texts, calls and results in short."""
    return [(message["role"], _short(message["content"])) for message in messages(session)]


def _short(content):
    if isinstance(content, str):
        return content
    keys = ("text", "thinking", "id", "tool_use_id")
    return [next((block[key] for key in keys if key in block), block) for block in content]
