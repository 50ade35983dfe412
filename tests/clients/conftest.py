"""Where the real agent programs are, and how a test says that one is not here."""

import os
import platform
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".clients" / "node_modules"


def program(name, *places):
    """Return a client's executable, or skip with the reason."""
    for place in places:
        if (FOLDER / place).exists():
            return FOLDER / place
    pytest.skip(f"{name} is not installed ({platform.machine()}): run `make clients`")


def program_of(name, folder, file):
    """Return an executable of a Python package's own environment, or skip with the reason."""
    found = ROOT / ".clients" / "venvs" / folder / "bin" / file
    if found.exists():
        return found
    pytest.skip(f"{name} is not installed: run `sh scripts/install-clients --python`")


@pytest.fixture
def home(tmp_path):
    """Give an empty HOME and a working folder in it."""
    (tmp_path / "work").mkdir()
    return tmp_path


@pytest.fixture
def environment(home):
    """Give the environment of a fresh account."""
    return {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT / "src"),
        "TERM": "dumb",
        "LANG": "C.UTF-8",
        "XDG_STATE_HOME": str(home / "state"),
        "XDG_CONFIG_HOME": str(home / "config"),
    }


@pytest.fixture
def cuesta():
    """Return the `cuesta` command."""
    found = shutil.which("cuesta", path=str(Path(os.sys.executable).parent))
    assert found, "the package is not installed beside this Python"
    return found
