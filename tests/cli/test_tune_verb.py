"""The verb `cuesta tune`, on files of saved sessions made here."""

import io
import json
import tarfile

import pytest

from cuesta.cli.main import main
from cuesta.cli.tune import sessions_of
from cuesta.jobs.executors import LocalPool
from cuesta.lab.files import tasks_of
from cuesta.lab.measured import Tuning
from cuesta.lab.tune import tune
from cuesta.store.prices import price_book


def saved(path, calls, model="claude-sonnet-4-5", growth=900):
    """Write a session as Claude Code saves it; it reads one file a call."""
    lines, parent = [], None
    for number in range(calls):
        result = {
            "type": "tool_result",
            "tool_use_id": f"c{number - 1}",
            "content": "a line\n" * 300,
        }
        asks = [result] if number else "Make the tests pass."
        call = {
            "type": "tool_use",
            "id": f"c{number}",
            "name": "Read",
            "input": {"file_path": "/a"},
        }
        usage = {"input_tokens": 20_000 + growth * number, "output_tokens": 60}
        answer = {"role": "assistant", "id": f"m{number}", "model": model, "content": [call]}
        for kind, message in (
            ("user", {"role": "user", "content": asks}),
            ("assistant", {**answer, "usage": usage}),
        ):
            uuid = f"{kind}-{number}"
            common = {"sessionId": path.stem, "uuid": uuid, "parentUuid": parent}
            lines.append(json.dumps({"type": kind, "message": message, **common}))
            parent = uuid
    path.write_text("\n".join(lines))


@pytest.fixture
def folder(tmp_path):
    for number in range(5):
        saved(tmp_path / f"session-{number}.jsonl", 40 + 5 * number)
    return tmp_path


def test_it_names_the_threshold_of_a_folder(folder, capsys):
    assert main(["tune", str(folder)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("claude-code: 5 sessions, 250 calls, $")
    assert "\n  Use --threshold " in out
    assert max(map(len, out.splitlines())) <= 80
    assert err == ""


def test_it_says_the_same_every_time_and_in_json_too(folder, capsys):
    outs = []
    for _ in range(2):
        assert main(["tune", str(folder / "session-0.jsonl"), "--json"]) == 0
        outs.append(capsys.readouterr().out)
    assert outs[0] == outs[1]
    (found,) = json.loads(outs[0])
    low, high = next(
        a["band"] for a in found["answers"] if (a["cache"], a["extra_steps"]) == ("engine", 3)
    )
    assert low <= found["threshold"] <= high


def test_processes_find_what_one_finds(folder):
    tuning, tasks = Tuning(price_book(), extras=(3,)), tasks_of([folder])[:3]
    alone = tune(tasks, tuning, read=sessions_of)
    assert len(alone.groups) == 1
    assert tune(tasks, tuning, read=sessions_of, run=LocalPool(2).map) == alone


def test_models_apart_and_another_number_of_extra_steps(folder, capsys):
    saved(folder / "other.jsonl", 40, "claude-opus-5")
    assert main(["tune", str(folder), "--by-model", "--extra", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    names = [one["name"] for one in found]
    assert names == ["claude-code, claude-opus-5", "claude-code, claude-sonnet-4-5"]
    assert {a["extra_steps"] for a in found[0]["answers"]} == {0, 1, 2, 3, 5}


def test_a_model_without_a_price_is_an_error_that_helps(tmp_path, capsys):
    saved(tmp_path / "one.jsonl", 3, "nobody-knows-this-one")
    assert main(["tune", str(tmp_path)]) == 1
    assert "no price is known for model `nobody-knows-this-one`" in capsys.readouterr().err
    prices = tmp_path / "prices.toml"
    prices.write_text('[models."nobody-knows-this-one"]\ninput = 1\noutput = 2\n')
    for priced in (["--prices", str(prices)], ["--model", "claude-sonnet-4-5"]):
        assert main(["tune", str(tmp_path / "one.jsonl"), *priced]) == 0
    assert "billed as those of claude-sonnet-4-5" in capsys.readouterr().out


def test_sessions_without_a_price_are_left_out_by_name(folder, capsys):
    assert main(["tune", str(folder), "--json"]) == 0
    known = capsys.readouterr().out
    for name in ("one", "two"):
        saved(folder / f"{name}.jsonl", 3, "nobody-knows-this-one")
    assert main(["tune", str(folder), "--json"]) == 0
    out, err = capsys.readouterr()
    assert out == known
    said = " ".join(err.split())
    assert "left out 2 sessions: no price is known for model `nobody-knows-this-one`" in said
    assert "`--model NAME` prices all as another model" in said


def test_a_model_to_bill_by_must_have_a_price(folder, capsys):
    assert main(["tune", str(folder), "--model", "nobodys-model"]) == 1
    assert "no price is known for model `nobodys-model`" in capsys.readouterr().err


def test_nothing_to_read_and_nothing_there(tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("no session")
    assert main(["tune", str(tmp_path)]) == 1
    assert "no saved session in" in capsys.readouterr().err
    assert main(["tune", str(tmp_path / "missing")]) == 1
    assert "No such file" in " ".join(capsys.readouterr().err.split())


def test_an_archive_is_read_in_parts_by_all_workers(folder, tmp_path, capsys):
    assert main(["tune", str(folder), "--json"]) == 0
    alone = capsys.readouterr().out
    packed = tmp_path / "packed.tar"
    with tarfile.open(packed, "w") as archive:
        for path in sorted(folder.glob("*.jsonl")):
            archive.add(path, path.name)
        filler = tarfile.TarInfo("filler.bin")
        filler.size = 2 << 20
        archive.addfile(filler, io.BytesIO(bytes(filler.size)))
    assert len(tasks_of([packed])) == 3
    assert main(["tune", str(packed), "--workers", "2", "--json"]) == 0
    assert figures(capsys.readouterr().out) == figures(alone)


def figures(printed):
    """Return the thresholds and costs that were printed, rounded: sums differ in their order."""
    (found,) = json.loads(printed)
    costs = [(one["closed_form"], round(one["best_dollars"], 9)) for one in found["answers"]]
    return found["sessions"], found["calls"], found["threshold"], costs


@pytest.mark.parametrize("extra", ["-1", "many", "nan", "1e9"])
def test_extra_steps_are_a_number(extra, capsys):
    assert main(["tune", f"--extra={extra}"]) == 2
    assert "expected a number from 0 to 100" in capsys.readouterr().err


def test_without_paths_it_reads_what_agents_saved_here(tmp_path, capsys, monkeypatch):
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    project = tmp_path / ".claude" / "projects" / "p"
    project.mkdir(parents=True)
    saved(project / "one.jsonl", 30)
    assert main(["tune"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert out.startswith("claude-code: 1 session, 30 calls")
    assert "fewer than 5 sessions" in out
