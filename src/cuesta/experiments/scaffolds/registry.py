"""The scaffolds by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cuesta.experiments.running import Scaffold
from cuesta.experiments.scaffolds.own import Own

SCAFFOLDS: Mapping[str, Scaffold] = MappingProxyType({known.name: known for known in (Own(),)})
