"""OpenCode's sessions: as exported, in files of their own, and in its database."""

import json
import sqlite3

import pytest
from saved_reading import messages, read, said
from saved_samples import (
    opencode,
    opencode_answer,
    opencode_message,
    opencode_messages,
    opencode_tool,
    text,
)

from cuesta.core.usage import Usage
from cuesta.harnesses.saved.files import find, read_file


def export(*found, **info):
    return json.dumps({"info": {"id": "ses_1", **info}, "messages": found}).encode()


@pytest.fixture
def session():
    (session,), problems = read(opencode(), "opencode")
    assert problems == {}
    return session


def test_an_export_is_messages_results_and_bills(session):
    assert said(session) == [
        ("user", ["Find the bug."]),
        ("assistant", ["Hm.", "c1"]),
        ("user", ["c1"]),
        ("assistant", ["It is in x."]),
        ("user", ["Fix it."]),
        ("assistant", ["c2"]),
        ("user", ["c2"]),
        ("assistant", ["Fixed."]),
    ]
    assert session.calls[0].usage == Usage(5, 1000, 40, 0, 20)
    assert session.calls[0].model == "claude-sonnet-4-5"


def test_a_compaction_is_named_and_what_the_program_made_is_left_out(session):
    assert session.compactions == (2,)
    assert [c.hole for c in session.calls] == [False, False, True, False]


def test_an_answer_of_several_calls_is_divided():
    one, two = opencode_answer(2, opencode_tool("c1", "x")), opencode_answer(2, text("It is x."))
    both = {**one, "parts": [*one["parts"], *two["parts"]]}
    (session,), _ = read(export(opencode_message(1, "user", text("Look.")), both), "opencode")
    assert [c.at for c in session.calls] == [1, 3]


@pytest.mark.parametrize(
    ("total", "output"), [({"total": 1065}, 20), ({"total": 1057}, 12), ({}, 12)],
    ids=["thinking stands beside the output", "thinking is part of it", "an older version"],
)  # fmt: skip
def test_the_total_tells_whether_thinking_is_part_of_the_output(total, output):
    answer = opencode_answer(2, text("It is x."))
    tokens = answer["parts"][-1]["tokens"]
    del tokens["total"]
    tokens |= total
    (session,), _ = read(export(answer), "opencode")
    assert session.calls[0].usage.output == output


def test_an_answer_that_was_cut_off_is_billed_as_its_message_tells():
    tokens = {"input": 7, "output": 3, "reasoning": 0, "cache": {"read": 0, "write": 0}}
    broken = {"type": "tool", "tool": "bash", "callID": "c1", "state": {"status": "running"}}
    answer = opencode_message(2, "assistant", {"type": "step-start"}, broken, tokens=tokens)
    (session,), _ = read(export(answer), "opencode")
    assert session.calls[0].usage == Usage(input=7, output=3)
    assert messages(session)[1]["content"][0]["is_error"]


def test_results_that_were_cleared_later_make_a_hole_there():
    when = opencode_message(5, "user")["info"]["time"]["created"]
    found = [
        opencode_message(1, "user", text("Look.")),
        opencode_answer(2, opencode_tool("c1", "x", compacted=when)),
        opencode_answer(3, text("It is x.")),
        opencode_message(6, "user", text("And?")),
        opencode_answer(7, text("Nothing.")),
    ]
    (session,), _ = read(export(*found), "opencode")
    assert [c.hole for c in session.calls] == [False, False, True]


def test_what_is_asked_again_after_an_overflow_is_one_message():
    compaction = {"type": "compaction", "auto": True, "overflow": True}
    asked = [opencode_message(n, "user", text("Look.")) for n in (1, 4)]
    found = [asked[0], opencode_message(2, "user", compaction), asked[1], opencode_answer(5)]
    found[-1] = opencode_answer(5, text("It is x."))
    (session,), _ = read(export(*found), "opencode")
    assert len(session.messages) == 2


