"""What an experiment runs: a TOML file read into plain values, with every mistake said in words.

A spec is a list of blocks; each block is the product of its models, strategies, thresholds, seeds
and tasks for one scaffold on one task set.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from importlib import resources
from pathlib import Path
from typing import Any

from cuesta.core.errors import ConfigError
from cuesta.experiments.models import Endpoint, endpoint
from cuesta.experiments.reading import Reader
from cuesta.experiments.record import NATIVE, Cell
from cuesta.experiments.tasksets import TASK_SETS
from cuesta.strategies.names import NAMES

STRATEGIES = (*NAMES, NATIVE)
ROUTES = ("", "proxy", "adapter")
WITHOUT_THRESHOLD = frozenset({"keep_all"})
WITH_NATIVE = frozenset({"terminus-2", "claude-code"})
"""Scaffolds that compact by themselves."""
_SHIPPED = "specs"
_LEAST_THRESHOLD = 1_000
_LEAST_WINDOW = 4_000


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop.

    Attributes:
        money: US dollars for all runs together; 0: no limit.
        hours: For all runs together, from the command's start; 0: no limit.
        parallel: Runs at once; 0: one a core.
        steps: Model calls of one run.
        minutes: Of one run.
        output: Tokens of the longest answer; only the estimate of the cost looks at it.
    """

    money: float = 0.0
    hours: float = 0.0
    parallel: int = 1
    steps: int = 250
    minutes: float = 120.0
    output: int = 4_000


@dataclass(frozen=True, slots=True)
class Block:
    """One product of settings.

    Attributes:
        scaffold: The agent program.
        task_set: The benchmark.
        models: Models by name.
        strategies: Compaction strategies.
        thresholds: In tokens; strategies without one stand once. 0 for `native`: its own default.
        seeds: Numbers of the repetitions.
        tasks: Names of the tasks; empty: all of the set.
        profile: What is kept, cut and dropped.
        window: The longest prompt in tokens, if another than the model's; 0: the model's.
        reclaim: Tokens of old results that pile up before microcompaction clears them.
        via: `proxy` or `adapter`, where the scaffold leaves a choice; empty: its usual way.
    """

    scaffold: str
    task_set: str
    models: tuple[str, ...]
    strategies: tuple[str, ...] = ("cliff",)
    thresholds: tuple[int, ...] = (32_000,)
    seeds: tuple[int, ...] = (0,)
    tasks: tuple[str, ...] = ()
    profile: str = "paper"
    window: int = 0
    reclaim: int = 5_000
    via: str = ""

    def settings(self) -> Iterator[tuple[str, str, int]]:
        """Yield model, strategy and threshold of each cell of the paper's tables."""
        for model in self.models:
            for strategy in self.strategies:
                none = strategy in WITHOUT_THRESHOLD
                for threshold in (0,) if none else self.thresholds:
                    yield model, strategy, threshold

    def cells(self, tasks: Sequence[str]) -> Iterator[Cell]:
        """Yield the runs, seed by seed, so that a run that is cut short has whole seeds.

        Args:
            tasks: The names of the tasks that are run.
        """
        for seed in self.seeds:
            for model, strategy, threshold in self.settings():
                for task in tasks:
                    yield Cell(self.scaffold, model, strategy, threshold, seed, self.task_set, task)


@dataclass(frozen=True, slots=True)
class Spec:
    """A whole experiment.

    Attributes:
        name: Its name; results lie under it.
        about: What it shows, in a line.
        blocks: What is run.
        limits: When to stop.
        endpoints: Where each model is asked.
        results: The folder for the results; empty: `experiments/NAME`.
        paper: Dollars a task in the paper, by `MODEL STRATEGY THRESHOLD`.
    """

    name: str
    about: str
    blocks: tuple[Block, ...]
    limits: Limits = field(default_factory=Limits)
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict)
    results: str = ""
    paper: Mapping[str, float] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """Where the results lie, seen from the folder of the command."""
        return Path(self.results or f"experiments/{self.name}")

    @property
    def hash(self) -> str:
        """Names all that decides results: limits of money and time for all runs do not."""
        return _hash(
            {
                "blocks": [asdict(block) for block in self.blocks],
                "steps": self.limits.steps,
                "minutes": self.limits.minutes,
                "endpoints": {name: asdict(one) for name, one in self.endpoints.items()},
            }
        )

    def basis(self, block: Block, model: str) -> str:
        """Name what two runs must share to be compared; see `Record.basis`."""
        return _hash(
            {
                "scaffold": block.scaffold,
                "task_set": block.task_set,
                "endpoint": asdict(self.endpoints[model]),
                "window": block.window,
                "steps": self.limits.steps,
                "minutes": self.limits.minutes,
            }
        )


def shipped() -> dict[str, str]:
    """Return the specs that come with Cuesta: name -> text, in the order of their names."""
    folder = resources.files("cuesta.experiments") / _SHIPPED
    found = {
        entry.name.removesuffix(".toml"): entry.read_text(encoding="utf-8")
        for entry in folder.iterdir()
        if entry.name.endswith(".toml")
    }
    return dict(sorted(found.items()))


