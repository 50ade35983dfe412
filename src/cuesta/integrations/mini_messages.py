"""What the model classes for both versions of mini-swe-agent have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from cuesta.dialects.registry import DIALECTS
from cuesta.exchange.options import CompactionOptions
from cuesta.integrations.base import Adapter
from cuesta.integrations.record import record
from cuesta.integrations.thinking import bare

if TYPE_CHECKING:

    class _Sends:
        """A model class of the package; it comes behind `Folding` in every class that is made."""

        config: Any

        def __init__(self, **settings: Any) -> None: ...  # noqa: ANN401 - its configuration
        def _query(self, messages: list[Any], **named: Any) -> Any: ...  # noqa: ANN401 - LiteLLM's
        def serialize(self) -> dict[str, Any]: ...

else:
    _Sends = object


class Folding(_Sends):
    """Compacts what a model class sends; stands before that class among the bases.

    Args:
        cuesta: Members of `CompactionOptions`, from the configuration's `cuesta`.
        settings: The model's own configuration.

    Attributes:
        adapter: What compacts.
        dialect: The wire that the class speaks.
        harness: Whose plain text stands for calls; empty where the wire's own calls are used.
        fixed: What the class sends beside the messages, for the estimate.
        too_long: What it raises where the provider refuses a prompt as too long.

    Raises:
        ConfigError: If the options make no sense.
        TypeError: If there is no such option.
    """

    dialect: ClassVar[str] = "openai_chat"
    harness: ClassVar[str] = ""
    fixed: ClassVar[Mapping[str, Any]] = {}
    too_long: ClassVar[tuple[type[Exception], ...]] = ()

    def __init__(self, *, cuesta: Mapping[str, Any] | None = None, **settings: Any) -> None:  # noqa: ANN401 - the package's
        super().__init__(**settings)
        self._options = CompactionOptions(**{"harness": self.harness, **(cuesta or {})})
        self.adapter = Adapter(self._options)

    def record(self) -> dict[str, Any]:
        """Return what a trajectory keeps."""
        return record(self.adapter, self._options)

    def _query(self, messages: Sequence[Any], **named: Any) -> Any:  # noqa: ANN401 - LiteLLM's answer
        """Send compacted messages; shorter ones as long as they are refused as too long."""
        where = DIALECTS[self.dialect].where
        request = {"model": self.config.model_name, where: list(messages), **self.fixed}
        folded, plan = self.adapter.planned(request, self.dialect, turn=True)
        while True:
            try:
                return super()._query(bare(request[where], folded[where], plan), **named)
            except self.too_long:
                folded, plan = self.adapter.planned(request, self.dialect, turn=True, refused=True)
                if folded is request:
                    raise
