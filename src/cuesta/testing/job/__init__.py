"""The scripted job: what a model does to find and repair the bug of `stockroom`.

A list of steps with real tool calls, so that straight and compacted runs of it do the same work
and differ in nothing but what was sent. It goes the way such jobs go: reading far more than the fix
needs, one repair that treats the symptom and is taken back, an instruction by the person half-way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cuesta.testing.job.finding import ORIENT, SUSPECT, SYMPTOM
from cuesta.testing.job.repairing import CAUSE, ELSEWHERE
from cuesta.testing.simulator.script import Step


@dataclass(frozen=True, slots=True)
class Job:
    """A task, the steps that a model takes on it, and what the person says meanwhile.

    Attributes:
        task: The person's first message.
        steps: What the model does, one entry an answer; the last one makes no call.
        interjections: Number of steps taken -> what the person adds then.
    """

    task: str
    steps: tuple[Step, ...]
    interjections: Mapping[int, str]


def repair_job() -> Job:
    """Return the job on the project as `Workspace()` lays it out."""
    return Job(
        _TASK,
        (*ORIENT, *SUSPECT, *SYMPTOM, *CAUSE, *ELSEWHERE),
        {len(ORIENT) + len(SUSPECT): _ADDED},
    )


_TASK = (
    "Two tests of this project fail since the breaks were changed to be declared by their start: "
    "customers who order exactly a printed quantity pay too much. Find out why, fix it in the "
    "code, add a test that would have caught it, and check whether the same mistake was made "
    "elsewhere. Tell me at the end what was wrong and what you changed."
)
_ADDED = (
    "One more thing: keep the public function names as they are, other teams import them. "
    "And put a line in CHANGELOG.md under 4.2.1."
)
