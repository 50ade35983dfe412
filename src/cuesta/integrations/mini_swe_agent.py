"""mini-swe-agent 2.x: model classes that compact what they send.

Named in the configuration, for `mini` and for the benchmark runners alike:

    model:
      model_class: cuesta.integrations.mini_swe_agent.CuestaModel
      cuesta: {threshold: 16000}

The agent keeps its whole history, and so does the trajectory; `info.cuesta` says where the cliffs
fell. For 1.x see `mini_swe_agent_1`.

Source: every model class of the package that is built on LiteLLM sends its messages through
`_query`, when they are in the wire's form already (2.4.6, `models/litellm_model.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from litellm.exceptions import ContextWindowExceededError
from minisweagent.models.litellm_model import LitellmModel
from minisweagent.models.litellm_response_model import LitellmResponseModel
from minisweagent.models.litellm_textbased_model import LitellmTextbasedModel
from minisweagent.models.utils.actions_toolcall import BASH_TOOL
from minisweagent.models.utils.actions_toolcall_response import BASH_TOOL_RESPONSE_API
from minisweagent.utils.serialize import recursive_merge

from cuesta.integrations.mini_messages import Folding


class _Recording(Folding):
    """Says in the trajectory's `info` what was done."""

    too_long = (ContextWindowExceededError,)

    def serialize(self) -> dict[str, Any]:
        """Return what the trajectory says of the model; see `cuesta.integrations.record`."""
        said: dict[str, Any] = recursive_merge(
            super().serialize(), {"info": {"cuesta": self.record()}}
        )
        return said


class CuestaModel(_Recording, LitellmModel):
    """The package's `litellm`: actions are tool calls."""

    fixed: ClassVar[Mapping[str, Any]] = {"tools": [BASH_TOOL]}


class CuestaTextModel(_Recording, LitellmTextbasedModel):
    """The package's `litellm_textbased`: actions stand in the answer's text."""

    harness = "mini-swe-agent-1"


class CuestaResponseModel(_Recording, LitellmResponseModel):
    """The package's `litellm_response`: actions are tool calls of the Responses API."""

    dialect = "openai_responses"
    fixed: ClassVar[Mapping[str, Any]] = {"tools": [BASH_TOOL_RESPONSE_API]}
