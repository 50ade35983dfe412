"""Reading saved sessions in tests: with the text protocols, and summed up."""

from collections import Counter
from pathlib import Path

from cuesta.core.transcript import BlockKind, Role
from cuesta.core.usage import Usage
from cuesta.dialects.registry import DIALECTS
from cuesta.harnesses.saved.atif import Atif
from cuesta.harnesses.saved.base import Problems
from cuesta.harnesses.saved.mini_swe_agent import MiniSweAgent
from cuesta.harnesses.saved.openhands import OpenHands
from cuesta.harnesses.saved.pydantic_ai import PydanticAi
from cuesta.harnesses.saved.swe_agent import SweAgent
from cuesta.protocols.lexicon import speaks_human
from cuesta.protocols.text_actions import read_as

FORMATS = (MiniSweAgent(), SweAgent(), OpenHands(), Atif(), PydanticAi())
BEGINNING = 1 << 16
DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "sessions"


def read(content):
    """Return the sessions of a file with what could not be read, by the format that knows it."""
    (known,) = [form for form in FORMATS if form.recognises(content[:BEGINNING])]
    problems = Problems()
    return list(known.read(content, problems)), problems.counts


def messages_of(session):
    """Return a session's messages as its harness means them."""
    done = []
    for raw in session.messages:
        message = DIALECTS[session.wire].parse(raw)[0]
        done.append(read_as(session.protocol, message, done[-1] if done else None))
    return done


def kinds(message):
    return [block.kind for block in message.blocks]


def sums(sessions):
    """Sum sessions up."""
    total = Counter()
    usage = Usage()
    for session in sessions:
        messages = messages_of(session)
        roles = [message.role for message in messages]
        total["calls"] += len(session.calls)
        total["turns"] += sum(
            role is Role.ASSISTANT and (i == 0 or roles[i - 1] is not role)
            for i, role in enumerate(roles)
        )
        total["human"] += sum(map(speaks_human, messages))
        total["tool calls"] += sum(kinds(m).count(BlockKind.CALL) for m in messages)
        usage = sum((call.usage for call in session.calls if call.usage), usage)
    told = {"prompt": usage.prompt, "cached": usage.cache_read, "output": usage.output}
    return {**total, **told}
