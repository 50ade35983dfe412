"""What only the store on disk must stand: other processes, crashes, damage, a full disk."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from store_samples import entry, event, key

from cuesta.core.errors import CuestaError
from cuesta.store.database import SCHEMA_VERSION
from cuesta.store.memory import MemoryStore
from cuesta.store.sqlite import FILE_NAME, SqliteStore, open_store, read_store
from cuesta.store.trace_log import TraceLog

CHILD = """
import sys, time
from pathlib import Path
sys.path[:0] = sys.argv[3:]
from store_samples import entry, event, key
from cuesta.store.sqlite import open_store
store = open_store(Path(sys.argv[1]))
"""


def child(folder, code, number=0):
    """Start another process that has the same store open as `store` and runs some code."""
    paths = [str(Path(__file__).parent), *sys.path]
    command = [sys.executable, "-c", CHILD + code, str(folder), str(number), *paths]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "state"


@pytest.fixture
def store(folder):
    store = open_store(folder)
    assert isinstance(store, SqliteStore)
    yield store
    store.close()


def test_a_commit_survives_kill_9(folder):
    code = "store.commit(key(7), entry('kept')); print('done', flush=True); time.sleep(60)"
    with child(folder, code) as process:
        assert process.stdout.readline() == "done\n"
        process.send_signal(signal.SIGKILL)
    store = open_store(folder)
    assert store.look_up([key(7)]) == (key(7), entry("kept"))
    assert store.degraded == ""
    store.close()


def test_a_commit_waits_for_the_disk_and_does_no_checkpoint(store):
    full = 2
    assert store._writer.execute("PRAGMA synchronous").fetchone() == (full,)
    assert store._writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert store._writer.execute("PRAGMA wal_autocheckpoint").fetchone() == (0,)


def test_it_is_all_there_after_a_restart(folder):
    first = open_store(folder)
    first.commit(key(1), entry("one"))
    first.record(event(run="a"))
    first.close()
    second = open_store(folder)
    assert second.look_up([key(1)]) == (key(1), entry("one"))
    assert second.events(5) == [event(run="a")]
    second.close()


def test_what_another_process_commits_is_found_at_once(folder, store):
    store.commit(key(1), entry("ours"))
    assert store.look_up([key(2), key(1)])[0] == key(1)
    with child(folder, "store.commit(key(2), entry('theirs')); store.close()") as process:
        assert process.wait() == 0
    assert store.look_up([key(2), key(1)]) == (key(2), entry("theirs"))
    with child(folder, "store.commit(key(1), entry('newer')); store.close()") as process:
        assert process.wait() == 0
    assert store.look_up([key(1)]) == (key(1), entry("newer"))


def test_several_processes_write_at_once(folder, store):
    code = """
for number in range(50):
    store.commit(key(1000 * int(sys.argv[2]) + number), entry())
    store.record(event(number, run=sys.argv[2]))
