"""`cuesta replay` and `cuesta sessions`, from files to a table that fits the screen."""

import csv
import json
import sys
import tarfile
from pathlib import Path

import pytest
from cli_support import cuesta

from cuesta.cli.main import main
from cuesta.cli.text import cells

sys.path.append(str(Path(__file__).parents[1] / "lab"))

from made_sessions import trajectory

_MODEL = "claude-sonnet-4-5"


@pytest.fixture
def folder(tmp_path):
    """Three sessions, a file of something else, and an empty one."""
    sessions = tmp_path / "runs"
    sessions.mkdir()
    for seed in (1, 2, 3):
        text = trajectory(seed, turns=10 * seed, model=_MODEL)
        (sessions / f"made-{seed}.traj.json").write_text(text)
    (sessions / "notes.md").write_text("# Nothing of ours\n")
    (sessions / "nothing.jsonl").write_text("")
    return sessions


@pytest.fixture
def run(capsys):
    def run(*words, status=0):
        assert main([str(word) for word in words]) == status
        return capsys.readouterr()

    return run


def figures(run, *words):
    return json.loads(run("replay", *words, "--json").out)


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def row(told, strategy, threshold=0):
    variants = (one for one in told["rows"] if one["variant"]["strategy"] == strategy)
    return next(one for one in variants if one["variant"]["threshold"] == threshold)


def test_the_table_fits_the_screen_and_names_every_strategy(run, folder):
    strategies = "cliff,sliding_window"
    out = run("replay", folder, "--strategy", strategies, "--threshold", "4K,8000", "--files").out
    assert max(map(cells, out.splitlines())) <= 80
    lines = [line.split() for line in out.splitlines()]
    for strategy in ("cliff", "sliding_window"):
        assert [one[1] for one in lines if one[:1] == [strategy]] == ["4K", "8K"] * 2
    assert sum(one[:1] == ["keep_all"] for one in lines) == 2
    assert sum(one[:2] == ["as", "billed"] for one in lines) == 2
    assert "keeps the recorded steps" in out
    assert "`cuesta tune`" in out


def test_what_was_read_is_told_and_what_was_not_is_named(run, folder):
    out = run("replay", folder, "--files").out
    made = next(line.split() for line in out.splitlines() if "made-2.traj.json" in line)
    assert made[1:6] == ["1", "20", "20", "1", "20"]
    assert "3 sessions (3 mini-swe-agent)" in out
    joined = " ".join(out.split())
    assert "without a session (no format that is known): " in joined
    assert "without a session (it is empty): " in joined
    assert "notes.md" in joined
    assert "nothing.jsonl" in joined


def test_json_holds_the_same_and_is_the_same_each_time(run, folder):
    told = figures(run, folder, "--threshold", "4K")
    assert told == figures(run, folder, "--threshold", "4K")
    assert told["v"] == 1
    assert list(told) == ["v", "read", "unpriced", "rows"]
    assert told["read"]["calls"] == 60
    assert told["read"]["files"] == 5
    kept, cliff = row(told, "keep_all"), row(told, "cliff", 4_000)
    assert kept["engine"]["change"] == 0
    change = cliff["engine"]["cost"] / kept["engine"]["cost"] - 1
    assert cliff["engine"]["change"] == pytest.approx(change)
    assert cliff["cliffs"] > 0
    assert cliff["mean_peak"] < kept["mean_peak"]
    assert row(told, "recorded")["billed"]["usage"]["output"] == 60 * 30


def test_more_workers_and_parts_of_an_archive_come_to_the_same(run, folder, tmp_path):
    archive = tmp_path / "runs.tar"
    with tarfile.open(archive, "w") as packed:
        packed.add(folder, "runs")
    wanted = figures(run, folder, "--threshold", "4K")
    for told in (
        figures(run, folder, "--threshold", "4K", "--workers", 2),
        figures(run, archive, "--threshold", "4K", "--files"),
    ):
        assert told["rows"] == wanted["rows"]
    assert told["read"]["calls"] == 60
    assert len(told["files"]) == 1


