"""What a measurement found, and how it is written down."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure and what it is to reach.

    Attributes:
        what: The quantity, with its unit.
        figure: What was measured; None where it could not be.
        limit: What it is compared with.
        at_least: Whether the figure must not be below the limit, instead of above it.
    """

    what: str
    figure: float | None
    limit: float
    at_least: bool = False

    @property
    def verdict(self) -> str:
        """`reached`, `NOT reached` or `not measured`."""
        if self.figure is None:
            return "not measured"
        good = self.figure >= self.limit if self.at_least else self.figure <= self.limit
        return "reached" if good else "NOT reached"


@dataclass(slots=True)
class Result:
    """One measurement's table, goals and remarks."""

    title: str
    header: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return it as Markdown."""
        parts = [f"## {self.title}", table(self.header, self.rows)] if self.rows else []
        return "\n\n".join([*(parts or [f"## {self.title}"]), *self.notes])


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def goals_table(results: Sequence[Result]) -> str:
    """Return all goals, reached or not."""
    rows = []
    for goal in (goal for result in results for goal in result.goals):
        reach = f"{'at least' if goal.at_least else 'at most'} {number(goal.limit)}"
        figure = "-" if goal.figure is None else number(goal.figure)
        if goal.figure is not None and figure == number(goal.limit):
            figure = f"{goal.figure:.5g}"  # else a reader could not tell the verdict's reason
        rows.append((goal.what, reach, figure, goal.verdict))
    return table(("what", "reach", "figure", "verdict"), rows)


def number(value: float) -> str:
    """Return a figure with about three digits."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.3g}"


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which a share of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def middle(values: Sequence[float]) -> float | None:
    """Return the median, or None of nothing."""
    return median(values) if values else None


def ratios(above: Sequence[float], below: Sequence[float]) -> list[float]:
    """Return the ratios of two columns, paired by repetition."""
    return [a / b for a, b in zip(above, below, strict=True)] if above and below else []


def machine() -> str:
    """Describe the machine in a line: processor, cores, memory, kernel, Python, load."""
    cpu = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return (
        f"{cpu}, {os.cpu_count()} cores, {pages / 2**30:.0f} GiB, {platform.system()} "
        f"{platform.release()}, Python {platform.python_version()}; load average at the start "
        f"{os.getloadavg()[0]:.1f}"
    )


def commit() -> str:
    """Return the commit that is measured."""
    root = Path(__file__).parents[1]

    def git(*words: str) -> str:
        run = subprocess.run(
            ["git", "-C", str(root), *words], capture_output=True, text=True, check=False
        )
        return run.stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "--", "src", "benchmarks/*.py")
    return (git("rev-parse", "--short", "HEAD") or "unknown") + (" with changes" if changed else "")


def document(results: Sequence[Result], about: Sequence[str]) -> str:
    """Return the whole report."""
    date = datetime.now(UTC).strftime("%Y-%m-%d")
    intro = (
        "# Cuesta beside nginx, cliffcompaction and no proxy\n\n"
        "Written by `make bench`; do not edit. Medians of the repetitions; ratios are paired by "
        "repetition, so trust them more than times. `direct` is no proxy, `cliff` is "
        "cliffcompaction 0.1.0. CPU is the proxy's own, from the kernel's books.\n"
    )
    facts = "\n".join(f"- {line}" for line in (f"date: {date}", f"commit: {commit()}", *about))
    goals = f"## Goals\n\n{goals_table(results)}"
    return "\n\n".join([intro + "\n" + facts, goals, *(r.text() for r in results)]) + "\n"
