"""A strict simulator of three provider wires: the judge of what a proxy sends.

It imports nothing of the code that it judges. The judges check requests in process: `Judge` those
of Anthropic Messages, `ChatJudge` those of OpenAI Chat Completions, `ResponsesJudge` those of
OpenAI Responses; `judge_of` knows them by dialect. `Simulator` serves all wires over HTTP, with a
script for the model, prefix caches, and failures on command.
"""

from cuesta.testing.simulator.autocache import AutoCache
from cuesta.testing.simulator.cache import PrefixCache, minimum_cacheable
from cuesta.testing.simulator.calls import Call
from cuesta.testing.simulator.canon import Prefix
from cuesta.testing.simulator.chat import ChatJudge, ChatRequest
from cuesta.testing.simulator.conditions import Conditions
from cuesta.testing.simulator.encodings import ENCODINGS
from cuesta.testing.simulator.failures import Failure
from cuesta.testing.simulator.judge import Judge
from cuesta.testing.simulator.judging import Verdict, WireJudge
from cuesta.testing.simulator.openai import OpenAiRefusal
from cuesta.testing.simulator.refusals import SOURCES, Refusal, RefusedError
from cuesta.testing.simulator.registry import DIALECTS, judge_of
from cuesta.testing.simulator.responses import ResponsesJudge, ResponsesRequest
from cuesta.testing.simulator.script import (
    ChosenScript,
    ListScript,
    Script,
    Step,
    ToolCall,
    first_user_text,
)
from cuesta.testing.simulator.server import Simulator, SimulatorOptions
from cuesta.testing.simulator.signatures import Signatures

__all__ = [
    "DIALECTS",
    "ENCODINGS",
    "SOURCES",
    "AutoCache",
    "Call",
    "ChatJudge",
    "ChatRequest",
    "ChosenScript",
    "Conditions",
    "Failure",
    "Judge",
    "ListScript",
    "OpenAiRefusal",
    "Prefix",
    "PrefixCache",
    "Refusal",
    "RefusedError",
    "ResponsesJudge",
    "ResponsesRequest",
    "Script",
    "Signatures",
    "Simulator",
    "SimulatorOptions",
    "Step",
    "ToolCall",
    "Verdict",
    "WireJudge",
    "first_user_text",
    "judge_of",
    "minimum_cacheable",
]