def test_a_run_that_is_resumed_does_nothing_twice(run, folder, tmp_path):
    words = (folder, "--threshold", "4K", "--resume", tmp_path / "kept")
    first = figures(run, *words)
    size = (tmp_path / "kept/records.jsonl").stat().st_size
    assert figures(run, *words) == first
    assert (tmp_path / "kept/records.jsonl").stat().st_size == size
    text = trajectory(9, turns=5, model=_MODEL)
    (folder / "made-9.traj.json").write_text(text)
    assert figures(run, *words)["read"]["calls"] == 65


def test_a_call_that_stands_in_two_files_counts_once(run, folder):
    wanted = figures(run, folder, "--threshold", "4K")
    longer = json.loads(trajectory(2, turns=25, model=_MODEL))
    shorter = json.loads((folder / "made-2.traj.json").read_text())
    longer["messages"][: len(shorter["messages"])] = shorter["messages"]
    (folder / "made-2b.traj.json").write_text(json.dumps(longer))
    told = figures(run, folder, "--threshold", "4K")
    assert told["read"]["calls"] == wanted["read"]["calls"] + 5


def test_other_settings_are_not_mixed_with_what_was_kept(run, folder, tmp_path):
    run("replay", folder, "--threshold", "4K", "--resume", tmp_path / "kept")
    words = ("replay", folder, "--threshold", "8K", "--resume", tmp_path / "kept")
    assert "another `variants`" in " ".join(run(*words, status=1).err.split())


def test_csv_has_a_row_a_session_and_variant(run, folder, tmp_path):
    path = tmp_path / "out.csv"
    told = figures(run, folder, "--threshold", "4K", "--csv", path)
    rows = rows_of(path)
    assert len(rows) == 3 * 3
    cliffs = [one for one in rows if one["strategy"] == "cliff"]
    total = sum(float(one["engine_cost"]) for one in cliffs)
    assert total == pytest.approx(row(told, "cliff", 4_000)["engine"]["cost"])


def test_parquet_holds_the_same_as_csv(run, folder, tmp_path):
    polars = pytest.importorskip("polars", reason="needs the extra: pip install 'cuesta[lab]'")
    run("replay", folder, "--csv", tmp_path / "a.csv", "--parquet", tmp_path / "a.parquet")
    written = polars.read_parquet(tmp_path / "a.parquet").to_dicts()
    rows = rows_of(tmp_path / "a.csv")
    assert [one["engine_cost"] for one in written] == [float(one["engine_cost"]) for one in rows]


def test_parquet_without_its_library_names_the_extra(run, folder, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "polars", None)
    err = run("replay", folder, "--parquet", tmp_path / "a.parquet", status=2).err
    assert "pip install 'cuesta[lab]'" in err
    assert not (tmp_path / "a.parquet").exists()


def test_a_cluster_comes_to_the_same(run, folder):
    pytest.importorskip("ray", reason="needs the extra: pip install 'cuesta[ray]'")
    words = (folder, "--threshold", "4K")
    assert figures(run, *words, "--ray", "local")["rows"] == figures(run, *words)["rows"]


