"""Recordings on disk: private, whole lines whatever happens, and nobody ever waits for them."""

import json
import logging
import os
import signal
import subprocess
import sys
from base64 import b64encode
from contextlib import closing

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from cuesta.core.errors import ConfigError
from cuesta.store.recordings import (
    Recording,
    decode,
    encode,
    read_lines,
    read_recording,
    read_recordings,
    recording_folder,
)
from cuesta.trace.recording import Came, Ended, Opened, Sent

POSIX = pytest.mark.skipif(os.name == "nt", reason="needs POSIX permissions and limits")


def came(number, body=b"{}", at=None):
    return Came(number, at or float(number), "POST", "/v1/messages", "host", "", body)


def write(folder, *lines):
    """Record lines; return the file."""
    with closing(Recording(folder, {"threshold": 4_000})) as recording:
        for line in lines:
            recording.keep(line)
    return recording.path


@given(
    st.one_of(
        st.none(),
        st.binary(max_size=50),
        st.text(max_size=50).map(str.encode),
        st.binary(min_size=1, max_size=50).map(lambda piece: piece * 500),
    )
)
def test_every_body_comes_back_and_is_one_line(body):
    text = encode(Sent(1, "d", body))
    assert text.count(b"\n") == 1
    assert decode(text) == Sent(1, "d", body)


def test_short_text_can_be_read_by_eye_and_long_bodies_are_small():
    assert b'"body":"hello"' in encode(Sent(1, "d", b"hello"))
    assert len(encode(Sent(1, "d", b"line\n" * 100_000))) < 1_000


@pytest.mark.parametrize(
    "body",
    [{}, {"base64": "?"}, {"base64": 7}, {"zstd": "AAAA"}, {"zstd": ""}, {"zstd": 7}, {"gzip": ""}],
)
def test_a_broken_body_is_a_value_error(body):
    record = {"v": 1, "kind": "sent", "exchange": 1, "dialect": "d", "body": body}
    with pytest.raises(ValueError, match=r"broken|base64|padded|long"):
        decode(json.dumps(record).encode())


def test_a_body_that_would_fill_memory_is_not_opened():
    bomb = zstandard.ZstdCompressor().compress(bytes((256 << 20) + 1))
    record = {"v": 1, "kind": "sent", "exchange": 1, "dialect": "d"}
    record["body"] = {"zstd": b64encode(bomb).decode()}
    with pytest.raises(ValueError, match="too long"):
        decode(json.dumps(record).encode())


def test_what_is_recorded_comes_back(tmp_path):
    lines = [came(1), Sent(1, "d", b"x" * 10_000), Ended(1, None)]
    path = write(tmp_path, *lines)
    opened, *others = read_lines(path)
    assert isinstance(opened, Opened)
    assert opened.options == {"threshold": 4_000}
    assert opened.process == path.stem
    assert others == lines
    (record,) = read_recording(path)
    assert record.sent == b"x" * 10_000


@POSIX
def test_files_are_for_their_owner_alone(tmp_path):
    old = os.umask(0)
    try:
        folder = recording_folder(str(tmp_path / "new" / "recordings"))
        path = write(folder)
    finally:
        os.umask(old)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert path.stat().st_mode & 0o777 == 0o600


def test_each_recording_has_a_file_of_its_own(tmp_path):
    paths = {write(tmp_path) for _ in range(5)}
    assert len(paths) == len(list(tmp_path.iterdir())) == 5


