"""`cuesta reproduce` on made-up trajectories."""

import io
import json
import tarfile

import pytest

from cuesta.cli.main import main

_TURNS = 40


def _trajectory(name: str, turns: int = _TURNS) -> dict:
    messages = [
        {"role": "system", "content": "You are a shell. " * 40},
        {"role": "user", "content": f"Fix {name}. " * 60},
    ]
    prompt = 700
    for number in range(turns):
        usage = {
            "prompt_tokens": prompt,
            "completion_tokens": 60,
            "prompt_tokens_details": {"cached_tokens": prompt // 2},
        }
        response = {"model": "google/gemini-3-pro-preview", "usage": usage}
        act = f"THOUGHT: I look at part {number}.\n\n```bash\ncat part-{number}.py\n```"
        seen = f"<returncode>0</returncode>\n<output>\n{'line of code ' * 300}\n</output>"
        messages += [
            {"role": "assistant", "content": act, "extra": {"response": response}},
            {"role": "user", "content": seen},
        ]
        prompt += 950
    info = {"exit_status": "Submitted", "submission": "diff", "mini_version": "1.15.0"}
    end = [{"role": "user", "content": "diff"}]
    return {
        "info": info, "messages": messages + end, "trajectory_format": "mini-swe-agent-1",
        "instance_id": name,
    }  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    inner = tmp_path / "runs"
    inner.mkdir()
    for name in ("one", "two"):
        (inner / f"{name}.traj.json").write_text(json.dumps(_trajectory(name)))
    (inner / "notes.txt").write_text("nothing to read here")
    return inner


def _archive(tmp_path, folder):
    path = tmp_path / "runs.tar"
    with tarfile.open(path, "w") as archive:
        for file in sorted(folder.iterdir()):
            content = file.read_bytes()
            member = tarfile.TarInfo(f"deep/{file.name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def _figures(capsys, path) -> dict:
    assert main(["reproduce", str(path), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_tables_fit_a_screen_and_show_both_the_papers_figures_and_ours(folder, capsys):
    assert main(["reproduce", str(folder)]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert out.startswith("2 trajectories of mini-swe-agent, 80 calls")
    for words in (
        "GLM 5.1, the paper                    0.25      0.20      0.15      0.13",
        "Kimi K2.6, the paper, billed           96%       95%       92%       86%",
        "with 3 more steps a cliff",
        "tool results, the paper              56.0%     0.237     0.029     0.266",
        "What differs, and why",
    ):
        assert words in out
    assert "recorded, billed                       50%" in out


def test_the_figures_hang_together(folder, capsys):
    told = _figures(capsys, folder)
    full, *compacted = told["thresholds"]
    prompts = [700 + 950 * n for n in range(_TURNS)]
    assert told["billed"] == {
        "input": 2 * sum(p - p // 2 for p in prompts),
        "cache_read": 2 * sum(p // 2 for p in prompts),
        "output": 2 * 60 * _TURNS,
    }
    assert full["perfect"]["input"] == 2 * prompts[-1], "each token is new once"
    assert sum(full["perfect"].values()) == sum(told["billed"].values())
    by_hand = full["perfect"]["input"] * 1.4 + full["perfect"]["cache_read"] * 0.26
    by_hand = (by_hand + full["perfect"]["output"] * 4.4) / 2e6
    assert full["dollars_a_task"]["GLM 5.1"]["perfect"] == pytest.approx(by_hand)
    parts = full["parts_of_all_tasks"]
    assert sum(part["share"] for part in parts) == pytest.approx(1)
    assert sum(part["cached"] + part["other"] for part in parts) == pytest.approx(2 * by_hand)
    assert [row["outgrown_by"] for row in compacted] == [2, 2, 2]
    falls = [row["cliffs"] for row in compacted]
    assert falls == sorted(falls)
    assert falls[0] > 0
    for row in compacted:
        costs = row["dollars_a_task"]["Kimi K2.6"]
        assert costs["engine"] < costs["perfect"] < costs["again"]
        assert row["engine"]["cache_read"] > row["perfect"]["cache_read"]
        assert row["calls"] == 2 * _TURNS


def test_an_archive_tells_the_same_as_the_folder(tmp_path, folder, capsys):
    assert _figures(capsys, _archive(tmp_path, folder)) == _figures(capsys, folder)


@pytest.mark.parametrize(
    ("name", "words"), [("nowhere", "there is no such file"), (".", "no trajectory of mini-swe")]
)
def test_where_nothing_is_to_be_read_that_is_said(tmp_path, capsys, name, words):
    assert main(["reproduce", str(tmp_path / name)]) == 2
    assert words in " ".join(capsys.readouterr().err.split())


def test_a_run_without_calls_breaks_nothing(tmp_path, capsys):
    path = tmp_path / "empty.traj.json"
    path.write_text(json.dumps(_trajectory("none", turns=0)))
    assert main(["reproduce", str(path)]) == 0
    assert "1 trajectory of mini-swe-agent, 0 calls" in capsys.readouterr().out
