"""What a model does and allows on its wire."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Traits:
    """What a model does and allows.

    Attributes:
        name: As it stands in the body.
        thinking: `adaptive`, `enabled` (each answer starts with thinking) or `off`.
        checks: Whether it refuses thinking that was produced behind another prefix.
        omits: Whether thinking comes back with an empty text and its seal only.
        systems: Whether it takes system messages in the middle of a history.
        pauses: Whether it may stop in the middle of what the provider runs for it.
        removes_tools: Whether a message in the middle may take a tool away.
        shows_pictures: Whether a tool's result may hold pictures.
        lists_parts: Whether results are lists of parts as often as clients like.
    """

    name: str
    thinking: Literal["adaptive", "enabled", "off"]
    checks: bool = False
    omits: bool = False
    systems: bool = True
    pauses: bool = False
    removes_tools: bool = False
    shows_pictures: bool = True
    lists_parts: bool = False
