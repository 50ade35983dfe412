"""Makes a task's repository, and checks whether the task is done."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from cuesta.core.errors import CuestaError
from cuesta.experiments.own.tasks import OwnTask

TABLES = ("places", "prices", "people", "routes", "stock")
"""The modules that are long and have nothing to do with the bug."""

_ROWS = 56
_SECONDS = 60
_DAY = "2026-01-05T09:00:00Z"
_PYTHON = (sys.executable, "-B", "-E", "-S", "-s")
_WORDS = ("north", "harbour", "mill", "ash", "upper", "stone", "lower", "bridge", "old", "field")
_MARK = re.compile(r"^class |^def ", re.MULTILINE)


def files(task: OwnTask, seed: int) -> dict[str, str]:
    """Return a task's files as they are found.

    Args:
        task: The task.
        seed: Draws the rows of the tables.

    Returns:
        Path, with `/`, to text.
    """
    found = {
        "README.md": _readme(task),
        f"{task.package}/__init__.py": f'"""{task.package}."""\n',
        task.module: task.code,
        "tests/__init__.py": "",
        task.test_path: task.test,
    }
    for name in TABLES:
        found[f"{task.package}/{name}.py"] = "\n".join(_table(task, name, seed)) + "\n"
    return found


def make(task: OwnTask, seed: int, folder: Path) -> None:
    """Write a task's repository, with one commit.

    Raises:
        CuestaError: If git is not there or fails.
        OSError: If a file cannot be written.
    """
    _write(files(task, seed), folder)
    _git(folder, "init", "--quiet", "--initial-branch=main")
    _git(folder, "add", "--all")
    _git(folder, "commit", "--quiet", "--message", "As it is in use")


def resolved(task: OwnTask, seed: int, folder: Path) -> bool:
    """Tell whether a task is done: its own test passes on the code that is there now.

    The test is taken from the task, not from the folder, where it may have been changed.
    """
    with tempfile.TemporaryDirectory(prefix="cuesta-check-") as name:
        copy = Path(name)
        _write(files(task, seed), copy)
        code = folder / task.module
        if not code.is_file():
            return False
        (copy / task.module).write_bytes(code.read_bytes())
        return _passes(copy)


def _passes(folder: Path) -> bool:
    command = [*_PYTHON, "-m", "unittest", "--quiet"]
    try:
        done = subprocess.run(  # noqa: S603 - the task's own check
            command,
            cwd=folder,
            env={"PATH": "/usr/bin:/bin"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def _write(found: Mapping[str, str], folder: Path) -> None:
    for path, text in found.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", newline="\n")


def _git(folder: Path, *words: str) -> None:
    """Run git without the person's own settings, so that every repository is the same."""
    who = {f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER") for part, value in (
        ("NAME", "Cuesta"), ("EMAIL", "cuesta@example.org"), ("DATE", _DAY),
    )}  # fmt: skip
    env = {
        "PATH": os.environ.get("PATH", os.defpath),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        **who,
    }
    try:
        subprocess.run(["git", *words], cwd=folder, env=env, check=True, capture_output=True)  # noqa: S603, S607 - fixed words
    except FileNotFoundError:
        raise CuestaError("git is not installed; the own tasks are git repositories") from None
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip()
        raise CuestaError(f"git {words[0]} failed: {said}") from None


def _readme(task: OwnTask) -> str:
    names = ", ".join(_named(task.code))
    rows = (f"- `{task.package}/{name}.py`: a table, written by the office" for name in TABLES)
    listed = "\n".join(rows)
    return (
        f"# {task.package}\n\n"
        f"The code is in `{task.module}` ({names}); its tests run with `python -m unittest`.\n"
        "The docstrings say what is promised. Where code and docstring differ, the code is "
        f"wrong.\n\n{listed}\n"
    )


def _named(code: str) -> Iterator[str]:
    for match in _MARK.finditer(code):
        yield f"`{code[match.end() :].split('(', maxsplit=1)[0].split(':', maxsplit=1)[0].strip()}`"


def _table(task: OwnTask, name: str, seed: int) -> Iterator[str]:
    """Yield the lines of a module that is a long table."""
    rng = random.Random(f"{task.name} {name} {seed}")  # noqa: S311 - rows of a toy table, no secret
    yield f'"""The {name} that the office keeps. Written by a program; do not edit."""'
    yield ""
    yield f"{name.upper()} = ("
    for number in range(_ROWS):
        words = " ".join(rng.sample(_WORDS, 3))
        figures = ", ".join(str(rng.randint(10, 99_999)) for _ in range(3))
        yield f'    ("{name[:2].upper()}-{number:04}", "{words}", {figures}),'
    yield ")"
