"""OpenAI Chat Completions, as OpenAI and as compatible servers speak it."""

from cuesta.testing.simulator.chat.judge import ChatJudge
from cuesta.testing.simulator.chat.reading import ChatRequest
from cuesta.testing.simulator.chat.sources import SOURCES

__all__ = ["SOURCES", "ChatJudge", "ChatRequest"]
