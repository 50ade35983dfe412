"""What one run of an experiment came to, in plain values: one record a run.

Tables and figures are drawn from records alone, whatever scaffold made them. Versions: a field may
be added under the same version (readers ignore what they do not know); a changed meaning raises
`RECORD_VERSION`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from cuesta.core.errors import ConfigError
from cuesta.core.prices import Price
from cuesta.core.usage import Usage

RECORD_VERSION = 1

DONE, STEPS, SECONDS, WINDOW, REFUSED, ERROR = (
    "done", "steps", "seconds", "window", "refused", "error",
)  # fmt: skip
"""How a run ends: by the agent itself; at its limit of steps or of time; because the prompt
outgrew the window; because the provider refused a request; because anything else broke, which says
nothing about the agent."""
ENDS = (DONE, STEPS, SECONDS, WINDOW, REFUSED, ERROR)

NATIVE = "native"
"""The strategy that is not Cuesta's: the scaffold's own compaction."""

_FILE = "records.jsonl"


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """One run's place in the matrix.

    Attributes:
        scaffold: `mini-swe-agent`, `openhands`, `terminus-2`, `claude-code`, `kernels` or `own`.
        model: As it stands in requests.
        strategy: One of Cuesta's, or `native`.
        threshold: In tokens; 0: the strategy has none (`keep_all`), or its own.
        seed: The number of the repetition, from 0 on.
        task_set: The benchmark with its version, for example `swe-bench-verified`.
        task: The task's name there.
    """

    scaffold: str
    model: str
    strategy: str
    threshold: int
    seed: int
    task_set: str
    task: str

    @property
    def key(self) -> str:
        """A name of one line for the cell, unlike that of any other."""
        return "/".join(str(getattr(self, field.name)) for field in fields(self))

    @property
    def setting(self) -> tuple[str, str, str, str, int]:
        """What runs share that differ in seed and task only: a cell of the paper's tables."""
        return self.task_set, self.scaffold, self.model, self.strategy, self.threshold


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls that a run made to its model, in columns of one length.

    Attributes:
        prompt: Tokens of the prompt, as billed: the context trace.
        cached: Those of them that the provider read from its cache.
        written: Those of them that it wrote to its cache at an extra price.
        output: Tokens of the answer.
        seconds: From the request to the last byte of the answer; 0: not known.
        ours: Whether the call asks for a summary and is no step of the agent.
        kinds: One letter a call as in `lab.activity` (`r` a file read, `R` read again, `e` edited,
            `t` tests, ...), or empty where the scaffold does not tell.
    """

    prompt: tuple[int, ...] = ()
    cached: tuple[int, ...] = ()
    written: tuple[int, ...] = ()
    output: tuple[int, ...] = ()
    seconds: tuple[float, ...] = ()
    ours: tuple[bool, ...] = ()
    kinds: str = ""


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel that an agent wrote and that was measured (KernelBench).

    Attributes:
        step: The step that wrote it, from 0 on.
        correct: Whether its output is the reference's.
        speedup: Against PyTorch eager; 0 where it is not correct.
    """

    step: int
    correct: bool
    speedup: float


