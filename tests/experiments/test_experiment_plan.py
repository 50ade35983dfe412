"""`--dry-run` of every shipped spec: runs, calls and cost, by hand; what is missing is told."""

from __future__ import annotations

import json

import pytest

from cuesta.cli.experiment import main as experiment
from cuesta.cli.experiment_list import main as list_main
from cuesta.cli.experiment_run import main
from cuesta.core.errors import ConfigError
from cuesta.experiments.matrix import check
from cuesta.experiments.spec import load, shipped

TOKENS = 1_000_000
# name -> runs, calls at most
GOLDEN = {
    "claude-code": (89 * 3 * 3, 89 * 3 * 3 * 250),
    "kernelbench": (50 * (2 * 2 + 1 + 1), 50 * 6 * 400),
    "mini-swe-agent": (500 * (5 * 4 + 2), 500 * 22 * 250),
    "mini-swe-agent-vllm": (500 * 4, 500 * 4 * 250),
    "openhands": (500 * 2 * 2, 500 * 4 * 250),
    "own": (6 * 6 * 2, 12 * (4 + 2 * 2) * 30),
    "rollouts-swe-bench": (500 * 5 * 2 * 3, 500 * 30 * 250),
    "rollouts-terminal-bench": (89 * 3 * (2 + 4), 89 * 18 * 250),
    "strategies-kernelbench": (50 * 4, 50 * (2 + 2 * 2) * 200),
    "strategies-swe-bench": (500 * 2 * 5, 500 * 2 * (3 + 2 * 2) * 250),
    "terminus-2": (89 * 3 * (4 + 1 + 6), 89 * 33 * 250),
}


def planned(capsys, name: str, *more: str):
    assert main([name, "--dry-run", *more]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("name", GOLDEN)
def test_no_figure_runs_into_the_next(capsys, name):
    runs, calls = GOLDEN[name]
    line = next(row for row in planned(capsys, name).splitlines() if row.startswith("all "))
    assert line.split()[1:3] == [f"{runs:,}", f"{calls:,}"]


def test_every_shipped_spec_has_golden_numbers():
    assert set(GOLDEN) == set(shipped())


@pytest.mark.parametrize("name", GOLDEN)
def test_runs_and_calls_of_a_shipped_spec(capsys, name):
    plan = json.loads(planned(capsys, name, "--json"))
    assert (plan["runs"], plan["calls"]) == GOLDEN[name]
    assert plan["commands"]


@pytest.mark.parametrize("name", GOLDEN)
def test_a_plan_fits_eighty_columns_and_shows_no_secret(capsys, monkeypatch, name):
    monkeypatch.setenv("ZAI_API_KEY", "sk-very-secret")
    monkeypatch.setenv("MOONSHOT_API_KEY", "sk-very-secret")
    text = planned(capsys, name)
    assert max(map(len, text.splitlines())) <= 80
    assert "sk-very-secret" not in text


def test_what_it_costs_at_most_is_every_call_with_a_full_window(capsys):
    (row, *_) = json.loads(planned(capsys, "claude-code", "--json"))["rows"]
    calls = 89 * 3 * 250  # GLM 5.3 Flash: 0.15 in, 0.50 out; answers of 4,000 tokens
    assert row["dollars_at_most"] == pytest.approx(calls * (200_000 * 0.15 + 4_000 * 0.50) / TOKENS)
    assert row["dollars_in_the_paper"] == pytest.approx(89 * 3 * 0.21)
    assert row["dollars_if_cached"] < row["dollars_at_most"]


def test_a_model_without_a_price_costs_unknown_and_never_nothing(capsys, tmp_path):
    spec = tmp_path / "house.toml"
    spec.write_text(
        '[models.house]\nbase-url = "http://127.0.0.1:1/v1"\n[[matrix]]\nscaffold = "own"\n'
        'task-set = "own"\nmodels = ["house"]\n'
    )
    plan = json.loads(planned(capsys, str(spec), "--json"))
    assert plan["rows"][0]["dollars_at_most"] is None
    assert "unknown" in planned(capsys, str(spec))


def test_what_is_missing_is_told_with_how_to_get_it(capsys, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("ZAI_API_KEY", raising=False)
    text = planned(capsys, "claude-code")
    missing = text[text.index("What is missing here:") :]
    for words in (
        "`harbor`",
        "pip install 'cuesta[harbor]'",
        "Docker",
        "export ZAI_API_KEY=...",
    ):
        assert words in missing
    with pytest.raises(ConfigError, match="cannot be run here") as error:
        check(load("claude-code"))
    assert "pip install 'cuesta[harbor]'" in str(error.value)


def test_one_cell_of_a_table_needs_and_costs_only_its_own(capsys, monkeypatch):
    monkeypatch.delenv("ZAI_API_KEY", raising=False)
    text = planned(capsys, "terminus-2", "--only", "kimi-k2.6,cliff,16K")
    assert "ZAI_API_KEY" not in text
    only = ("--only", "kimi-k2.6,cliff,16K,seed=1,fix-git", "--json")
    plan = json.loads(planned(capsys, "terminus-2", *only))
    assert [(row["threshold"], row["runs"]) for row in plan["rows"]] == [(16_000, 1)]
    assert plan["rows"][0]["dollars_in_the_paper"] == pytest.approx(0.19)


@pytest.mark.parametrize("words", ["gone", "seed=9", "cliff,keep_all", "slug-maker,page-counter"])
def test_words_that_are_true_of_no_run_are_told(words):
    with pytest.raises(ConfigError, match="no run of own is"):
        check(load("own"), words.split(","))


@pytest.mark.parametrize("verb", [[], ["--help"]])
def test_the_verbs_of_experiments_are_shown_within_eighty_columns(capsys, verb):
    assert experiment(verb) == 0
    text = capsys.readouterr().out
    assert "cuesta experiment run own" in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("verb", ["run", "list"])
def test_the_help_of_a_verb_teaches_within_eighty_columns(capsys, verb):
    with pytest.raises(SystemExit):
        experiment([verb, "--help"])
    text = capsys.readouterr().out
    assert f"  cuesta experiment {verb}" in text
    assert max(map(len, text.splitlines())) <= 80


def test_an_unknown_verb_is_guessed():
    with pytest.raises(ConfigError, match="did you mean `cuesta experiment run`"):
        experiment(["rum"])


def test_a_model_without_an_address_on_the_agents_wire_is_missing_it(tmp_path):
    spec = tmp_path / "claude.toml"
    spec.write_text(
        '[[matrix]]\nscaffold = "terminus-2"\ntask-set = "terminal-bench-2.0"\n'
        'models = ["claude-opus-5-5"]\n'
    )
    with pytest.raises(ConfigError, match="where claude-opus-5-5 speaks OpenAI's Chat"):
        check(load(str(spec)))


def test_kernels_say_that_they_are_not_there_yet(capsys):
    assert "`cuesta kernels` is not there yet" in " ".join(planned(capsys, "kernelbench").split())


def test_the_list_names_every_shipped_spec_and_shows_one_to_be_changed(capsys):
    assert list_main([]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    assert all(f"{name}  (" in text for name in GOLDEN)
    assert list_main(["--show", "own"]) == 0
    assert capsys.readouterr().out == shipped()["own"]
