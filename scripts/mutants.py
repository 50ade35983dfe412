"""Break one rule at a time and see whether the tests notice.

Usage: python scripts/mutants.py [--list] [--only NAME]

Each mutant of `mutants.toml` is a copy of `src/` with one text replaced. First the judges of
generated histories look at it, on the wires where the rule shows; if they find nothing, the tests
that guard the rule do. What caught a mutant is run once more on the sources as they are, where it
must find nothing. The exit status is 1 if a mutant survives.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = Path(__file__).with_suffix(".toml")
HISTORIES = 50
"""Judged on each wire ..."""
SEEDS = 1000
"""... among so many, which `make conformance` finds valid without a mutant."""
AT_ONCE = 2
LIMIT_S = 240
WIDTH = 80
STRICT_SERVERS = {"qwen": "qwen3-coder", "mistral": "mistral-large"}
"""Servers of Chat Completions whose templates refuse what others take, and a model of each."""


class JudgingError(Exception):
    """A mutant that could not be judged: the table or a test is wrong."""


@dataclass(frozen=True)
class Mutant:
    """One change that breaks one rule.

    Attributes:
        name: What it does wrong.
        rule: What it breaks, with the invariant's number where it is one of ARCHITECTURE.md's.
        file: Under `src/cuesta`.
        old: A text that stands there once.
        new: What takes its place.
        wires: Where generated histories can show it, or none; strict servers count as wires.
        needs: Features that a history must have drawn to show it.
        tests: The files that guard the rule beside them, or none.
    """

    name: str
    rule: str
    file: str
    old: str
    new: str
    wires: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()

    def write(self, folder: Path) -> None:
        """Write the changed sources into an empty folder.

        Raises:
            JudgingError: If the old text does not stand in its file once.
        """
        shutil.copytree(
            ROOT / "src", folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
        )
        path = folder / "cuesta" / self.file
        source = path.read_text("utf-8")
        if source.count(self.old) != 1:
            raise JudgingError(f"{self.name}: the old text does not stand once in {self.file}")
        path.write_text(source.replace(self.old, self.new), "utf-8")


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant.

    Attributes:
        mutant: The mutant.
        caught_by: A history or a test; empty: it survived, or could not be judged.
        seconds: How long it took.
        trouble: Why it could not be judged, or empty.
    """

    mutant: Mutant
    caught_by: str
    seconds: float
    trouble: str = ""


def table() -> list[Mutant]:
    """Read the table of mutants."""
    rows = tomllib.loads(TABLE.read_text("utf-8"))["mutant"]
    return [
        Mutant(**{key: tuple(v) if isinstance(v, list) else v for key, v in row.items()})
        for row in rows
    ]


def judge(mutant: Mutant) -> Verdict:
    """Look at one mutant until something catches it."""
    began = time.monotonic()
    caught = trouble = ""
    with tempfile.TemporaryDirectory() as folder:
        changed = Path(folder)
        try:
            mutant.write(changed)
            caught = _by_histories(mutant, changed) or _by_tests(mutant.tests, changed)
        except JudgingError as error:
            trouble = str(error)
    return Verdict(mutant, caught, time.monotonic() - began, trouble)


def _by_histories(mutant: Mutant, sources: Path) -> str:
    """Name the first history that shows a mutant, or return nothing."""
    cases = [f"{wire}:{seed}" for seed in range(SEEDS) for wire in mutant.wires]
    found = _first_broken(cases, sources, mutant.needs)
    if found and _first_broken([found], ROOT / "src"):
        raise JudgingError(f"history {found} is broken without any mutant")
    return f"history {found}" if found else ""


def _first_broken(cases: Sequence[str], sources: Path, needs: Sequence[str] = ()) -> str:
    if not cases:
        return ""
    run = _python(sources, str(Path(__file__)), "--judge", *cases, "--needs", *needs)
    if run.returncode:
        raise JudgingError(f"the histories end with {run.returncode}:\n{run.stderr[-2000:]}")
    return str(json.loads(run.stdout))


def _by_tests(tests: Sequence[str], sources: Path) -> str:
    """Name the first test that fails on a mutant, or return nothing."""
    found = _first_failed(tests, sources)
    if found and _first_failed([found], ROOT / "src"):
        raise JudgingError(f"{found} fails without any mutant")
    return found.removeprefix("tests/")