def test_attachments_and_a_parent_are_read():
    picture = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,AAAA"}
    folded = {"type": "file", "mime": "text/plain", "url": "file:///x"}
    paper = {"type": "file", "mime": "application/pdf", "url": "file:///y.pdf"}
    user = opencode_message(1, "user", text("Look."), picture, folded, paper, {"type": "subtask"})
    (session,), _ = read(export(user, parentID="ses_0"), "opencode")
    assert session.parent == "ses_0"
    kinds = [b["type"] for b in messages(session)[0]["content"]]
    assert kinds == ["text", "image", "document", "text"]


def storage(root):
    """Lay a session out in files, as OpenCode did before 1.2."""
    info = {"id": "ses_1", "projectID": "p", "directory": "/work"}
    for place, value in [(root / "session" / "p" / "ses_1.json", info), *parts(root)]:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(value))


def parts(root):
    for message in opencode_messages():
        name = message["info"]["id"]
        yield root / "message" / "ses_1" / f"{name}.json", message["info"]
        for part in message["parts"]:
            yield root / "part" / name / f"{part['id']}.json", part


def test_a_session_in_files_of_its_own_says_the_same(tmp_path, session):
    storage(tmp_path)
    (path,) = find([tmp_path])
    (file,) = read_file(path)
    assert (file.harness, file.sessions, dict(file.problems)) == ("opencode", (session,), {})


def test_a_broken_part_of_it_is_counted_and_the_rest_is_there(tmp_path):
    storage(tmp_path)
    (tmp_path / "part" / "msg_03" / "prt_1.json").write_text("{")
    (tmp_path / "message" / "ses_1" / "msg_04.json").write_text("[]")
    (file,) = read_file(tmp_path / "session" / "p" / "ses_1.json")
    assert dict(file.problems) == {"not JSON": 1, "not an object": 1}
    assert len(file.sessions[0].messages) == 6


def test_a_session_s_file_alone_says_that_its_messages_are_missing(tmp_path):
    storage(tmp_path)
    alone = tmp_path / "ses_1.json"
    (tmp_path / "session" / "p" / "ses_1.json").rename(alone)
    (file,) = read_file(alone)
    assert (file.harness, file.sessions) == ("opencode", ())
    assert dict(file.problems) == {"messages that are not there": 1}
    assert file.reason == "no messages in it"


def database(path, *, broken=False):
    """Write OpenCode's tables, as far as they matter."""
    with sqlite3.connect(path) as tables:
        tables.execute("CREATE TABLE session (id, parent_id, time_created)")
        tables.execute("CREATE TABLE message (id, session_id, time_created, data)")
        tables.execute("CREATE TABLE part (id, message_id, session_id, data)")
        tables.executemany(
            "INSERT INTO session VALUES (?, ?, ?)", [("ses_1", None, 1), ("ses_2", "ses_1", 2)]
        )
        for name in ("ses_1", "ses_2"):
            for message in opencode_messages():
                info = message["info"]
                row = (name + info["id"], name, info["time"]["created"], json.dumps(info))
                tables.execute("INSERT INTO message VALUES (?, ?, ?, ?)", row)
                for part in message["parts"]:
                    data = "{" if broken else json.dumps(part)
                    tables.execute(
                        "INSERT INTO part VALUES (?, ?, ?, ?)", (part["id"], row[0], name, data)
                    )
    tables.close()


def test_a_database_gives_its_sessions_one_by_one(tmp_path, session):
    path = tmp_path / "opencode.db"
    database(path)
    first, second = read_file(path)
    assert (first.member, second.member) == ("ses_1", "ses_2")
    assert first.sessions == (session,)
    assert second.sessions[0].parent == "ses_1"


def test_a_database_with_broken_rows_is_read_as_far_as_it_goes(tmp_path):
    path = tmp_path / "opencode.db"
    database(path, broken=True)
    first, second = read_file(path)
    assert (first.harness, first.sessions) == ("opencode", ())
    assert second.problems


def test_another_program_s_database_is_named(tmp_path):
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as tables:
        tables.execute("CREATE TABLE session (id)")
    tables.close()
    (file,) = read_file(path)
    assert (file.harness, file.reason) == ("", "a database of another program")
    path.write_bytes(path.read_bytes()[:40])
    (file,) = read_file(path)
    assert file.reason == "a database that cannot be read"
