"""Files of saved sessions: read, counted and replayed, one task a file or a part of an archive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from cuesta.core.errors import RequestError
from cuesta.harnesses.saved.base import Problems
from cuesta.harnesses.saved.files import find, homes, read_file
from cuesta.lab.prepared import prepare
from cuesta.lab.records import Record
from cuesta.lab.sweep import Sweep
from cuesta.lab.tally import Tally, tally

READ, EMPTY, FOREIGN, UNREADABLE = "read", "empty", "foreign", "unreadable"
_NO_MESSAGE = "a message that is none in its wire"


@dataclass(frozen=True, slots=True)
class Task:
    """A file to read, or every so-manieth member of an archive.

    Attributes:
        path: The file.
        part: Which part of it.
        parts: How many there are.
        size: The file's bytes.
    """

    path: str
    part: int = 0
    parts: int = 1
    size: int = 0

    @property
    def key(self) -> str:
        """What the task is known by; a file that has changed is another task."""
        return f"{self.path} {self.size} {self.part}/{self.parts}"


_TASK = tuple(field.name for field in fields(Task))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a task.

    Attributes:
        task: The task.
        state: `read`, `empty` (a known format without a session in it), `foreign` (no known
            format) or `unreadable`.
        problems: What could not be read, counted by reason.
        tallies: The sessions, counted.
        records: What their replays came to; one tuple a session, one record a variant.
    """

    task: Task
    state: str
    problems: Mapping[str, int]
    tallies: tuple[Tally, ...] = ()
    records: tuple[tuple[Record, ...], ...] = ()

    def without_records(self) -> Outcome:
        """Return the outcome without its replays."""
        return replace(self, records=())

    def joined(self, other: Outcome) -> Outcome:
        """Return one outcome for two parts of a file."""
        states = {self.state, other.state}
        return Outcome(
            self.task,
            READ if READ in states else self.state,
            Counter(self.problems) + Counter(other.problems),
            self.tallies + other.tallies,
            self.records + other.records,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as plain values."""
        return {
            **asdict(self.task),
            "state": self.state,
            "problems": dict(self.problems),
            "tallies": [one.to_dict() for one in self.tallies],
            "records": [[record.to_dict() for record in one] for one in self.records],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Outcome:
        """Read what `to_dict` wrote.

        Raises:
            ValueError: If it is broken or of another version.
        """
        try:
            return cls(
                Task(*(values[name] for name in _TASK)),
                values["state"],
                values["problems"],
                tuple(map(Tally.from_dict, values["tallies"])),
                tuple(tuple(map(Record.from_dict, one)) for one in values["records"]),
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"broken outcome: {error}") from error


_PART = 1 << 20
"""Bytes of an archive that make a task of their own."""
_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.zst", ".zip")


def tasks_of(paths: Sequence[Path]) -> list[Task]:
    """Return what there is to read under paths, or where the agents on this machine keep theirs.

    Raises:
        OSError: If a path is not there.
    """
    tasks = []
    for path in find(paths or homes()):
        size = path.stat().st_size
        parts = max(1, min(size // _PART, 64)) if path.name.endswith(_ARCHIVES) else 1
        tasks += [Task(str(path), part, parts, size) for part in range(parts)]
    return tasks


def work_to_keep(sweep: Sweep, task: Task) -> dict[str, Any]:
    """Do a task; return the outcome as plain values."""
    return work(sweep, task).to_dict()


def work(sweep: Sweep, task: Task) -> Outcome:
    """Read, count and replay what a task names; whatever fails in it is told in the outcome.

    Args:
        sweep: What its sessions are replayed under.
        task: The task.
    """
    problems = Problems()
    try:
        found = read_file(Path(task.path), problems, task.part, task.parts)
    except OSError as error:
        return Outcome(task, UNREADABLE, {error.strerror or "cannot be read": 1})
    if found is None:
        return Outcome(task, FOREIGN, {})
    tallies, records = [], []
    for session in found:
        try:
            prepared = prepare(session)
        except RequestError:
            problems.note(_NO_MESSAGE)
            continue
        tallies.append(tally(task.path, prepared, sweep.prices))
        records.append(tuple(sweep.records(task.path, prepared)))
    state = READ if tallies else EMPTY
    return Outcome(task, state, dict(problems.counts), tuple(tallies), tuple(records))
