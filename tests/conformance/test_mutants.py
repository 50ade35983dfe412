"""The table of mutants fits the sources, and a mutant is noticed."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from mutants_table import MUTANTS  # noqa: E402 - found by the line above


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_text_to_change_stands_there_once(mutant):
    text = (ROOT / "src/cuesta" / mutant.file).read_text()
    assert text.count(mutant.old) == 1
    assert mutant.new != mutant.old


def test_there_are_enough_of_them_and_most_are_for_the_histories():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 20
    assert sum(bool(mutant.wires) for mutant in MUTANTS) >= 12
    assert all(mutant.wires or mutant.tests for mutant in MUTANTS)


def test_a_mutant_is_noticed():
    argv = [sys.executable, "scripts/mutants.py", "--only", "wires-share"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "core/test_chain.py" in done.stdout
