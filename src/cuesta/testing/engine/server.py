"""Starting the engine and asking it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from cuesta.core.errors import CuestaError
from cuesta.testing.engine.model import need

_TIMEOUT_S = 300.0
_STOP_S = 10.0


class EngineError(CuestaError):
    """The engine did not start, refused, or ended; says what it said last."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What the engine reports about one request.

    Attributes:
        cached: Tokens of the prompt that were in its cache.
        processed: Tokens of the prompt that it computed.
        answer: The tokens that it generated.
    """

    cached: int
    processed: int
    answer: tuple[int, ...]


class EngineServer:
    """llama.cpp's server in a process of its own: one slot, one thread, no cache but the slot's.

    Use it as a context manager.

    Args:
        model: A GGUF file, as `write_model` writes it.
        context: Most tokens of a prompt and its answer.

    Raises:
        ConfigError: If the extra `engine` is not installed.
        EngineError: If the engine does not start.
    """

    def __init__(self, model: Path, context: int = 65_536) -> None:
        need("xllamacpp")
        self._command = [
            sys.executable,
            "-m",
            "cuesta.testing.engine.child",
            str(model),
            str(context),
        ]

    def __enter__(self) -> Self:
        self._log: IO[bytes] = tempfile.TemporaryFile()
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log,
            text=True, bufsize=1, env=os.environ | {"OMP_WAIT_POLICY": "passive"},
        )  # fmt: skip
        try:
            self._connection = HTTPConnection("127.0.0.1", int(self._line()), timeout=_TIMEOUT_S)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._connection.close()
        self._stop()

    def complete(self, prompt: Sequence[int], generate: int) -> Completion:
        """Have the engine go on with a prompt.

        Args:
            prompt: Its tokens.
            generate: How many tokens to generate, at least 1; the likeliest each time.

        Raises:
            EngineError: If the engine refuses, or has ended.
        """
        asked = {
            "prompt": list(prompt), "n_predict": generate, "temperature": 0, "ignore_eos": True,
            "return_tokens": True, "cache_prompt": True,
        }  # fmt: skip
        try:
            self._connection.request(
                "POST", "/completion", json.dumps(asked), {"Content-Type": "application/json"}
            )
            response = self._connection.getresponse()
            raw = response.read()
        except (OSError, HTTPException) as error:
            raise EngineError(f"the engine does not answer: {error}\n{self._tail()}") from error
        if response.status != 200:
            raise EngineError(f"the engine refused: {raw.decode(errors='replace')}")
        told = json.loads(raw)
        timings = told["timings"]
        return Completion(timings["cache_n"], timings["prompt_n"], tuple(told["tokens"]))

    def cpu_s(self) -> float:
        """Return the CPU seconds that the engine has used since it was started."""
        if self._process.stdin:
            self._process.stdin.write("\n")
        return float(self._line())

    def _line(self) -> str:
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            code = self._process.wait(_STOP_S)
            raise EngineError(f"the engine ended with {code}:\n{self._tail()}")
        return line

    def _tail(self) -> str:
        """Return the end of what the engine has said."""
        self._log.seek(0)
        return self._log.read()[-1_000:].decode(errors="replace")

    def _stop(self) -> None:
        try:
            self._process.communicate(timeout=_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
        self._log.close()
