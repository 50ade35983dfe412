"""`cuesta replay --report` and `--figures`, from files to a page and pictures."""

import sys
from pathlib import Path

import pytest

from cuesta.cli.main import main

sys.path.append(str(Path(__file__).parents[1] / "lab"))

from made_sessions import trajectory


@pytest.fixture
def folder(tmp_path):
    sessions = tmp_path / "runs"
    sessions.mkdir()
    for seed in (1, 2):
        (sessions / f"made-{seed}.traj.json").write_text(trajectory(seed, turns=12 * seed))
    (sessions / "nothing.jsonl").write_text("")
    return sessions


def test_page_and_pictures_are_written_beside_the_table(folder, tmp_path, capsys):
    pytest.importorskip("vl_convert", reason="needs the extra: pip install 'cuesta[lab]'")
    page, plots = tmp_path / "out.html", tmp_path / "plots"
    words = ["replay", folder, "--threshold", "4K,8K", "--report", page, "--figures", plots]
    kept = [*words, "--resume", tmp_path / "kept"]
    assert main([str(word) for word in words]) == 0
    assert "keep_all" in capsys.readouterr().out
    text = page.read_text()
    assert "made-1.traj.json" in text
    assert "nothing.jsonl" in text
    assert str(folder) not in text
    assert {path.suffix for path in plots.iterdir()} == {".png", ".svg"}
    for _ in range(2):  # what was kept is read again
        assert main([str(word) for word in kept]) == 0
        assert page.read_text() == text


def test_without_the_library_nothing_is_read_and_the_error_names_it(
    folder, tmp_path, capsys, monkeypatch
):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    page = tmp_path / "out.html"
    assert main(["replay", str(folder), "--report", str(page)]) == 2
    assert "pip install 'cuesta[lab]'" in capsys.readouterr().err
    assert not page.exists()
