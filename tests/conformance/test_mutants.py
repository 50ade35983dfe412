"""The table of mutants fits the sources, and its runner catches what is caught cheaply.

`make mutants` runs them all.
"""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUNNER = ROOT / "scripts" / "mutants.py"
MUTANTS = tomllib.loads(RUNNER.with_suffix(".toml").read_text("utf-8"))["mutant"]


def run(*arguments):
    return subprocess.run(
        [sys.executable, RUNNER, *arguments], capture_output=True, text=True, check=False,
        timeout=120, cwd=ROOT,
    )  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant["name"])
def test_a_row_of_the_table_fits_the_sources(mutant):
    source = (ROOT / "src" / "cuesta" / mutant["file"]).read_text("utf-8")
    assert source.count(mutant["old"]) == 1
    changed = source.replace(mutant["old"], mutant["new"])
    compile(changed, mutant["file"], "exec")
    assert changed != source
    assert len(mutant["name"]) <= 24
    assert len(mutant["rule"]) <= 78
    assert mutant.get("wires") or mutant.get("tests")
    assert all((ROOT / test.partition("::")[0]).exists() for test in mutant.get("tests", ()))


def test_names_are_unique_and_there_are_enough():
    names = [mutant["name"] for mutant in MUTANTS]
    assert len(set(names)) == len(names) >= 20


def test_the_runner_catches_one_by_a_history_and_one_by_a_test():
    done = run("--only", "last-message-dropped", "--only", "chain-forgets")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "history anthropic:0" in done.stdout
    assert "core/test_chain.py::" in done.stdout
    assert "0 survive" in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


def test_a_mutant_that_does_not_exist_is_no_success():
    assert run("--only", "nothing").returncode == 1
