"""Files of saved sessions: read, counted and replayed, one task a file or a part of an archive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from cuesta.core.errors import RequestError
from cuesta.harnesses.saved.base import Problems
from cuesta.harnesses.saved.files import SavedFile, find, read_file
from cuesta.harnesses.saved.repeats import Repeats, keys_of
from cuesta.lab.prepared import prepare
from cuesta.lab.records import Record
from cuesta.lab.sweep import Sweep
from cuesta.lab.tally import Tally, tally

_NO_MESSAGE = "a session with a message that is none in its wire"
_PART = 1 << 20
"""Bytes of an archive that make a task of their own."""
_MOST_PARTS = 64
_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.zst")


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


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a task.

    Attributes:
        task: The task.
        tallies: The sessions, counted.
        records: What their replays came to; one tuple a session, one record a variant.
        problems: What could not be read, counted by reason.
        others: Files and members of archives without a session, and why.
        keys: What each session's calls are known by (see `Repeats`).
    """

    task: Task
    tallies: tuple[Tally, ...] = ()
    records: tuple[tuple[Record, ...], ...] = ()
    problems: Mapping[str, int] = field(default_factory=dict)
    others: tuple[tuple[str, str], ...] = ()
    keys: tuple[tuple[bytes, ...], ...] = ()

    def without_records(self) -> Outcome:
        """Return the outcome without its replays."""
        return replace(self, records=(), keys=())

    def joined(self, other: Outcome) -> Outcome:
        """Return one outcome for two parts of a file."""
        return Outcome(
            self.task,
            self.tallies + other.tallies,
            self.records + other.records,
            Counter(self.problems) + Counter(other.problems),
            self.others + other.others,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as plain values."""
        return {
            "task": asdict(self.task),
            "tallies": [one.to_dict() for one in self.tallies],
            "records": [[record.to_dict() for record in one] for one in self.records],
            "problems": dict(self.problems),
            "others": [list(one) for one in self.others],
            "keys": [[key.hex() for key in one] for one in self.keys],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Outcome:
        """Read what `to_dict` wrote.

        Raises:
            ValueError: If it is broken or of another version.
        """
        try:
            return cls(
                Task(**values["task"]),
                tuple(map(Tally.from_dict, values["tallies"])),
                tuple(tuple(map(Record.from_dict, one)) for one in values["records"]),
                values["problems"],
                tuple((path, reason) for path, reason in values["others"]),
                tuple(tuple(map(bytes.fromhex, one)) for one in values["keys"]),
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"broken outcome: {error}") from error


def tasks_of(paths: Iterable[Path]) -> list[Task]:
    """Return what there is to read under paths.

    Raises:
        FileNotFoundError: If there is nothing at one of them.
    """
    paths = list(paths)
    for path in paths:
        path.stat()
    tasks = []
    for path in find(paths):
        size = path.stat().st_size
        parts = min(size // _PART + 1, _MOST_PARTS) if path.name.endswith(_ARCHIVES) else 1
        tasks += [Task(str(path), part, parts, size) for part in range(parts)]
    return tasks


def work_to_keep(sweep: Sweep, task: Task) -> dict[str, Any]:
    """Do a task; return the outcome as plain values."""
    return work(sweep, task).to_dict()


def work(sweep: Sweep, task: Task, repeats: Repeats | None = None) -> Outcome:
    """Read, count and replay what a task names; whatever fails in it is told in the outcome.

    Args:
        sweep: What its sessions are replayed under.
        task: The task.
        repeats: Calls that were seen in earlier files, which are left out; None: nothing is known.
    """
    doing = _Doing(sweep, repeats)
    for saved in read_file(Path(task.path), task.part, task.parts):
        doing.take(saved)
    return Outcome(
        task, tuple(doing.tallies), tuple(doing.records), doing.problems.counts,
        tuple(doing.others), tuple(doing.keys),
    )  # fmt: skip


def without_repeats(sweep: Sweep, outcome: Outcome, repeats: Repeats) -> Outcome:
    """Return an outcome without the calls that an earlier file has too, done again if it must be.

    Args:
        sweep: What its sessions are replayed under.
        outcome: The outcome.
        repeats: The calls of earlier files; this one's are added.
    """
    if any(map(repeats.known, outcome.keys)):
        return work(sweep, outcome.task, repeats)
    for keys in outcome.keys:
        repeats.add(keys)
    return outcome


@dataclass(slots=True)
class _Doing:
    """What came of a task so far."""

    sweep: Sweep
    repeats: Repeats | None
    tallies: list[Tally] = field(default_factory=list)
    records: list[tuple[Record, ...]] = field(default_factory=list)
    problems: Problems = field(default_factory=Problems)
    others: list[tuple[str, str]] = field(default_factory=list)
    keys: list[tuple[bytes, ...]] = field(default_factory=list)

    def take(self, saved: SavedFile) -> None:
        """Count and replay the sessions of a file, or of a member of an archive."""
        name = f"{saved.path}::{saved.member}" if saved.member else str(saved.path)
        self.problems.counts.update(saved.problems)
        if saved.reason:
            self.others.append((name, saved.reason))
        for read in saved.sessions:
            session = read if self.repeats is None else self.repeats.first(read)
            try:
                prepared = prepare(session)
            except RequestError:
                self.problems.note(_NO_MESSAGE)
                continue
            self.tallies.append(tally(name, prepared, self.sweep.prices))
            if records := self.sweep.records(name, prepared):
                self.records.append(tuple(records))
            self.keys.append(tuple(keys_of(session)))
