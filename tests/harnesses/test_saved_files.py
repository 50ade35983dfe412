"""Finding and reading files of saved sessions, wherever they are and however they are packed."""

import gzip
import io
import json
import tarfile

import pytest
import zstandard
from saved_samples import SAMPLES, CodexLines, jsonl

from cuesta.harnesses.saved.files import find, homes, read_file
from cuesta.harnesses.saved.repeats import Repeats
from cuesta.harnesses.saved.sums import Sums, sums

PI = SAMPLES["pi"]()


def one(path):
    (file,) = read_file(path)
    return file


def packed(members, kind=""):
    """Return an archive of members."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=f"w:{kind}") as archive:
        for name, content in members.items():
            head = tarfile.TarInfo(name)
            head.size = len(content)
            archive.addfile(head, io.BytesIO(content))
        archive.addfile(head_of_a_folder())
    return buffer.getvalue()


def head_of_a_folder():
    head = tarfile.TarInfo("folder")
    head.type = tarfile.DIRTYPE
    return head


@pytest.mark.parametrize(
    "pack",
    [bytes, gzip.compress, zstandard.compress, lambda c: zstandard.compress(c) * 1],
    ids=["plain", "gzip", "zstandard", "once"],
)
def test_a_file_is_known_by_its_content_whatever_its_name_and_packing(tmp_path, pack):
    path = tmp_path / "anything.bin"
    path.write_bytes(pack(PI))
    file = one(path)
    assert (file.path, file.member, file.harness, file.reason) == (path, "", "pi", "")
    assert len(file.sessions) == 2
    assert file.problems == {}


def test_several_frames_are_one_file(tmp_path):
    path = tmp_path / "frames.zst"
    lines = PI.splitlines(keepends=True)
    path.write_bytes(b"".join(map(zstandard.compress, lines)))
    assert len(one(path).sessions) == 2


@pytest.mark.parametrize(
    "pack",
    [packed, lambda m: packed(m, "gz"), lambda m: zstandard.compress(packed(m))],
    ids=["tar", "tar.gz", "tar.zst"],
)
def test_an_archive_gives_its_members_one_by_one(tmp_path, pack):
    path = tmp_path / "archive"
    members = {name: make() for name, make in SAMPLES.items()} | {"notes.md": b"# Notes"}
    path.write_bytes(pack(members))
    found = list(read_file(path))
    assert [f.member for f in found] == list(members)
    assert [f.harness for f in found] == [*(name.split()[0] for name in SAMPLES), ""]
    assert found[-1].reason == "no format that is known"


def test_an_archive_is_not_read_further_than_it_is_asked_for(tmp_path):
    path = tmp_path / "archive.tar"
    content = packed({"one.jsonl": PI, "two.jsonl": PI})
    path.write_bytes(content[: len(PI) + 3000])
    members = read_file(path)
    assert next(members).harness == "pi"
    assert [f.reason for f in members][-1] == "it is broken"


def test_empty_foreign_and_missing_files_are_named(tmp_path):
    contents = {
        "empty": b"", "blank": b" \n\n", "foreign.json": b'{"name": "x"}', "binary": bytes(999),
        "list.json": b"[1, 2]", "broken.gz": gzip.compress(PI)[:40],
        "broken.zst": zstandard.compress(PI)[:40], "words.txt": b"Only words.",
    }  # fmt: skip
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    reasons = {p.name: one(p).reason for p in find([tmp_path, tmp_path / "missing"])}
    foreign = "no format that is known"
    assert reasons == {
        "empty": "it is empty", "blank": "it is empty", "foreign.json": foreign,
        "binary": foreign, "list.json": foreign, "broken.gz": "it is broken",
        "broken.zst": "it is empty", "words.txt": foreign, "missing": "there is no such file",
    }  # fmt: skip


def test_a_session_of_nothing_is_named(tmp_path):
    path = tmp_path / "session.jsonl"
    path.write_bytes(PI.splitlines()[0])
    file = one(path)
    assert (file.harness, file.sessions, file.reason) == ("pi", (), "no messages in it")


def test_folders_are_walked_in_order_and_every_file_comes_once(tmp_path):
    for name in ("b/2", "b/1", "a", "c/d/e"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "b" / "loop").symlink_to(tmp_path)
    found = [str(p.relative_to(tmp_path)) for p in find([tmp_path / "b", tmp_path, tmp_path / "a"])]
    assert found == ["b/1", "b/2", "a", "c/d/e"]


def test_homes_are_where_the_harnesses_keep_theirs(tmp_path):
    places = {
        "claude-code": ".claude/projects", "codex": ".codex/sessions", "gemini-cli": ".gemini/tmp",
        "pi": ".pi/agent/sessions", "opencode": ".local/share/opencode/storage",
    }  # fmt: skip
    environ = {"HOME": str(tmp_path)}
    assert homes(environ) == {}
    for place in places.values():
        (tmp_path / place).mkdir(parents=True)
    assert homes(environ) == {name: tmp_path / place for name, place in places.items()}
    (tmp_path / ".local/share/opencode/opencode.db").touch()
    assert homes(environ)["opencode"].name == "opencode.db"


def test_the_environment_says_where_homes_are(tmp_path):
    variables = {
        "CLAUDE_CONFIG_DIR": "claude-code/projects", "CODEX_HOME": "codex/sessions",
        "GEMINI_CLI_HOME": "gemini-cli/.gemini/tmp", "PI_CODING_AGENT_DIR": "pi/sessions",
        "XDG_DATA_HOME": "opencode/opencode/storage",
    }  # fmt: skip
    environ = {"HOME": str(tmp_path / "nowhere")}
    for variable, place in variables.items():
        (tmp_path / place).mkdir(parents=True)
        environ[variable] = str(tmp_path / place.partition("/")[0])
    assert homes(environ) == {p.partition("/")[0]: tmp_path / p for p in variables.values()}
    (tmp_path / "own").mkdir()
    own = {**environ, "PI_CODING_AGENT_SESSION_DIR": str(tmp_path / "own")}
    assert homes(own)["pi"] == tmp_path / "own"


def forked(folder):
    """Save a rollout and another one that goes on from its first turn, as Codex 0.171 does."""
    talk = CodexLines()
    talk.message("user", "Find the bug.")
    talk.message("assistant", "It is in x.")
    talk.record(100, 0, 0, 10)
    end = len(talk.lines)
    talk.message("user", "Fix it.")
    talk.message("assistant", "Fixed.")
    talk.record(120, 0, 0, 10)
    base = {"thread_id": "thread-1", "end_ordinal_exclusive": end}
    fork = CodexLines("thread-2", history_base=base)
    fork.message("user", "Rather not.")
    fork.message("assistant", "Good.")
    fork.record(130, 0, 0, 10)
    places = folder / "sessions" / "1", folder / "sessions" / "2"
    for place, name, lines in zip(places, ("1", "2"), (talk.lines, fork.lines), strict=True):
        place.mkdir(parents=True)
        (place / f"rollout-2026-thread-{name}.jsonl").write_bytes(jsonl(lines))
    return [place / f"rollout-2026-thread-{n}.jsonl" for place, n in zip(places, "12", strict=True)]


def test_a_rollout_that_goes_on_from_another_holds_its_history_but_not_its_calls(tmp_path):
    first, second = map(one, forked(tmp_path))
    (whole,), (fork,) = first.sessions, second.sessions
    assert [len(whole.calls), len(fork.calls), fork.shared] == [2, 1, 2]
    assert fork.messages[:2] == whole.messages[:2]
    assert (fork.name, fork.calls[0].at, fork.calls[0].hole) == ("thread-2", 3, False)


def test_a_rollout_whose_beginning_is_lost_says_so(tmp_path):
    first, second = forked(tmp_path)
    first.unlink()
    file = one(second)
    assert dict(file.problems) == {"the rollout that it goes on from is not there": 1}
    assert [c.hole for c in file.sessions[0].calls] == [True]


def test_a_base_may_be_compressed(tmp_path):
    first, second = forked(tmp_path)
    first.with_suffix(".jsonl.zst").write_bytes(zstandard.compress(first.read_bytes()))
    first.unlink()
    assert one(second).sessions[0].shared == 2


@pytest.mark.parametrize("name", SAMPLES)
def test_a_copy_of_a_file_adds_nothing(tmp_path, name):
    paths = [tmp_path / "one", tmp_path / "two"]
    for path in paths:
        path.write_bytes(SAMPLES[name]())
    repeats = Repeats()
    first, again = ([repeats.first(s) for s in one(path).sessions] for path in paths)
    assert first == list(one(paths[0]).sessions)
    left = sum(map(sums, again), Sums())
    assert (left.calls, left.turns, left.tools) == (0, 0, 0)
    assert left.human <= 1


def test_a_session_that_was_resumed_in_another_file_adds_what_is_new(tmp_path):
    lines = SAMPLES["claude-code agent"]().splitlines(keepends=True)
    paths = [tmp_path / "one", tmp_path / "two"]
    paths[0].write_bytes(b"".join(lines[:3]))
    copied = [json.loads(line) | {"sessionId": "session-2"} for line in lines]
    paths[1].write_bytes(jsonl(copied))
    repeats = Repeats()
    found = [sums(repeats.first(s)) for path in paths for s in one(path).sessions]
    assert [f.calls for f in found] == [1, 1]
    (whole,) = one(paths[1]).sessions
    assert sum(found, Sums()) == sums(whole)