def test_a_folder_in_the_home_may_be_named_as_in_a_shell(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert recording_folder("~/there") == tmp_path / "there"
    assert (tmp_path / "there").is_dir()


def test_where_no_folder_can_be_the_option_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    for name in ("file", "file/below"):
        with pytest.raises(ConfigError, match=r"record: .*file"):
            recording_folder(str(tmp_path / name))


@given(st.data())
def test_a_torn_last_line_costs_no_other(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("torn")
    path = write(folder, came(1), Ended(1, None), came(2))
    whole = path.read_bytes()
    last = len(whole) - whole.rstrip(b"\n").rfind(b"\n") - 1
    path.write_bytes(whole[: len(whole) - data.draw(st.integers(2, last))])
    broken = []
    assert list(read_lines(path, broken.append))[1:] == [came(1), Ended(1, None)]
    assert len(broken) <= 1


def test_noise_is_told_and_left_out(tmp_path):
    path = write(tmp_path, came(1), Ended(1, None))
    with path.open("ab") as file:
        file.write(b'\xff\n[1]\n{"v": 1}\n{"v": 9, "kind": "came"}\n')
    broken = []
    assert len(list(read_recording(path, broken.append))) == 1
    assert len(broken) == 4
    assert "version 9" in broken[-1]


def test_recordings_of_several_processes_are_read_in_the_order_of_time(tmp_path):
    write(tmp_path, came(1, at=1.0), Ended(1, None), came(2, at=4.0), Ended(2, None))
    write(tmp_path, came(1, at=2.0), Ended(1, None), came(2, at=3.0), Ended(2, None))
    assert [record.came.at for record in read_recordings(tmp_path)] == [1.0, 2.0, 3.0, 4.0]


ENDLESS = """
import sys
from itertools import count
from pathlib import Path
from cuesta.store.recordings import Recording
from cuesta.trace.recording import Came
recording = Recording(Path(sys.argv[1]), {})
for number in count(1):
    recording.keep(Came(number, 1.0, "POST", "/", "", "", b"%d " % number * 20_000))
    if number == 50:
        print("fifty", flush=True)
"""


@POSIX
def test_kill_9_leaves_at_most_one_broken_line(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS, tmp_path], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "fifty\n"
        process.send_signal(signal.SIGKILL)
    (path,) = tmp_path.iterdir()
    broken = []
    found = [line.exchange for line in read_lines(path, broken.append) if isinstance(line, Came)]
    assert found == list(range(1, len(found) + 1))
    assert len(broken) <= 1


FULL = """
import logging, resource, sys
from pathlib import Path
from cuesta.store.recordings import Recording
from cuesta.trace.recording import Came
logging.basicConfig(format="%(levelname)s %(message)s", stream=sys.stdout)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
recording = Recording(Path(sys.argv[1]), {})
for number in range(100):
    recording.keep(Came(number, 1.0, "POST", "/", "", "", b"x" * 3_000))
recording.close()
print(recording.trouble)
"""


@POSIX
def test_a_full_disk_ends_recording_with_one_warning_and_a_whole_line(tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", FULL, tmp_path], capture_output=True, text=True, check=True
    )
    warning, trouble = run.stdout.splitlines()
    assert trouble == "recording ended: File too large"
    assert warning.startswith(f"WARNING {trouble}; see ")
    (path,) = tmp_path.iterdir()
    text = path.read_bytes()
    assert text.endswith(b"\n")
    assert [json.loads(line)["kind"] for line in text.splitlines()] == ["opened", *["came"] * 3]


def test_a_disk_that_does_not_keep_up_ends_recording_instead_of_filling_memory(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        recording = Recording(tmp_path, {}, waiting_limit=1_000_000)
        for number in range(200):
            recording.keep(came(number, os.urandom(900_000)))
        recording.close()
    assert recording.trouble == "recording ended: the disk does not keep up"
    assert len(caplog.records) == 1
    assert [
        line for line in read_lines(recording.path) if not isinstance(line, Opened | Came)
    ] == []


def test_one_body_larger_than_what_may_wait_is_recorded(tmp_path):
    with closing(Recording(tmp_path, {}, waiting_limit=10)) as recording:
        recording.keep(came(1, b"x" * 1_000))
    (record,) = read_recording(recording.path)
    assert record.body == b"x" * 1_000


def test_what_cannot_be_written_ends_recording_and_nothing_else(tmp_path, caplog):
    with closing(Recording(tmp_path, {})) as recording:
        recording.keep(came(1))
        recording.keep(Sent(1, object(), None))
        recording.keep(came(2))
    assert recording.trouble == "recording ended: TypeError"
    assert len(caplog.records) == 1
    assert [record.came.exchange for record in read_recording(recording.path)] == [1]
