"""The scaffolds by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cuesta.experiments.running import Scaffold
from cuesta.experiments.scaffolds.claude_code import ClaudeCode
from cuesta.experiments.scaffolds.kernels import Kernels
from cuesta.experiments.scaffolds.mini_swe_agent import MiniSweAgent
from cuesta.experiments.scaffolds.openhands import OpenHands
from cuesta.experiments.scaffolds.own import Own
from cuesta.experiments.scaffolds.terminus_2 import Terminus2

SCAFFOLDS: Mapping[str, Scaffold] = MappingProxyType(
    {
        known.name: known
        for known in (
            MiniSweAgent(),
            OpenHands(),
            Terminus2(),
            ClaudeCode(),
            Kernels(),
            Own(),
        )
    }
)