@dataclass(frozen=True, slots=True)
class Record:
    """One run. Sizes are in tokens, costs in US dollars, times in seconds.

    Attributes:
        spec: Hash of all that the spec says about results.
        basis: Hash of what two runs must share to be compared: scaffold, model, task set, limit of
            steps, and the scaffold's settings. Runs of unlike bases stand in different tables.
        cell: Its place in the matrix.
        window: The effective window: the longest prompt that the model would have taken here.
        resolved: Whether the task's own check passed; None: it was not checked.
        end: One of `ENDS`.
        reason: The end in words; empty where there is nothing to say.
        steps: The agent's own calls to the model.
        usage: What the provider billed, all calls.
        asked: The part of `usage` that went into summaries.
        perfect: All calls by the paper's perfect cache (Appendix A.1).
        billed_cost: `usage` at the model's prices; None: they are not known.
        perfect_cost: `perfect` at the same prices.
        seconds: Wall time, from the run's start to its end, its check left out.
        cliffs: For each cliff the index in `calls` of the first prompt sent behind it.
        cliffs_told: Whether whoever made the cliffs told of them; else each prompt that is shorter
            than the one before is taken for one.
        calls: The calls one by one.
        kernels: The kernels that were measured, in order; empty outside KernelBench.
        attempt: 1; more where earlier attempts ended in `error`.
        at: When it began, in seconds since the Unix epoch.
        versions: Packages that took part -> version.
        price: What the costs were made with; None: not known.
    """

    spec: str
    basis: str
    cell: Cell
    window: int
    resolved: bool | None
    end: str
    reason: str
    steps: int
    usage: Usage
    asked: Usage
    perfect: Usage
    billed_cost: float | None
    perfect_cost: float | None
    seconds: float
    cliffs: tuple[int, ...]
    cliffs_told: bool
    calls: Calls
    kernels: tuple[Kernel, ...] = ()
    attempt: int = 1
    at: float = 0.0
    versions: Mapping[str, str] | None = None
    price: Price | None = None

    @property
    def peak(self) -> int:
        """The longest prompt of the agent's own steps."""
        return max(self.prompts, default=0)

    @property
    def prompts(self) -> tuple[int, ...]:
        """The prompts of the agent's own steps."""
        both = zip(self.calls.prompt, self.calls.ours, strict=True)
        return tuple(prompt for prompt, ours in both if not ours)

    @property
    def hit_rate(self) -> float:
        """The part of all prompts that the provider read from its cache."""
        return self.usage.cache_read / self.usage.prompt if self.usage.prompt else 0.0

    @property
    def early(self) -> bool:
        """Whether the window or the provider ended it before the agent or its limits did."""
        return self.end in {WINDOW, REFUSED}

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON's plain values, with its version under `v`."""
        return {"v": RECORD_VERSION, **asdict(self)}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Record:
        """Read what `to_dict` wrote, ignoring fields added since.

        Raises:
            ValueError: If it is no record, or its version is newer than this module's.
        """
        if record.get("v", 0) > RECORD_VERSION:
            raise ValueError(f"record of version {record['v']}, this is version {RECORD_VERSION}")
        values = _known(cls, record)
        try:
            values["cell"] = Cell(**_known(Cell, values["cell"]))
            for name in ("usage", "asked", "perfect"):
                values[name] = Usage(**_known(Usage, values[name]))
            values["cliffs"] = tuple(values["cliffs"])
            values["calls"] = _calls(values["calls"])
            kernels = values.get("kernels", ())
            values["kernels"] = tuple(Kernel(**_known(Kernel, one)) for one in kernels)
            if values.get("price") is not None:
                values["price"] = Price(**_known(Price, values["price"]))
            return cls(**values)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"no record of an experiment: {error}") from None


def read_records(folder: Path) -> list[Record]:
    """Read a run's records, finished or not; of several attempts at a cell the last one.

    Args:
        folder: Where `cuesta experiment run` put its results.

    Raises:
        ConfigError: If there are none, or they cannot be read.
    """
    file = folder / _FILE
    if not file.is_file():
        raise ConfigError(
            f"{folder}: no results here (no {_FILE}); "
            "`cuesta experiment run SPEC` says where it puts them"
        )
    found: dict[Cell, Record] = {}
    for record in _lines(file):
        before = found.get(record.cell)
        if before is None or record.attempt >= before.attempt:
            found[record.cell] = record
    return list(found.values())


def _lines(file: Path) -> Iterator[Record]:
    """Yield the records of a file, but for a last line that is still being written."""
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.endswith("\n"):
                return
            try:
                yield Record.from_dict(json.loads(line)["record"])
            except (ValueError, KeyError, TypeError) as error:
                raise ConfigError(f"{file}, line {number}: {error}") from None


def _calls(columns: Mapping[str, Any]) -> Calls:
    known = _known(Calls, columns)
    kinds = known.pop("kinds", "")
    return Calls(**{name: tuple(values) for name, values in known.items()}, kinds=kinds)


def _known(kind: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in values.items() if name in names}
