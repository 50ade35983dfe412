"""The pure rooms touch no file, socket, process, clock or randomness."""

import hashlib
import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from cuesta.testing.histories import ClientHistory, Feature

_PROBE = Path(__file__).with_name("purity_probe.py")
_FEATURES = frozenset(Feature) - {Feature.EDITS, Feature.REWINDS, Feature.TOOLS_CHANGE}


def _mint(text: str, before: list[dict]) -> str:
    return hashlib.sha256(f"{len(before)} {text}".encode()).hexdigest() * 4


@cache
def _requests() -> str:
    """Conversations of several cliffs on two models, a malformed body, a failing store."""
    found = []
    for seed, model in ((1, "claude-opus-5-5"), (2, "claude-sonnet-4-5")):
        history = ClientHistory(seed, _FEATURES, model, turns=30, scale=2.0)
        while (body := history.request()) is not None:
            found.append([history.path.partition("?")[0], body.decode()])
            history.answer(_mint)
    return json.dumps([["/elsewhere", "x"], ["/v1/messages", "{"], *found])


def _run(*culprit: str, hash_seed: str = "0") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", str(_PROBE), *culprit],
        input=_requests(),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(_source()), "PATH": ""},
    )


def _source() -> Path:
    import cuesta.core  # noqa: PLC0415 - only its place is wanted

    return Path(next(iter(cuesta.core.__path__))).parents[1]


def test_whole_conversations_need_nothing_of_the_world_and_no_order_of_hashes():
    runs = [_run(hash_seed=seed) for seed in ("1", "2")]
    assert [run.stderr for run in runs] == ["", ""]
    one, other = (json.loads(run.stdout) for run in runs)
    assert one == other
    assert one["cliffs"] >= 4
    assert one["entries"] >= 4


@pytest.mark.parametrize(
    ("culprit", "caught"),
    [
        ("file", "open was used"),
        ("folder", "os.listdir was used"),
        ("socket", "socket.__new__ was used"),
        ("process", "os.system was used"),
        ("module", "import was used"),
        ("clock", "time.time was used"),
        ("randomness", "random.random was used"),
        ("entropy", "os.urandom was used"),
    ],
)
def test_the_probe_catches(culprit: str, caught: str):
    run = subprocess.run(
        [sys.executable, str(_PROBE), culprit],
        input='[["/elsewhere", "x"], ["/v1/messages", "{"]]',
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={"PYTHONPATH": str(_source()), "PATH": ""},
    )
    assert run.returncode
    assert caught in run.stderr
