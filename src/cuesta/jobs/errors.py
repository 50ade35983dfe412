"""What may go wrong with many tasks; each error names the task or the setting."""

from __future__ import annotations

from cuesta.core.errors import CuestaError


class TaskError(CuestaError):
    """A task that came to no result; what it raised is the cause.

    Args:
        index: The task's number, from 0 on.
        reason: What happened.
        name: The task's name, where it has one.
    """

    def __init__(self, index: int, reason: str, name: str = "") -> None:
        super().__init__(f"task {name or index}: {reason}")
        self.index = index
        self.reason = reason


class WorkerError(CuestaError):
    """What a task raised in another process.

    Args:
        trace: The traceback there, as text.
    """

    def __init__(self, trace: str) -> None:
        super().__init__(f"in a worker:\n{trace}")


class ResumeError(CuestaError):
    """A folder holds records of another run, or another process is at work in it."""
