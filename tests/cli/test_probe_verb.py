"""`cuesta probe`, from files to tables that fit the screen."""

import json
import sys
from pathlib import Path

import pytest

from cuesta.cli.main import main
from cuesta.cli.text import cells

sys.path.append(str(Path(__file__).parents[1] / "lab"))

from made_sessions import trajectory


@pytest.fixture
def folder(tmp_path):
    for seed in (1, 2, 3):
        text = trajectory(seed, turns=10 * seed, model="claude-sonnet-4-5")
        (tmp_path / f"made-{seed}.traj.json").write_text(text)
    return tmp_path


@pytest.fixture
def run(capsys):
    def run(*words, status=0):
        assert main(["probe", *map(str, words)]) == status
        return capsys.readouterr()

    return run


def test_the_tables_fit_the_screen_and_name_bounds_and_controls(run, folder):
    out = run(folder, "--threshold", "4K,8K", "--strategy", "cliff,sliding_window").out
    assert max(map(cells, out.splitlines())) <= 80
    for name in (
        "keep_all",
        "cliff paper",
        "cliff default",
        "head only",
        "cut blindly",
        "shuffled",
    ):
        assert name in out
    assert "too few to tell strategies apart" in " ".join(out.split())


def test_the_figures_are_the_same_each_time_and_in_order(run, folder):
    words = (folder, "--threshold", "4K", "--json")
    told = json.loads(run(*words).out)
    assert told == json.loads(run(*words).out)
    ((name, figures),) = told["harnesses"].items()
    assert name == "mini-swe-agent"
    rates = {
        (row["strategy"], row["profile"]): row["lost_per_100_calls"] for row in figures["rows"]
    }
    most = rates["head only", ""]
    assert rates["keep_all", ""] == 0
    assert all(0 <= rate <= most for rate in rates.values())
    assert most <= figures["uses_per_100_calls"]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("--threshold", "auto"), "no automatic threshold"),
        (("--threshold", "12"), "at least 1000"),
        (("--strategy", "clif"), "clif"),
        (("--resume", "x"), "unrecognized arguments: --resume"),
    ],
)
def test_mistakes_are_named(run, folder, words, hint):
    assert hint in " ".join(run(folder, *words, status=2).err.split())


def test_a_folder_without_sessions_is_an_error(run, tmp_path):
    (tmp_path / "notes.md").write_text("# Nothing\n")
    assert "no saved session" in run(tmp_path, status=1).err


def test_the_help_teaches(capsys):
    with pytest.raises(SystemExit):
        main(["probe", "--help"])
    out = capsys.readouterr().out
    assert "cuesta probe runs/ --threshold 16K,32K" in out
    assert max(map(len, out.splitlines())) <= 80
