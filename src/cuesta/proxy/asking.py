"""A question of our own to the model: sent where the client's request goes, read whole."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from cuesta.core.errors import CuestaError
from cuesta.dialects.registry import DIALECTS
from cuesta.exchange.events import Told
from cuesta.proxy.decode import decode
from cuesta.proxy.upstream import Body

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cuesta.exchange.events import Ask
    from cuesta.proxy.upstream import Upstream

_SECONDS = 180.0
"""How long a client waits for it; then a digest must do."""
_LIMIT = 8 << 20
"""Bytes of an answer, as sent and decoded."""
_OK = 200


class AskingError(CuestaError):
    """The model gave no answer that can be read."""


async def ask(
    upstream: Upstream, target: str, headers: Sequence[tuple[str, str]], question: Ask
) -> Told:
    """Ask, and return all that was answered.

    Args:
        upstream: Where the client's request goes.
        target: Path and query, as of the client's request.
        headers: Fit for the question.
        question: What is asked.

    Raises:
        AskingError: If the answer is an error, or too long.
        CuestaError: If none came, or it cannot be decoded.
        TimeoutError: If it took too long.
    """
    async with asyncio.timeout(_SECONDS):
        response = await upstream.send("POST", target, headers, Body(question.body))
        try:
            if response.status != _OK:
                raise AskingError(f"status {response.status}")
            answer = bytearray()
            while chunk := await response.content.readany():
                answer += chunk
                if len(answer) > _LIMIT:
                    raise AskingError("the answer is too long")
        finally:
            response.close()
    plain = decode(bytes(answer), response.headers.get("Content-Encoding", ""), _LIMIT)
    kind = response.headers.get("Content-Type", "")
    dialect = DIALECTS[question.dialect]
    tap = dialect.usage_tap(kind)
    tap.feed(plain)
    return Told(dialect.said(kind, plain), tap.usage)