def load(where: str) -> Spec:
    """Read a spec.

    Args:
        where: The path of a TOML file, or the name of a shipped one.

    Raises:
        ConfigError: If there is none, or it makes no sense; the message names the place and tells
            what to write instead.
    """
    path = Path(where)
    if path.is_file():
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise ConfigError(f"{path}: cannot be read: {error}") from None
        return parse(text, str(path), path.stem)
    known = shipped()
    if where in known:
        return parse(known[where], f"{where} (shipped)", where)
    near = difflib.get_close_matches(where, known, n=1)
    hint = f"did you mean `{near[0]}`?" if near else "`cuesta experiment list` shows those shipped."
    raise ConfigError(f"{where}: neither a file nor the name of a shipped spec; {hint}")


def parse(text: str, where: str, name: str) -> Spec:
    """Read a spec's text.

    Args:
        text: TOML.
        where: What error messages call it.
        name: Its name where it does not say one.

    Raises:
        ConfigError: See `load`.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{where}: is not valid TOML: {error}") from None
    top = Reader(where, table, ("name", "about", "results", "limits", "matrix", "models", "paper"))
    blocks = tuple(
        _block(Reader(f"{where}, matrix {number}", one, _keys(Block)))
        for number, one in enumerate(top.tables("matrix"), 1)
    )
    said = {model: _said(where, model, one) for model, one in top.table("models").items()}
    wanted = dict.fromkeys(model for block in blocks for model in block.models)
    return Spec(
        name=top.text("name", name),
        about=top.text("about", ""),
        blocks=blocks,
        limits=_limits(Reader(f"{where}, limits", top.table("limits"), _keys(Limits))),
        endpoints={model: _endpoint(where, model, said.get(model, {})) for model in wanted},
        results=top.text("results", ""),
        paper=_paper(where, top.table("paper")),
    )


def _block(reader: Reader) -> Block:
    task_set = reader.choice("task-set", tuple(TASK_SETS))
    known = TASK_SETS[task_set]
    scaffold = reader.choice("scaffold", known.scaffolds, f"on {task_set}")
    _know_native(reader, scaffold)
    tasks = reader.texts("tasks", ())
    unknown = [task for task in tasks if known.names and task not in known.names]
    if unknown:
        raise reader.error(
            "tasks", f"{task_set} has no task `{unknown[0]}`: {', '.join(known.names)}"
        )
    return Block(
        scaffold=scaffold,
        task_set=task_set,
        models=reader.texts("models"),
        strategies=reader.choices("strategies", STRATEGIES, ("cliff",)),
        thresholds=reader.numbers("thresholds", (32_000,), _threshold),
        seeds=reader.seeds(),
        tasks=tasks,
        profile=reader.choice("profile", ("paper", "default"), default="paper"),
        window=reader.number("window", 0, _LEAST_WINDOW),
        reclaim=reader.number("reclaim", 5_000, 1),
        via=reader.choice("via", ROUTES, default=""),
    )


def _know_native(reader: Reader, scaffold: str) -> None:
    """Refuse `native` where the scaffold has no compaction of its own."""
    if NATIVE in reader.texts("strategies", ()) and scaffold not in WITH_NATIVE:
        raise reader.error(
            "strategies",
            f"{scaffold} has no compaction of its own, so `{NATIVE}` means nothing; "
            f"`keep_all` drops nothing (with `{NATIVE}`: {', '.join(sorted(WITH_NATIVE))})",
        )


def _limits(reader: Reader) -> Limits:
    default = Limits()
    return Limits(
        money=reader.amount("money", default.money),
        hours=reader.amount("hours", default.hours),
        parallel=reader.number("parallel", default.parallel, 1),
        steps=reader.number("steps", default.steps, 1),
        minutes=reader.amount("minutes", default.minutes),
        output=reader.number("output", default.output, 1),
    )


def _paper(where: str, table: dict[str, Any]) -> dict[str, float]:
    reader = Reader(f"{where}, paper", table, tuple(table))
    return {key: reader.amount(key, 0.0) for key in table}


def _said(where: str, model: str, table: object) -> dict[str, Any]:
    reader = Reader(f'{where}, models."{model}"', table, _keys(Endpoint))
    found: dict[str, Any] = {}
    for key in ("name", "base-url", "anthropic-url", "key"):
        if key in reader:
            found[key.replace("-", "_")] = reader.text(key, "")
    if "window" in reader:
        found["window"] = reader.number("window", 0, _LEAST_WINDOW)
    return found


def _endpoint(where: str, model: str, said: Mapping[str, Any]) -> Endpoint:
    try:
        return endpoint(model, said)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def _threshold(value: int) -> str:
    if value == 0 or value >= _LEAST_THRESHOLD:
        return ""
    return f"expected 0 or at least {_LEAST_THRESHOLD}, not {value}"


def _keys(kind: type[Any]) -> tuple[str, ...]:
    return tuple(one.name.replace("_", "-") for one in fields(kind))


def _hash(value: object) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]
