"""What a run needs on this machine, whether it is there, and how to get it."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec

_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Need:
    """One thing that a run needs.

    Attributes:
        what: In words.
        there: Whether it was found.
        how: How to get it.
    """

    what: str
    there: bool
    how: str


def key(variable: str) -> Need:
    """Return the need of a provider's key in the environment."""
    return Need(
        f"a key of the models' provider in {variable}",
        bool(os.environ.get(variable)),
        f"export {variable}=...",
    )


def package(module: str, requirement: str) -> Need:
    """Return the need of a Python package beside Cuesta."""
    return Need(
        f"the package {requirement}",
        find_spec(module) is not None,
        f"pip install '{requirement}'",
    )


def program(name: str, how: str) -> Need:
    """Return the need of a program on the PATH."""
    return Need(f"the program `{name}`", shutil.which(name) is not None, how)


def docker() -> Need:
    """Return the need of a Docker daemon that answers."""
    return Need(
        "Docker, running",
        _docker_answers(),
        "install it (https://docs.docker.com/engine/install/) and start it; `docker ps` must work",
    )


@functools.cache
def _docker_answers() -> bool:
    found = shutil.which("docker")
    if found is None:
        return False
    command = [found, "version", "--format", "{{.Server.Version}}"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)  # noqa: S603 - a fixed command
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
