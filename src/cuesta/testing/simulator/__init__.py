"""A strict simulator of the Anthropic Messages API: the judge of what a proxy sends.

It imports nothing of the code that it judges. `Judge` checks requests in process; `Simulator`
serves them over HTTP, with a script for the model, a prefix cache, and failures on command.
"""

from cuesta.testing.simulator.cache import PrefixCache, minimum_cacheable
from cuesta.testing.simulator.calls import Call
from cuesta.testing.simulator.canon import Prefix
from cuesta.testing.simulator.encodings import ENCODINGS
from cuesta.testing.simulator.failures import Failure
from cuesta.testing.simulator.judge import Conditions, Judge, Verdict
from cuesta.testing.simulator.refusals import SOURCES, Refusal, RefusedError
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
    "ENCODINGS",
    "SOURCES",
    "Call",
    "ChosenScript",
    "Conditions",
    "Failure",
    "Judge",
    "ListScript",
    "Prefix",
    "PrefixCache",
    "Refusal",
    "RefusedError",
    "Script",
    "Signatures",
    "Simulator",
    "SimulatorOptions",
    "Step",
    "ToolCall",
    "Verdict",
    "first_user_text",
    "minimum_cacheable",
]
