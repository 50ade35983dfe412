import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuesta.core.excerpts import CUT
from cuesta.core.transcript import Block, BlockKind
from cuesta.protocols.lexicon import HarnessLexicon
from cuesta.protocols.signatures import signature
from cuesta.testing.histories.hypothesis import texts


def _signed(name: str, arguments: dict[str, object] | None, limit: int = 1000):
    """Return a call's signature as (name, text or counted characters) pairs."""
    call = Block(BlockKind.CALL, name=name, call_id="a", arguments=arguments)
    quotes = signature(call, limit)
    assert HarnessLexicon().signature(call, limit) == quotes
    if quotes is None:
        return None
    return [(quote.name, quote.counted or quote.text) for quote in quotes]


_LONG = "x" * 400


@pytest.mark.parametrize(
    ("name", "arguments", "kept"),
    [
        # OpenHands: the paper's Table 12.
        ("terminal", {"command": "ls -l", "is_input": "false"}, [("command", "ls -l")]),
        (
            "file_editor",
            {"command": "view", "path": "/a.py", "view_range": [1, 40]},
            [("command", "view"), ("path", "/a.py"), ("view_range", "[1, 40]")],
        ),
        (
            "file_editor",
            {"command": "view", "path": "/a.py"},
            [("command", "view"), ("path", "/a.py")],
        ),
        (
            "file_editor",
            {"command": "create", "path": "/a.py", "file_text": "x" * 321},
            [("command", "create"), ("path", "/a.py"), ("file_text", 321)],
        ),
        (
            "file_editor",
            {"command": "str_replace", "path": "/a.py", "old_str": "old", "new_str": "new"},
            [("command", "str_replace"), ("path", "/a.py"), ("old_str", "old")],
        ),
        (
            "file_editor",
            {"command": "insert", "path": "/a.py", "insert_line": 7, "new_str": "new"},
            [("command", "insert"), ("path", "/a.py"), ("insert_line", "7")],
        ),
        (
            "file_editor",
            {"command": "undo_edit", "path": "/a.py"},
            [("command", "undo_edit"), ("path", "/a.py")],
        ),
        ("think", {"thought": "Perhaps."}, [("thought", "Perhaps.")]),
        ("think", {"thought": "So.", "summary": "s", "security_risk": "LOW"}, [("thought", "So.")]),
        ("finish", {"message": "Done.", "summary": "s"}, []),
        ("task_tracker", {"command": "plan", "task_list": []}, None),
        ("Task_Tracker", {"anything": "else"}, None),
        # Claude Code and others.
        ("Bash", {"command": "ls", "description": "List", "timeout": 9}, [("command", "ls")]),
        ("shell", {"cmd": "ls", "workdir": "/"}, [("cmd", "ls")]),
        ("terminus", {"keystrokes": "ls\n", "duration": 1.0}, [("keystrokes", "ls")]),
        (
            "Edit",
            {"file_path": "/a", "old_string": "o", "new_string": "n", "replace_all": False},
            [("file_path", "/a"), ("old_string", "o"), ("new_string", "n")],
        ),
        (
            "edit",
            {"path": "/a", "old": "o", "new": "n"},
            [("path", "/a"), ("old", "o"), ("new", "n")],
        ),
        ("Write", {"file_path": "/a", "content": _LONG}, [("file_path", "/a"), ("content", 400)]),
        ("write", {"content": _LONG, "path": "/a"}, [("path", "/a"), ("content", 400)]),
        ("Write", {"file_path": "/a", "content": ""}, [("file_path", "/a")]),
        # Generic.
        ("Read", {"file_path": "/a", "limit": 3}, [("file_path", "/a"), ("limit", "3")]),
        (
            "mcp__db__query",
            {"sql": "select 1", "deep": {"b": [1, None], "a": "é"}},
            [("sql", "select 1"), ("deep", '{"b": [1, null], "a": "é"}')],
        ),
        ("TodoWrite", {"todos": []}, [("todos", "[]")]),
        ("none", {}, []),
        ("none", None, []),
        ("blank", {"a": " \n", "b": "x"}, [("b", "x")]),
    ],
)
def test_each_row_of_the_table(name, arguments, kept):
    assert _signed(name, arguments) == kept


def test_finish_keeps_its_name_only_as_table_12_says():
    assert _signed("finish", {"message": "All done, here is a long report."}) == []


def test_an_old_text_has_its_own_150_characters_as_table_12_says():
    arguments = {"command": "str_replace", "path": "/" + "p" * 99, "old_str": "o" * 400}
    kept = dict(_signed("file_editor", arguments, 150))
    assert kept["old_str"] == "o" * 150 + CUT


def test_an_editor_command_that_no_row_knows_is_a_command():
    assert _signed("file_editor", {"command": "move", "path": "/a"}) == [("command", "move")]


def test_the_first_row_that_fits_decides_whatever_the_tool_is_called():
    arguments = {"command": "view", "path": "/a"}
    assert _signed("anything", arguments) == _signed("str_replace_based_edit_tool", arguments)


@pytest.mark.parametrize("limit", [0, 1, 2, 10, 150])
def test_arguments_share_one_limit(limit: int):
    quotes = signature(
        Block(BlockKind.CALL, name="x", arguments={f"k{i}": "v" * 40 for i in range(9)}), limit
    )
    shown = "".join(quote.text.replace(CUT, "") for quote in quotes or ())
    assert shown == "v" * limit


def test_what_is_only_counted_takes_nothing_of_the_limit_and_survives_it():
    kept = _signed("Write", {"file_path": "/" + "p" * 40, "content": _LONG}, 10)
    assert kept == [("file_path", "/ppppppppp" + CUT), ("content", 400)]


_VALUES = texts(max_size=60) | st.integers() | st.none() | st.lists(st.integers(), max_size=4)


@given(st.dictionaries(st.text(min_size=1, max_size=80), _VALUES, max_size=6), st.integers(0, 200))
def test_any_arguments_are_quoted_literally_within_the_limit(arguments, limit):
    quotes = signature(Block(BlockKind.CALL, name="mcp__x", arguments=arguments), limit) or ()
    assert sum(len(q.text.replace(CUT, "")) for q in quotes if not q.counted) <= limit
    whole = [
        re.sub("[\ud800-\udfff]", "\ufffd", value)
        if isinstance(value, str)
        else json.dumps(value, ensure_ascii=False)
        for value in arguments.values()
    ]
    assert len(quotes) <= len(arguments)
    for quote in quotes:
        pieces = quote.text.split(CUT)
        assert quote.counted or any(all(piece in text for piece in pieces) for text in whole)
