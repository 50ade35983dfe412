"""KernelBench: the loop that writes and measures kernels is not a part of this Cuesta yet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cuesta.core.errors import ConfigError
from cuesta.experiments.needs import Need
from cuesta.experiments.running import Performed, Run

if TYPE_CHECKING:
    from cuesta.experiments.models import Endpoint
    from cuesta.experiments.spec import Block

_WORDS = "`cuesta kernels` is not there yet"


class Kernels:
    """See `running.Scaffold`."""

    name = "kernels"

    def needs(self, block: Block, endpoint: Endpoint) -> tuple[Need, ...]:
        """Return the one need that cannot be met."""
        del block, endpoint
        return (Need("the KernelBench loop", there=False, how=f"wait: {_WORDS}"),)

    def tasks(self, block: Block, folder: Path) -> tuple[str, ...]:
        """Raise: nobody has them.

        Raises:
            ConfigError: Always.
        """
        del block, folder
        raise ConfigError(_WORDS)

    def describe(self, run: Run) -> tuple[str, ...]:
        """Return what would be done, in words."""
        return (f"kernels for {run.cell.task} through PROXY ({_WORDS})",)

    def perform(self, run: Run) -> Performed:
        """Raise: it cannot be run.

        Raises:
            ConfigError: Always.
        """
        del run
        raise ConfigError(_WORDS)
