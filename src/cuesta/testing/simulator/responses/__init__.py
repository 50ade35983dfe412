"""OpenAI Responses over HTTP, as the API and as the ChatGPT login of Codex speak it."""

from cuesta.testing.simulator.responses.judge import ResponsesJudge
from cuesta.testing.simulator.responses.reading import ResponsesRequest
from cuesta.testing.simulator.responses.sources import SOURCES

__all__ = ["SOURCES", "ResponsesJudge", "ResponsesRequest"]
