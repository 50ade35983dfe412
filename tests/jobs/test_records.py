"""What is kept of a run: whole lines under their keys, and never two runs in one folder."""

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuesta.jobs.errors import ResumeError
from cuesta.jobs.records import Records

IDENTITY = {"what": "replay", "threshold": 32_000, "files": ("a", "b")}


def opened(folder, **changes):
    return Records(folder, {**IDENTITY, **changes})


def test_records_come_back_in_the_order_in_which_they_were_added(tmp_path):
    with opened(tmp_path) as records:
        records.add("b", {"n": 1})
        records.add("a", [1, None, "é\n"])
    with opened(tmp_path) as records:
        assert records.done() == {"a", "b"}
        assert list(records) == [("b", {"n": 1}), ("a", [1, None, "é\n"])]


def test_a_key_has_one_record(tmp_path):
    with opened(tmp_path) as records:
        records.add("a", 1)
        with pytest.raises(ValueError, match="a has a record already"):
            records.add("a", 2)
        assert list(records) == [("a", 1)]


@pytest.mark.parametrize("record", [float("nan"), {1, 2}, b"bytes"])
def test_what_is_no_json_is_refused_and_nothing_of_it_kept(tmp_path, record):
    with opened(tmp_path) as records:
        with pytest.raises((ValueError, TypeError)):
            records.add("a", record)
        records.add("a", 1)
        assert list(records) == [("a", 1)]


@given(st.data())
def test_a_torn_last_line_costs_its_own_task_only(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("torn")
    with opened(folder) as records:
        for number in range(3):
            records.add(f"key {number}", {"text": "line\n" * number})
    path = folder / "records.jsonl"
    whole = path.read_bytes()
    last = len(whole) - whole.rstrip(b"\n").rfind(b"\n") - 1
    path.write_bytes(whole[: len(whole) - data.draw(st.integers(1, last))])
    with opened(folder) as records:
        assert records.done() == {"key 0", "key 1"}
        records.add("key 2", {"text": "line\n" * 2})
    assert path.read_bytes() == whole


def test_a_line_of_noise_is_a_task_that_is_not_done(tmp_path):
    with opened(tmp_path) as records:
        records.add("a", 1)
    with (tmp_path / "records.jsonl").open("ab") as file:
        file.write(b'\xff\xfe\n{"key": "no record"}\n[1]\n3\n')
    with opened(tmp_path) as records:
        records.add("b", 2)
    with opened(tmp_path) as records:
        assert list(records) == [("a", 1), ("b", 2)]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"threshold": 16_000}, "another `threshold`: 32000 there, 16000 now"),
        ({"files": ["a"]}, 'another `files`: \\["a", "b"\\] there, \\["a"\\] now'),
        ({"new": 1}, "another `new`: nothing there, 1 now"),
        ({"v": 2}, "another `v`: 1 there, 2 now"),
    ],
)
def test_another_run_is_refused_by_the_name_of_what_differs(tmp_path, changes, named):
    opened(tmp_path).close()
    with pytest.raises(ResumeError, match=named):
        opened(tmp_path, **changes)
    opened(tmp_path).close()


def test_a_folder_of_something_else_is_refused(tmp_path):
    (tmp_path / "run.json").write_text("not JSON")
    with pytest.raises(ResumeError, match="cannot be read"):
        opened(tmp_path)


def test_one_process_at_a_time(tmp_path):
    code = (
        "import sys; from pathlib import Path; from cuesta.jobs.records import Records\n"
        f"Records(Path(sys.argv[1]), {IDENTITY!r})"
    )
    with opened(tmp_path):
        run = subprocess.run(
            [sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=False
        )
        assert "another process is at work in" in run.stderr
    assert subprocess.run([sys.executable, "-c", code, tmp_path], check=False).returncode == 0


def test_files_are_for_their_owner_alone(tmp_path):
    folder = tmp_path / "new" / "run"
    opened(folder).close()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


FULL = """
import json, resource, sys
from pathlib import Path
from cuesta.jobs.records import Records
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
records = Records(Path(sys.argv[1]), {})
for number in range(100):
    try:
        records.add(str(number), "x" * 3_000)
    except OSError as error:
        print(number, error.strerror)
        break
"""


@pytest.mark.skipif(os.name == "nt", reason="needs limits of file sizes")
def test_a_full_disk_is_an_error_and_the_file_stays_whole(tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", FULL, tmp_path], capture_output=True, text=True, check=True
    )
    assert run.stdout == "3 File too large\n"
    lines = (tmp_path / "records.jsonl").read_bytes().splitlines(keepends=True)
    assert [json.loads(line)["key"] for line in lines] == ["0", "1", "2"]
    assert lines[-1].endswith(b"\n")
