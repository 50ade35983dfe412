"""What readers make of saved sessions adds up to what a short script of another way counts."""

from pathlib import Path

import pytest
from independent_sums import NAMES, WAYS
from saved_samples import SAMPLES

from cuesta.harnesses.saved.base import BEGINNING, Problems
from cuesta.harnesses.saved.files import find, read_file
from cuesta.harnesses.saved.registry import recognise
from cuesta.harnesses.saved.sums import Sums, sums

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "sessions"
FOLDERS = ("claude-code", "gemini-cli", "pi")


def figures(total):
    billed = total.billed
    return (
        total.calls, total.turns, total.human, total.tools, billed.input, billed.cache_read,
        billed.cache_write, billed.output,
    )  # fmt: skip


def expected(harness, content):
    found = WAYS[harness](content)
    return tuple(found[name] for name in NAMES)


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_add_up(name):
    content, problems = SAMPLES[name](), Problems()
    harness = name.split()[0]
    saved = recognise(content[:BEGINNING])
    assert saved.harness == harness
    total = sum(map(sums, saved.read(content, problems)), Sums())
    assert figures(total) == expected(harness, content)
    assert not problems.counts


@pytest.mark.parametrize("harness", FOLDERS)
def test_real_sessions_add_up(harness):
    if not (DATA / harness).is_dir():
        pytest.skip(f"no saved sessions at {DATA / harness}")
    files = [file for path in find([DATA / harness]) for file in read_file(path)]
    assert files
    for file in files:
        assert (file.harness, file.reason, dict(file.problems)) == (harness, "", {})
        total = sum(map(sums, file.sessions), Sums())
        assert figures(total) == expected(harness, file.path.read_bytes()), file.path
