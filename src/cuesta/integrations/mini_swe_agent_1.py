"""mini-swe-agent 1.x: a model class that compacts what it sends.

Named in the configuration, for `mini` and for the SWE-bench runner alike:

    model:
      model_class: cuesta.integrations.mini_swe_agent_1.CuestaModel
      cuesta: {threshold: 16000}

The agent keeps its whole history, and so does the trajectory. Its only place for what a model has
to tell is the model's configuration: `info.config.model.cuesta` says where the cliffs fell.

Source: 1.17, `models/litellm_model.py` and `run/utils/save.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from litellm.exceptions import ContextWindowExceededError
from minisweagent.models.litellm_model import LitellmModel, LitellmModelConfig

from cuesta.integrations.mini_messages import Folding


@dataclass
class CuestaModelConfig(LitellmModelConfig):
    """The package's configuration of a model, with what Cuesta has to tell."""

    cuesta: dict[str, Any] = field(default_factory=dict)


class CuestaModel(Folding, LitellmModel):
    """The package's `litellm`: actions stand in the answer's text."""

    harness = "mini-swe-agent-1"
    too_long = (ContextWindowExceededError,)

    def __init__(self, *, cuesta: Mapping[str, Any] | None = None, **settings: Any) -> None:  # noqa: ANN401 - the package's
        super().__init__(cuesta=cuesta, config_class=CuestaModelConfig, **settings)
        self.config.cuesta = self.record()

    def _query(self, messages: Sequence[Any], **named: Any) -> Any:  # noqa: ANN401 - LiteLLM's answer
        """Send compacted messages in place of all of them."""
        try:
            return super()._query(messages, **named)
        finally:
            self.config.cuesta = self.record()
