"""Break one rule at a time and see that the tests notice.

Usage: python scripts/mutants.py [--only NAME] [--list]

Each mutant is a change of a line or two. First generated conversations are judged with it; where
they stay valid, the tests that guard the rule run. A mutant that nobody notices is a hole in the
tests: exit code 1.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mutants_table import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parents[1]
HISTORIES = 40
LIMIT_S = 240


def mutated(mutant: Mutant, folder: Path) -> Path:
    """Copy the sources with the mutant's change in them and return their folder.

    Raises:
        ValueError: If the text to change does not stand there exactly once.
    """
    sources = folder / "src"
    shutil.copytree(ROOT / "src", sources, ignore=shutil.ignore_patterns("__pycache__"))
    file = sources / "cuesta" / mutant.file
    text = file.read_text()
    if text.count(mutant.old) != 1:
        raise ValueError(f"{mutant.name}: the text to change is not once in {mutant.file}")
    file.write_text(text.replace(mutant.old, mutant.new))
    return sources


def run(argv: list[str], sources: Path) -> bool:
    """Run Python over mutated sources; tell whether all is well."""
    env = {**os.environ, "PYTHONPATH": str(sources)}
    try:
        done = subprocess.run(  # noqa: S603 - our own commands
            [sys.executable, *argv],
            cwd=ROOT,
            env=env,
            capture_output=True,
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def catcher(mutant: Mutant) -> str:
    """Return what notices a mutant, or an empty string."""
    with tempfile.TemporaryDirectory() as folder:
        sources = mutated(mutant, Path(folder))
        for wire in mutant.wires:
            if not run(["scripts/conformance.py", str(HISTORIES), wire], sources):
                return f"histories, {wire}"
        for test in mutant.tests:
            if not run(["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", test], sources):
                return test.removeprefix("tests/")
    return ""


def judged(mutant: Mutant) -> tuple[Mutant, str, float]:
    """Return a mutant with what noticed it and how long that took, in seconds."""
    started = time.monotonic()
    return mutant, catcher(mutant), time.monotonic() - started


def main() -> int:
    """Judge the mutants and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="judge the mutant of this name")
    parser.add_argument("--list", action="store_true", help="name the mutants and their rules")
    given = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if given.only in (None, mutant.name)]
    if given.list:
        for mutant in chosen:
            print(f"{mutant.name:<22}{mutant.rule}")
        return 0
    survivors = 0
    with ThreadPoolExecutor(2) as pool:
        for mutant, caught, seconds in pool.map(judged, chosen):
            survivors += not caught
            print(f"{mutant.name:<22}{caught or 'SURVIVES':<50}{seconds:>6.0f}", flush=True)
    print(f"{len(chosen)} mutants, {survivors} of them survive")
    return 1 if survivors or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
