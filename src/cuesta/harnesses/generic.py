"""Any command that reads its API's address from the environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuesta.harnesses.launch import Leaving, route, route_openai

if TYPE_CHECKING:
    from cuesta.harnesses.launch import Launch


class Generic:
    """A program that nothing more is known about."""

    name = "any command"
    leaving = Leaving("have the agent make its history short")

    def recognise(self, argv: tuple[str, ...]) -> bool:
        """Tell that any command may be tried."""
        return bool(argv)

    def prepare(self, launch: Launch) -> Launch:
        """Set both APIs' addresses in the environment."""
        return route_openai(route(launch))