def test_a_cluster_without_its_library_names_the_extra(run, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert "pip install 'cuesta[ray]'" in run("replay", folder, "--ray", "local", status=2).err


def test_thresholds_are_found_at_one_mean_peak(run, folder):
    told = figures(run, folder, "--strategy", "cliff", "--match", "mean-peak", "6K")
    found = [one for one in told["rows"] if one["variant"]["strategy"] == "cliff"]
    assert len(found) == 1
    assert found[0]["mean_peak"] == pytest.approx(6_000, rel=0.1)


def test_all_may_be_priced_as_another_model(run, folder, tmp_path):
    own = tmp_path / "own.toml"
    own.write_text('[models."mine"]\ninput = 1\noutput = 0\ncache_read = 1\n')
    told = figures(run, folder, "--threshold", "4K", "--model", "mine", "--prices", own)
    for one in told["rows"]:
        usage = one["engine"]["usage"]
        assert one["engine"]["cost"] == pytest.approx((usage["input"] + usage["cache_read"]) / 1e6)


def test_a_model_without_a_price_is_named_with_the_way_to_add_it(run, tmp_path):
    (tmp_path / "one.traj.json").write_text(trajectory(model="nobodys-model"))
    out = run("replay", tmp_path).out
    assert '[models."nobodys-model"]' in out
    assert "--prices FILE" in out
    assert "unknown" in out


def test_a_broken_file_loses_no_other(run, folder):
    (folder / "made-1.traj.json").write_text('{"messages": [}')
    (folder / "cut.traj.json").write_text(trajectory(4, turns=10, model=_MODEL)[:-2_000])
    (folder / "broken.tar.zst").write_bytes(b"\x28\xb5\x2f\xfd and no more")
    out = " ".join(run("replay", folder).out.split())
    assert "3 sessions (3 mini-swe-agent)" in out
    assert "made-1.traj.json" in out.replace(" ", "")
    assert "1 x broken off" in out
    assert "broken.tar.zst" in out.replace(" ", "")


@pytest.mark.parametrize(
    ("words", "complaint", "status"),
    [
        (["--strategy", "clif"], "unknown strategy `clif`", 2),
        (["--threshold", "lots"], "expected tokens such as 32K, not 'lots'", 2),
        (["--threshold", "12"], "at least 1000 tokens", 2),
        (["--match", "mean", "32K"], "expected `mean-peak N`", 2),
        (["--match", "mean-peak", "few"], "argument --match: expected tokens", 2),
        (["--model", "nobodys-model"], "no price is known for model `nobodys-model`", 1),
        (["--profile", "loose"], "invalid choice: 'loose'", 2),
        (["--prices", "/nowhere.toml"], "/nowhere.toml", 2),
        (["--workers", "-1"], "--workers", 2),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_read(
    run, folder, words, complaint, status
):
    told = run("replay", folder, *words, status=status)
    assert complaint in " ".join(told.err.split())
    assert not told.out


@pytest.mark.parametrize("verb", ["replay", "sessions"])
def test_nothing_to_read_is_said(run, verb, tmp_path, monkeypatch):
    assert "no saved session in" in run(verb, tmp_path, status=1).err
    (tmp_path / "notes.md").write_text("nothing")
    assert "no saved session in" in run(verb, tmp_path, status=1).err
    assert "nowhere" in run(verb, tmp_path / "nowhere", status=1).err
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert "Name a file or a folder" in run(verb, status=1).err


def test_sessions_are_listed_within_the_screen(run, folder):
    out = run("sessions", folder).out
    assert max(map(cells, out.splitlines())) <= 80
    listed = [line.split() for line in out.splitlines() if line.startswith("mini-swe-agent")]
    assert [(one[2], one[3]) for one in listed] == [
        ("made-1", "10"), ("made-2", "20"), ("made-3", "30")
    ]  # fmt: skip
    assert all(one[-1].startswith("$") for one in listed)


def test_sessions_as_json(run, folder):
    told = json.loads(run("sessions", folder, "--json").out)
    assert [one["calls"] for one in told["sessions"]] == [10, 20, 30]
    assert told["read"]["sessions"] == {"mini-swe-agent": 3}


def test_where_agents_keep_theirs_is_where_is_looked(environment, tmp_path):
    project = tmp_path / ".claude/projects/-made"
    project.mkdir(parents=True)
    lines = [
        {"type": "user", "message": {"role": "user", "content": "Fix the parser."}},
        {
            "type": "assistant",
            "message": {
                "role": "assistant", "id": "m1", "model": _MODEL,
                "content": [{"type": "text", "text": "Done."}],
                "usage": {"input_tokens": 30, "output_tokens": 4},
            },
        },
    ]  # fmt: skip
    known = {"sessionId": "made", "version": "2.1.0", "timestamp": "2026-11-30T10:00:00Z"}
    parents = [None, "u0"]
    text = "\n".join(
        json.dumps({**known, **line, "uuid": f"u{n}", "parentUuid": parents[n]})
        for n, line in enumerate(lines)
    )
    (project / "made.jsonl").write_text(text)
    result = cuesta("sessions", env=environment)
    assert result.returncode == 0, result.stderr
    assert "claude-code" in result.stdout
    assert "2026-11-30" in result.stdout
    assert cuesta("replay", env=environment).returncode == 0
