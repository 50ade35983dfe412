"""The benchmarks: which scaffolds run them, how many tasks they have, and where these come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from cuesta.experiments.own.tasks import OWN_TASKS


@dataclass(frozen=True, slots=True)
class TaskSet:
    """A benchmark.

    Attributes:
        name: Its name in specs, with its version.
        scaffolds: The agent programs that can run it.
        count: How many tasks it has.
        names: Their names, where Cuesta knows them.
        dataset: Its name at Hugging Face, where that is where it is taken from.
        harbor: Its name in Harbor's registry.
    """

    name: str
    scaffolds: tuple[str, ...]
    count: int
    names: tuple[str, ...] = ()
    dataset: str = ""
    harbor: str = ""


TASK_SETS: Mapping[str, TaskSet] = MappingProxyType(
    {
        known.name: known
        for known in (
            TaskSet("own", ("own",), len(OWN_TASKS), tuple(OWN_TASKS)),
            TaskSet(
                "swe-bench-verified",
                ("mini-swe-agent", "openhands"),
                500,
                dataset="princeton-nlp/SWE-bench_Verified",
                harbor="swe-bench/swe-bench-verified",
            ),
            TaskSet(
                "terminal-bench-2.0",
                ("terminus-2", "claude-code", "openhands"),
                89,
                harbor="terminal-bench@2.0",
            ),
            TaskSet(
                "terminal-bench-2.1",
                ("claude-code", "terminus-2", "openhands"),
                89,
                harbor="terminal-bench/terminal-bench-2-1",
            ),
            TaskSet("kernelbench-l3", ("kernels",), 50),
        )
    }
)