assert store.degraded == "", store.degraded
store.close()
assert store.degraded == "", store.degraded
"""
    children = [child(folder, code, number) for number in (1, 2, 3)]
    for number in range(50):
        store.commit(key(number), entry())
        store.record(event(number, run="0"))
    for process in children:
        with process:
            assert process.wait() == 0
    assert store.degraded == ""
    for process in range(4):
        assert len(store.events(1000, run=str(process))) == 50
        assert all(store.look_up([key(1000 * process + n)])[0] for n in range(50))


def test_files_are_for_their_owner_alone(folder):
    before = os.umask(0)
    try:
        store = open_store(folder)
        store.commit(key(1), entry())
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert set(modes) >= {FILE_NAME, f"{FILE_NAME}-wal", f"{FILE_NAME}-shm"}
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    store.close()


def test_a_file_that_others_could_read_is_closed_to_them(folder):
    open_store(folder).close()
    (folder / FILE_NAME).chmod(0o644)
    open_store(folder).close()
    assert stat.S_IMODE((folder / FILE_NAME).stat().st_mode) == 0o600


def scribble_over_everything(path):
    path.write_bytes(b"this is no database\n" * 500)


def scribble_over_the_ledger(path):
    """Break the pages behind the first: the header stays good."""
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [scribble_over_everything, scribble_over_the_ledger])
def test_a_damaged_file_is_moved_aside(folder, damage):
    first = open_store(folder)
    first.commit(key(1), entry())
    first.close()
    damage(folder / FILE_NAME)
    store = open_store(folder)
    assert isinstance(store, SqliteStore)
    assert "damaged" in store.degraded
    assert [p for p in folder.iterdir() if ".damaged-" in p.name]
    store.commit(key(2), entry())
    store.close()
    again = open_store(folder)
    assert again.degraded == ""
    assert again.look_up([key(1), key(2)])[0] == key(2)
    again.close()


def test_noise_on_any_page_leaves_a_ledger_that_processes_share(folder):
    """Whatever the page is for: an index, a trace, a free one."""
    first = open_store(folder)
    for number in range(200):
        first.commit(key(number), entry())
        first.record(event(number, reason="why " * 40))
    first.close()
    path = folder / FILE_NAME
    whole = path.read_bytes()
    for start in range(4096, len(whole), 4096):
        noisy = bytearray(whole)
        noisy[start + 8 : start + 608] = random.Random(start).randbytes(600)
        path.write_bytes(noisy)
        writer, reader = open_store(folder), open_store(folder)
        writer.commit(key(start), entry("new"))
        assert reader.look_up([key(start)]) == (key(start), entry("new")), start // 4096
        assert isinstance(writer, SqliteStore)
        assert "in memory only" not in writer.degraded
        for store in (writer, reader):
            store.close()
        for place in folder.iterdir():
            place.unlink()


@pytest.mark.parametrize("damage", [scribble_over_everything, scribble_over_the_ledger])
def test_who_only_reads_says_that_it_is_damaged_and_moves_nothing(folder, damage):
    first = open_store(folder)
    first.commit(key(1), entry())
    first.close()
    damage(folder / FILE_NAME)
    content = (folder / FILE_NAME).read_bytes()
    with pytest.raises(CuestaError, match="the database is damaged"):
        read_store(folder)
    assert (folder / FILE_NAME).read_bytes() == content
    assert not [p for p in folder.iterdir() if ".damaged-" in p.name]


def test_who_only_reads_sees_what_was_kept(folder, store):
    store.record(event(run="a"))
    store.events(1)
    reader = read_store(folder)
    assert reader.events(5) == [event(run="a")]
    reader.close()


def test_two_processes_that_find_a_damaged_file_move_it_once(folder):
    folder.mkdir()
    scribble_over_everything(folder / FILE_NAME)
    children = [child(folder, "store.commit(key(int(sys.argv[2])), entry())", n) for n in (1, 2)]
    for process in children:
        with process:
            assert process.wait() == 0
    assert len([p for p in folder.iterdir() if ".damaged-" in p.name]) == 1
    store = open_store(folder)
    assert store.look_up([key(1)])[0]
    assert store.look_up([key(2)])[0]
    store.close()


def test_where_no_folder_can_be_made_memory_stands_in_and_says_so(tmp_path):
    (tmp_path / "file").write_text("in the way")
    store = open_store(tmp_path / "file" / "state")
    assert isinstance(store, MemoryStore)
    assert "nothing is kept on disk" in store.degraded
    assert "Errno" not in store.degraded
    store.commit(key(1), entry())
    assert store.look_up([key(1)])[0] == key(1)


def test_a_newer_versions_file_is_left_alone(folder):
    open_store(folder).close()
    connection = sqlite3.connect(folder / FILE_NAME)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    connection.close()
    before = (folder / FILE_NAME).read_bytes()
    store = open_store(folder)
    assert isinstance(store, MemoryStore)
    assert "newer version" in store.degraded
    assert (folder / FILE_NAME).read_bytes() == before


def fill_the_disk(connection):
    """Let SQLite itself refuse the next page."""
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")


def test_a_full_disk_keeps_entries_in_memory_and_writes_them_later(folder, store):
    fill_the_disk(store._writer)
    committed = 0
    while not store.degraded:
        committed += 1
        store.commit(key(committed), entry(f"number {committed}"))
        assert committed < 1000
    assert "memory only" in store.degraded
    assert store.look_up([key(committed)]) == (key(committed), entry(f"number {committed}"))
    store._writer.execute("PRAGMA max_page_count = 100000")
    store.commit(key(5000), entry())
    assert store.degraded == ""
    other = open_store(folder)
    assert other.look_up([key(committed)]) == (key(committed), entry(f"number {committed}"))
    other.close()


def test_a_full_disk_keeps_events_in_memory_and_writes_them_later(store):
    fill_the_disk(store._trace._connection)
    recorded = 0
    while not store.degraded:
        recorded += 50
        for number in range(recorded - 50, recorded):
            store.record(event(number))
        store.events(1)
        assert recorded < 5000
    assert "memory only" in store.degraded
    assert [e.at for e in store.events(5000)] == [1000.0 + n for n in reversed(range(recorded))]
    store._trace._connection.execute("PRAGMA max_page_count = 100000")
    store.record(event(recorded))
    assert [e.at for e in store.events(5000)] == [1000.0 + n for n in reversed(range(recorded + 1))]
    assert store.degraded == ""


def test_an_entry_of_another_version_counts_as_absent(store):
    store._writer.execute("INSERT INTO ledger (key, entry) VALUES (?, ?)", (key(1), b'{"v": 99}'))
    store.commit(key(2), entry())
    assert store.look_up([key(1), key(2)])[0] == key(2)


def test_recording_never_waits_for_a_writer_that_holds_the_file(folder, store):
    blocker = sqlite3.connect(folder / FILE_NAME, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    started = time.monotonic()
    for number in range(200):
        store.record(event(number))
        store.look_up([key(1)])
    assert time.monotonic() - started < 0.5
    blocker.execute("COMMIT")
    blocker.close()
    assert len(store.events(1000)) == 200


def test_old_events_are_pruned(folder, store):
    for number in range(150):
        store.record(event(number))
    assert len(store.events(1000)) == 150
    small = TraceLog(folder / FILE_NAME, limit=100)
    small.record(event(150))
    small.close()
    assert [e.at for e in store.events(1000)] == [1150.0 - n for n in range(100)]
