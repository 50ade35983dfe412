"""`cuesta experiment report`: what it prints, writes, and says where there is nothing."""

import json
from pathlib import Path

import pytest

from cuesta.cli import experiment_report
from cuesta.core.errors import ConfigError
from cuesta.core.prices import Price
from cuesta.core.usage import Usage
from cuesta.experiments.record import DONE, Calls, Cell, Record

_STRATEGIES = (
    ("keep_all", 0), ("cliff", 32_000), ("cliff", 16_000), ("cliff", 8_000),
    ("sliding_window", 16_000), ("micro_summary", 16_000),
)  # fmt: skip


def _record(strategy: str, threshold: int, seed: int, task: str, model: str) -> Record:
    prompts = (4_000, 9_000 + 100 * seed, 5_000, 15_000)
    usage, price = Usage(24_000 + 100 * seed, 9_000, output=400), Price(1, 4, 0.1, 1, 1)
    return Record(
        spec="s", basis="b", cell=Cell("own", model, strategy, threshold, seed, "own", task),
        window=200_000, resolved=(seed + len(task)) % 2 == 0, end=DONE, reason="", steps=4,
        usage=usage, asked=Usage(), perfect=usage, billed_cost=1.25, perfect_cost=price.cost(usage),
        seconds=65.0 + seed, cliffs=(2,), cliffs_told=True,
        calls=Calls(prompts, (0,) * 4, (0,) * 4, (100,) * 4, (0.0,) * 4, (False,) * 4, "rRet"),
        price=price,
    )  # fmt: skip


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "own"
    folder.mkdir()
    records = [
        _record(*setting, seed, task, model)
        for setting in _STRATEGIES
        for seed in (0, 1)
        for task in ("one", "four")
        for model in ("kimi-k2.6", "a-model-with-a-name-that-is-longer-than-any-terminal-is-wide")
    ]
    lines = (json.dumps({"record": record.to_dict()}) for record in records)
    (folder / "records.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def test_it_prints_every_table_within_80_columns(results: Path, capsys) -> None:
    assert experiment_report.main([str(results)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    for number in (2, 3, 4, 6, 8, 10, 11, 13):
        assert any(line.startswith(f"Table {number}.") for line in lines)
    assert any(line.startswith("Runs, and early ends") for line in lines)
    assert (
        "  cliff             50.0% $0.027    50.0% $0.027    50.0% $0.027    50.0% $0.027" in lines
    )
    assert (
        "    sd               0.0%  0.000     0.0%  0.000     0.0%  0.000     0.0%  0.000" in lines
    )


def test_json_holds_the_tables_with_their_spread(results: Path, capsys) -> None:
    assert experiment_report.main([str(results), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["table"] for one in told["tables"]] == [
        "2",
        "3",
        "4",
        "6",
        "8",
        "10",
        "11",
        "13",
        "",
    ]
    (cell, *_) = told["tables"][0]["blocks"][0]["rows"][0]["cells"]
    assert (cell["n"], cell["mean"]) == (2, 0.5)
    assert told["notes"] == []


def test_it_writes_page_and_figures(results: Path, tmp_path: Path, capsys) -> None:
    pytest.importorskip("vl_convert", reason="figures are drawn by cuesta[lab]")
    page, figures = tmp_path / "r.html", tmp_path / "figures"
    assert (
        experiment_report.main([str(results), "--html", str(page), "--figures", str(figures)]) == 0
    )
    assert page.read_text().startswith("<!doctype html>")
    assert {path.name.split("-")[1] for path in figures.iterdir()} == {"1", "4", "5", "6"}
    assert "page:" in capsys.readouterr().err


def test_it_says_where_results_are_wanted(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no results here"):
        experiment_report.main([str(tmp_path)])
    with pytest.raises(ConfigError, match="which results"):
        experiment_report.main([])
    with pytest.raises(ConfigError, match="neither a file nor the name"):
        experiment_report.main(["no-such-spec"])
