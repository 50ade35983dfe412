"""Specs and means for the tests of experiments."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

from cuesta.cli.gate import open_gate
from cuesta.core.errors import CuestaError
from cuesta.experiments.matrix import Means
from cuesta.experiments.spec import Spec, parse
from cuesta.jobs.executors import Here
from cuesta.store.prices import price_book
from cuesta.testing.crew import ScriptedCrew

OWN = """
[limits]
steps = 30
minutes = 5

[[matrix]]
scaffold = "own"
task-set = "own"
models = ["claude-opus-5-5"]
strategies = ["keep_all"]
tasks = ["cent-rounder"]
"""


def own(**changes: str) -> Spec:
    """Return a spec of one run; `changes` replace the lines of those keys, or are added."""
    lines = OWN.splitlines()
    for key, value in changes.items():
        line = f"{key.replace('_', '-')} = {value}"
        places = [i for i, one in enumerate(lines) if one.startswith(f"{key.replace('_', '-')} =")]
        if places:
            lines[places[0]] = line
        else:
            lines.append(line)
    return parse("\n".join(lines), "a test's spec", "small")


def means(folder: Path, **changes: object) -> Means:
    """Return what runs are made with in this process."""
    usual = {
        "open_gate": open_gate,
        "crew": ScriptedCrew(),
        "book": price_book(None),
        "executor": Here(),
        "folder": folder,
    }
    return Means(**{**usual, **changes})


@contextmanager
def no_gate(_options: object):
    """Stand for a proxy that cannot be started."""
    raise CuestaError("no port is free")
    yield
