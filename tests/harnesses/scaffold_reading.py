"""Reading saved sessions of the scaffolds in tests."""

from pathlib import Path

from cuesta.harnesses.saved.base import Problems
from cuesta.harnesses.saved.registry import recognise
from cuesta.harnesses.saved.sums import Sums, read_messages
from cuesta.harnesses.saved.sums import sums as sums_of_session

BEGINNING = 1 << 16
DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "sessions"


def read(content):
    """Return the sessions of a file with what could not be read, by the format that knows it."""
    problems = Problems()
    return list(recognise(content[:BEGINNING]).read(content, problems)), problems.counts


def messages_of(session):
    """Return a session's messages as its harness means them."""
    return read_messages(session)


def kinds(message):
    return [block.kind for block in message.blocks]


def sums(sessions):
    """Sum sessions up under the names of the independent script."""
    total = sum(map(sums_of_session, sessions), Sums())
    return {
        "calls": total.calls,
        "turns": total.turns,
        "human": total.human,
        "tool calls": total.tools,
        "prompt": total.billed.prompt,
        "cached": total.billed.cache_read,
        "output": total.billed.output,
    }
