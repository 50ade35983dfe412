"""The errors Cuesta raises, split by whose fault they are.

`RequestError` is the client's doing and `ConfigError` the operator's; both carry a message made for
the person who reads it. Any other exception that leaves a pure room is a bug in Cuesta.
"""

from __future__ import annotations


class CuestaError(Exception):
    """The base of every error that Cuesta raises on purpose."""


class RequestError(CuestaError):
    """A request or transcript that cannot be read.

    Args:
        message: What is wrong and where, fit to be shown to the client.
        status: The HTTP status that fits the fault.
    """

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class ConfigError(CuestaError):
    """An option, a configuration file or an environment variable that makes no sense."""


class UnknownModelError(CuestaError):
    """A model that the price book does not know: never priced as 0."""
