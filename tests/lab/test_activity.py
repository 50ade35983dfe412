"""What a call does, told from its tool's name and its command."""

import json

import pytest

from cuesta.lab.activity import activity
from cuesta.lab.prepared import prepare
from cuesta.trace.session import Call, Session


def did(*calls):
    """Return the letters of a session whose calls use a tool each: (name, arguments)."""
    raws = [{"role": "user", "content": "Fix it."}]
    asked = []
    for number, (name, arguments) in enumerate(calls):
        asked.append(Call(len(raws), "claude-sonnet-4-5"))
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"id": f"c{number}", "type": "function", "function": function}
        raws.append({"role": "assistant", "content": "", "tool_calls": [call]})
        raws.append({"role": "tool", "tool_call_id": f"c{number}", "content": "done"})
    messages = tuple(json.dumps(raw).encode() for raw in raws)
    return activity(prepare(Session("made", "one", "openai_chat", messages, tuple(asked))))


def shell(*lines):
    return did(*(("bash", {"command": line}) for line in lines))


@pytest.mark.parametrize(
    ("line", "letter"),
    [
        ("cat src/a.py", "r"),
        ("cd /x && sed -n '1,20p' src/a.py", "r"),
        ("nl -ba src/a.py | grep -n def", "r"),
        ("grep -rn def src | head -5", "s"),
        ("ls -la && find . -name '*.py'", "s"),
        ("sed -i 's/a/b/' src/a.py", "e"),
        ("cat > src/a.py <<'EOF'\npytest\nEOF", "e"),
        ("cat <<'EOF' > src/a.py\nrm x\nEOF", "e"),
        ("cd /x && FOO=1 timeout 60 python -m pytest -q tests", "t"),
        ("npm test", "t"),
        ("cargo test --all", "t"),
        ("cat src/a.py && pytest -q", "t"),
        ("git status", "o"),
        ("echo done", "o"),
        ("", "o"),
    ],
)
def test_a_command_is_told_by_its_first_words(line, letter):
    assert shell(line) == letter


@pytest.mark.parametrize(
    ("tool", "arguments", "letter"),
    [
        ("Read", {"file_path": "/a.py"}, "r"),
        ("Edit", {"file_path": "/a.py", "old_string": "a", "new_string": "b"}, "e"),
        ("write_file", {"file_path": "/a.py", "content": "cat x"}, "e"),
        ("Grep", {"pattern": "def", "path": "/src"}, "s"),
        ("list_directory", {"path": "/src"}, "s"),
        ("str_replace_editor", {"command": "view", "path": "/a.py"}, "r"),
        ("str_replace_editor", {"command": "str_replace", "path": "/a.py"}, "e"),
        ("run_tests", {}, "t"),
        ("think", {"thought": "cat a.py"}, "o"),
    ],
)
def test_a_tool_is_told_by_its_name(tool, arguments, letter):
    assert did((tool, arguments)) == letter


def test_a_file_that_was_opened_is_read_again():
    lines = ["cat src/a.py", "cat src/b.py", "sed -n 5,9p ./src/a.py", "cat src/c.py src/b.py"]
    assert shell(*lines) == "rrRR"


def test_editing_a_file_does_not_open_it():
    edit = ("Edit", {"file_path": "/a.py", "old_string": "a", "new_string": "b"})
    read = ("Read", {"file_path": "/a.py"})
    assert did(edit, read, edit, read) == "ereR"


def test_there_is_a_letter_for_every_call():
    assert did() == ""
    assert len(shell(*["ls"] * 7)) == 7
