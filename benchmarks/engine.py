"""A long replay through a real engine, with and without cliffs, in the engine's CPU seconds.

`python -m benchmarks.engine` needs the extra `engine` and one quiet core; with `--url` it asks any
server that speaks OpenAI's completions and takes tokens as prompts. The prompts have the sizes of a
coding agent's: a system prompt, then turns of a short answer and a longer observation.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from itertools import cycle
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from cuesta.lab.cost import RULES, CacheRules, engine
from cuesta.lab.replay import Step
from cuesta.testing.engine import MARKS, NANO, WIDE, Completion, EngineServer, write_model

_SYSTEM = 2_000
_DIGEST = 2_000
_ANSWER = (40, 80)
_OBSERVATION = (200, 469)
_TURNS = 150
_CLIFF = 16_000
_CONTEXT = 65_536
_SEED = 1
_SHAPES = {"nano": NANO, "wide": WIDE}
_TIMEOUT_S = 600.0


class Engine(Protocol):
    """What the replay asks, as `EngineServer` has it."""

    def complete(self, prompt: Sequence[int], generate: int) -> Completion: ...

    def cpu_s(self) -> float: ...


class Remote:
    """An engine that somebody else started, asked by OpenAI's completions.

    Args:
        url: Where it listens: `http://127.0.0.1:8392`.
        model: The name under which it serves the model.
    """

    def __init__(self, url: str, model: str) -> None:
        self._model = model
        parts = urlsplit(url)
        self._connection = HTTPConnection(
            parts.hostname or "127.0.0.1", parts.port, timeout=_TIMEOUT_S
        )

    def complete(self, prompt: Sequence[int], generate: int) -> Completion:
        asked = {
            "model": self._model, "prompt": list(prompt), "max_tokens": generate,
            "temperature": 0, "ignore_eos": True,
        }  # fmt: skip
        self._connection.request(
            "POST", "/v1/completions", json.dumps(asked), {"Content-Type": "application/json"}
        )
        response = self._connection.getresponse()
        raw = response.read()
        if response.status != 200:
            raise SystemExit(f"refused: {raw.decode(errors='replace')}")
        usage = json.loads(raw)["usage"]
        cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
        return Completion(cached, usage["prompt_tokens"] - cached, ())

    def cpu_s(self) -> float:
        """Nobody knows: it may run anywhere."""
        return float("nan")


@dataclass(frozen=True, slots=True)
class Played:
    """What one replay took.

    Attributes:
        rules: The engine's.
        steps: Its calls, as the lab counts them.
        processed: What the engine computed of each call's prompt, in tokens.
        cpu_s: The engine's CPU seconds.
        wall_s: Seconds that went by.
    """

    rules: CacheRules
    steps: list[Step]
    processed: list[int]
    cpu_s: float
    wall_s: float

    @property
    def modelled(self) -> list[int]:
        """What the lab's model says that the engine computes."""
        return [bill.input for bill in engine(self.steps, self.rules)]

    def row(self) -> str:
        """Return its figures, in the order of the head."""
        modelled = self.modelled
        exact = sum(a == b for a, b in zip(modelled, self.processed, strict=True))
        cliffs = sum(step.cliff for step in self.steps)
        largest = max(step.prompt for step in self.steps)
        prompts = sum(step.prompt for step in self.steps)
        return (
            f"{cliffs:>6} {largest:>8,} {prompts:>10,} {sum(modelled):>9,} "
            f"{sum(self.processed):>9,} {exact:>4}/{len(self.steps)} "
            f"{self.cpu_s:>7.1f} {self.wall_s:>7.1f}"
        )


_HEAD = f"{'':8} cliffs  largest    prompts  modelled processed   exact   CPU s  wall s"


def prompts(turns: int, cliff: int, first: int = 0) -> Iterator[tuple[Step, list[int]]]:
    """Yield each call of a replay, and its prompt's tokens.

    The answers in the history are recorded ones: none of them is what the engine generates.

    Args:
        turns: How many calls.
        cliff: Tokens above which the history drops to the system prompt and a digest; 0: never.
        first: The number of the mark to begin with; another one shares no prefix with this one.
    """
    # A mark comes back after 256 texts, two digests are closer: nothing is alike by chance.
    marks = cycle((*MARKS[first:], *MARKS[:first]))
    dice, aside = random.Random(_SEED), random.Random(_SEED)

    def text(size: int, dice: random.Random = dice) -> list[int]:
        return [next(marks), *dice.choices(range(MARKS.start), k=size - 1)]

    system = text(_SYSTEM)
    history, before = system + text(dice.randint(*_OBSERVATION)), 0
    for turn in range(turns):
        answer, observation = dice.randint(*_ANSWER), dice.randint(*_OBSERVATION)
        falls = bool(cliff) and len(history) > cliff
        if falls:
            history = system + text(_DIGEST, aside)
        common = _SYSTEM if falls else before
        before = len(history)
        yield Step(turn, "", before, common, 0, answer, _SYSTEM, cliff=falls), history
        history = history + text(answer) + text(observation)


def play(server: Engine, rules: CacheRules, calls: Iterator[tuple[Step, list[int]]]) -> Played:
    """Send a replay to an engine that has seen nothing which begins like it."""
    steps, processed = [], []
    begun, used = time.monotonic(), server.cpu_s()
    for step, prompt in calls:
        steps.append(step)
        processed.append(server.complete(prompt, step.output).processed)
    return Played(rules, steps, processed, server.cpu_s() - used, time.monotonic() - begun)


@contextmanager
def started(options: argparse.Namespace) -> Iterator[Engine]:
    """Start the engine, or take the one that runs already."""
    if options.url:
        yield Remote(options.url, options.model)
        return
    with tempfile.TemporaryDirectory() as folder:
        model = write_model(Path(folder) / "model.gguf", _SHAPES[options.model])
        with EngineServer(model, _CONTEXT) as server:
            yield server


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="wide", help="nano or wide; with --url its name there")
    parser.add_argument("--turns", type=int, default=_TURNS)
    parser.add_argument("--cliff", type=int, default=_CLIFF)
    parser.add_argument("--rules", choices=RULES, default="llama.cpp")
    parser.add_argument("--url", default="", help="an engine that runs already")
    options = parser.parse_args()
    print(_HEAD, flush=True)
    played = []
    for number, (name, cliff) in enumerate((("keep-all", 0), ("cliff", options.cliff))):
        calls = prompts(options.turns, cliff, number * len(MARKS) // 2)
        with started(options) as server:
            played.append(play(server, RULES[options.rules], calls))
        print(f"{name:8} {played[-1].row()}", flush=True)
    whole, cut = played
    what = "wall" if options.url else "CPU"
    ratio = whole.wall_s / cut.wall_s if options.url else whole.cpu_s / cut.cpu_s
    print(f"{options.model}: {ratio:.2f} times fewer {what} seconds with cliffs")


if __name__ == "__main__":
    main()
