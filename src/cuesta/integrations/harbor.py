"""Harbor's Terminus-2 with the cliff in place of its summaries, all else unchanged.

    harbor run --agent cuesta.integrations.harbor:CuestaTerminus2 --ak threshold=16000 ...

The agent keeps its whole chat. The trajectory keeps every step, and says under `extra.cuesta` what
was chosen, the effective window and threshold, and where the cliffs fell.

Source: 0.26.0, `agents/terminus_2/terminus_2.py`, `llms/chat.py` and `llms/base.py`: the agent asks
its model by `call`, with the new prompt and the chat so far.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from harbor.agents.terminus_2.terminus_2 import Terminus2, Terminus2Options
from harbor.llms.base import BaseLLM, ContextLengthExceededError, LLMResponse
from harbor.utils.trajectory_utils import format_trajectory_json
from pydantic import Field

from cuesta.exchange.options import CompactionOptions
from cuesta.integrations.base import Adapter
from cuesta.integrations.record import record

_OWN = ("threshold", "window", "profile", "strategy")


class CuestaTerminus2Options(Terminus2Options):
    """The agent's options, and Cuesta's beside them."""

    threshold: int = Field(default=0, description="Drop above this many tokens; 0 chooses.")
    window: int = Field(default=0, description="The model's window in tokens; 0 goes by its name.")
    profile: Literal["default", "paper"] = Field(default="default", description="What is kept.")
    strategy: Literal["cliff", "sliding_window", "microcompaction", "keep_all"] = Field(
        default="cliff", description="When to drop, and from where."
    )


class CuestaTerminus2(Terminus2):
    """Terminus-2 whose model is sent compacted chats; its own summaries never run.

    Args:
        logs_dir: As for Terminus-2.
        model_name: Likewise.
        args: Likewise.
        settings: Likewise, and the options of `CuestaTerminus2Options`. `enable_summarize` counts
            for nothing.

    Attributes:
        adapter: What compacts.
    """

    options_model: ClassVar[type[CuestaTerminus2Options]] = CuestaTerminus2Options
    options: CuestaTerminus2Options
    _llm: BaseLLM

    def __init__(
        self,
        logs_dir: Path,
        model_name: str | None = None,
        *args: Any,  # noqa: ANN401 - the agent's
        **settings: Any,  # noqa: ANN401 - likewise
    ) -> None:
        super().__init__(logs_dir, model_name, *args, **{**settings, "enable_summarize": False})
        chosen = {name: getattr(self.options, name) for name in _OWN}
        self._compaction = CompactionOptions(harness="terminus-2", **chosen)
        self.adapter = Adapter(self._compaction)
        self._llm = _Folding(self._llm, self.adapter, self._model_name)

    def _dump_trajectory_with_continuation_index(self, continuation_index: int) -> None:
        """Write the trajectory, and into it what Cuesta has to tell."""
        super()._dump_trajectory_with_continuation_index(continuation_index)
        path = self.logs_dir / "trajectory.json"
        if path.exists():
            told = json.loads(path.read_text())
            kept = record(self.adapter, self._compaction)
            told["extra"] = {**(told.get("extra") or {}), "cuesta": kept}
            path.write_text(format_trajectory_json(told))


class _Folding(BaseLLM):
    """A model that is sent compacted chats.

    Args:
        llm: The model.
        adapter: What compacts.
        name: The model's name.
    """

    def __init__(self, llm: BaseLLM, adapter: Adapter, name: str) -> None:
        super().__init__()
        self._llm = llm
        self._adapter = adapter
        self._name = name

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the model has
        return getattr(self._llm, name)

    def get_model_context_limit(self) -> int:
        """Return the model's own limit."""
        limit: int = self._llm.get_model_context_limit()
        return limit

    def get_model_output_limit(self) -> int | None:
        """Return the model's own limit."""
        limit: int | None = self._llm.get_model_output_limit()
        return limit

    async def call(
        self,
        prompt: str,
        message_history: list[Any] | None = None,
        **named: Any,  # noqa: ANN401 - the model's
    ) -> LLMResponse:
        """Ask with a compacted chat; a shorter one as long as the model refuses it as too long."""
        messages = [*(message_history or ()), {"role": "user", "content": prompt}]
        whole: Mapping[str, Any] = {"model": self._name, "messages": messages}
        folded = self._adapter.fold(whole, turn=True)
        while True:
            try:
                return await self._ask(folded["messages"], folded is whole, named)
            except ContextLengthExceededError:
                shorter = self._adapter.fold(whole, turn=True, refused=True)
                if shorter is whole:
                    raise
                folded = shorter

    async def _ask(
        self, messages: list[Any], as_it_came: bool, named: Mapping[str, Any]
    ) -> LLMResponse:
        """Ask the model; a chat that was changed does not go on from an answer that it keeps."""
        if not as_it_came:
            named = {**named, "previous_response_id": None}
        *history, last = messages
        return await self._llm.call(prompt=last["content"], message_history=history, **named)