def _first_failed(tests: Sequence[str], sources: Path) -> str:
    if not tests:
        return ""
    run = _python(sources, "-m", "pytest", "-x", "-p", "no:cacheprovider", "--tb=no", *tests)
    if run.returncode not in {0, 1}:
        raise JudgingError(f"pytest ends with {run.returncode}:\n{run.stdout[-2000:]}")
    failed = (line for line in run.stdout.splitlines() if line.startswith("FAILED "))
    return next(failed).removeprefix("FAILED ").partition(" - ")[0] if run.returncode else ""


def _python(sources: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program over some sources; what Hypothesis finds there is not for other runs.

    Raises:
        JudgingError: If it takes too long.
    """
    with tempfile.TemporaryDirectory() as notes:
        places = {"PYTHONPATH": str(sources), "HYPOTHESIS_STORAGE_DIRECTORY": notes}
        try:
            return subprocess.run(  # noqa: S603 - this interpreter, and programs of this repository
                [sys.executable, *arguments], capture_output=True, text=True, check=False,
                timeout=LIMIT_S, cwd=ROOT, env={**os.environ, **places},
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise JudgingError(f"no verdict within {LIMIT_S} s") from None


def judge_histories(cases: Iterable[str], needs: Iterable[str]) -> str:
    """Return the first case that Cuesta breaks or fails to plan, or nothing.

    Args:
        cases: `WIRE:SEED` each; of each wire the first `HISTORIES` are judged.
        needs: Names of features; histories that have not drawn them are left out.
    """
    # Imported here: the sources are those that PYTHONPATH names.
    from cuesta.exchange.engine import Engine  # noqa: PLC0415
    from cuesta.exchange.options import CompactionOptions  # noqa: PLC0415
    from cuesta.testing.conformance import SUITS_TEMPLATES, Report, judge_history  # noqa: PLC0415
    from cuesta.testing.driver import Bench  # noqa: PLC0415
    from cuesta.testing.histories import ClientHistory, Feature  # noqa: PLC0415
    from cuesta.testing.simulator import Conditions  # noqa: PLC0415

    wanted = {Feature[name] for name in needs}
    judged: Counter[str] = Counter()
    for case in cases:
        wire, _, seed = case.partition(":")
        conditions = None
        if wire in STRICT_SERVERS:
            conditions = Conditions(template=wire)
            model = STRICT_SERVERS[wire]
            history = ClientHistory(int(seed), SUITS_TEMPLATES, model, wire="openai_chat")
        else:
            history = ClientHistory(int(seed), wire=wire)
        if judged[wire] == HISTORIES or not wanted <= history.drawn:
            continue
        judged[wire] += 1
        report = Report()
        bench = Bench(Engine(CompactionOptions(threshold=8000)))
        judge_history(history, bench, report, conditions=conditions)
        if report.broken or report.failed:
            return case
    return ""


def show(verdict: Verdict) -> None:
    """Print two lines: what caught a mutant, and the rule that it breaks."""
    caught = verdict.caught_by or ("NOT JUDGED" if verdict.trouble else "SURVIVES")
    line = f"{verdict.mutant.name:<24} {verdict.seconds:>4.0f}  {caught}"
    print(line if len(line) <= WIDTH else line[: WIDTH - 1] + "…")
    print(f"  {verdict.mutant.rule}{verdict.trouble and chr(10) + verdict.trouble}", flush=True)


def main() -> int:
    """Judge the mutants and print the table; 1 if any survives."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="only name them")
    parser.add_argument("--only", action="append", metavar="NAME", help="judge this one")
    parser.add_argument("--judge", nargs="+", metavar="WIRE:SEED", help=argparse.SUPPRESS)
    parser.add_argument("--needs", nargs="*", default=[], help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.judge:
        print(json.dumps(judge_histories(chosen.judge, chosen.needs)))
        return 0
    mutants = [m for m in table() if not chosen.only or m.name in chosen.only]
    if chosen.list:
        print("\n".join(f"{m.name:<24} {m.file}\n  {m.rule}" for m in mutants))
        return 0
    return _judge_all(mutants)


def _judge_all(mutants: Sequence[Mutant]) -> int:
    began = time.monotonic()
    print(f"{'mutant':<24} {'s':>4}  caught by")
    survivors = histories = 0
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for verdict in pool.map(judge, mutants):
            show(verdict)
            survivors += not verdict.caught_by
            histories += verdict.caught_by.startswith("history ")
    print(
        f"{len(mutants)} mutants, {histories} caught by generated histories, "
        f"{len(mutants) - survivors - histories} by tests, {survivors} survive; "
        f"{time.monotonic() - began:.0f} s"
    )
    return 1 if survivors or not mutants else 0


if __name__ == "__main__":
    sys.exit(main())
