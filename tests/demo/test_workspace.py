import pytest

from cuesta.testing.briefing import tools
from cuesta.testing.project import project_files
from cuesta.testing.workspace import ARGUMENTS, Workspace

TEST_CASE = "import unittest\n\nclass T(unittest.TestCase):\n    def test(self):\n        {}\n"


@pytest.fixture
def workspace():
    with Workspace() as made:
        yield made


def test_project_is_the_same_for_one_seed_and_differs_in_tables_only():
    one, again, other = project_files(7), project_files(7), project_files(8)
    assert one == again
    assert one.keys() == other.keys()
    differing = {path for path in one if one[path] != other[path]}
    assert "stockroom/catalogue.py" in differing
    assert not any(path.startswith(("tests/", "docs/")) for path in differing)
    assert not any("[rows:" in text for text in one.values())


def test_project_has_the_size_of_a_real_one():
    files = {path: len(text) for path, text in project_files().items()}
    sources = [size for path, size in files.items() if path.startswith("stockroom/")]
    assert len(sources) >= 12
    assert sum(20_000 <= size <= 45_000 for size in sources) >= 4
    assert 150_000 <= sum(files.values()) <= 300_000


@pytest.mark.parametrize("seed", [7, 8, 2026])
def test_exactly_the_two_tests_of_the_bug_fail(seed):
    with Workspace(seed) as made:
        result = made.call("run_tests", {})
    assert result.is_error
    failed = {line.split()[1] for line in result.text.splitlines() if line.startswith("FAIL: ")}
    assert failed == {"test_four_cases", "test_each_break_is_counted_where_it_was_earned"}


def test_folder_is_gone_at_the_end():
    with Workspace() as made:
        root = made.root
        assert (root / "README.md").is_file()
    assert not root.exists()


def test_read_gives_numbered_lines_and_says_where_to_read_on(workspace):
    text = workspace.call("read_file", {"path": "README.md", "offset": 2, "limit": 2}).text
    lines = (workspace.root / "README.md").read_text().splitlines()
    second, third, note = text.splitlines()
    assert (second, third) == (f"     2\t{lines[1]}", f"     3\t{lines[2]}")
    assert note == f"[lines 2 to 3 of {len(lines)}; read on with offset 4]"


def test_search_names_path_line_and_text(workspace):
    found = workspace.call("search", {"pattern": r"^def break_for", "path": "stockroom"})
    path, line, text = found.text.split(":", 2)
    source = (workspace.root / path).read_text().splitlines()
    assert path == "stockroom/discounts.py"
    assert source[int(line) - 1] == text
    assert not found.is_error


def test_search_without_a_hit_is_no_error(workspace):
    assert not workspace.call("search", {"pattern": "no such words"}).is_error


def test_long_lists_of_hits_are_cut_with_a_note(workspace):
    lines = workspace.call("search", {"pattern": "."}).text.splitlines()
    assert len(lines) == 151
    assert lines[-1].endswith("more lines match; narrow the pattern or the path]")


def test_edit_changes_the_only_place_and_shows_it(workspace):
    call = {"path": "stockroom/money.py", "old": 'currency="EUR"', "new": 'currency="SEK"'}
    result = workspace.call("edit_file", call)
    assert not result.is_error
    assert 'currency="SEK"' in result.text
    assert 'currency="SEK"' in (workspace.root / "stockroom/money.py").read_text()


@pytest.mark.parametrize(
    ("old", "times"), [("return", "6"), ("nowhere to be found", "0"), ("", "0")]
)
def test_edit_refuses_what_does_not_stand_once(workspace, old, times):
    before = (workspace.root / "stockroom/money.py").read_text()
    result = workspace.call("edit_file", {"path": "stockroom/money.py", "old": old, "new": "x"})
    assert result.is_error
    assert f"{times} times" in result.text
    assert (workspace.root / "stockroom/money.py").read_text() == before


def test_write_makes_folders(workspace):
    assert not workspace.call("write_file", {"path": "a/b/c.txt", "content": "é\n"}).is_error
    assert (workspace.root / "a/b/c.txt").read_bytes() == "é\n".encode()


@pytest.mark.parametrize("path", ["../outside", "/etc/passwd", "a/../../outside", "\0"])
@pytest.mark.parametrize("tool", ["read_file", "search", "list_files", "edit_file", "write_file"])
def test_no_path_leaves_the_workspace(workspace, tool, path):
    full = {"path": path, "pattern": "x", "old": "x", "new": "y", "content": "z"}
    arguments = {key: value for key, value in full.items() if key in ARGUMENTS[tool]}
    result = workspace.call(tool, arguments)
    assert result.is_error
    assert "outside the workspace" in result.text or "not a path" in result.text
    assert not (workspace.root.parent / "outside").exists()


def test_no_link_leads_out_of_the_workspace(workspace, tmp_path):
    (tmp_path / "secret.txt").write_text("do not show")
    (workspace.root / "link").symlink_to(tmp_path)
    assert workspace.call("read_file", {"path": "link/secret.txt"}).is_error
    assert "secret.txt" not in workspace.call("search", {"pattern": "do not show"}).text
    assert "secret" not in workspace.call("list_files", {}).text


@pytest.mark.parametrize(
    "command",
    [
        "rm README.md",
        "cat /etc/passwd",
        "cat ../outside",
        "wc --files0-from=/etc/passwd",
        "sh -c id",
        "cat 'unclosed",
        "",
    ],
)
def test_bash_runs_harmless_commands_only(workspace, command):
    assert workspace.call("bash", {"command": command}).is_error
    assert (workspace.root / "README.md").is_file()


def test_bash_uses_no_shell(workspace):
    result = workspace.call("bash", {"command": "echo $HOME ; rm README.md"})
    assert result.text == "$HOME ; rm README.md\n"
    assert (workspace.root / "README.md").is_file()


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("no_tool", {}),
        ("read_file", {}),
        ("read_file", {"path": "README.md", "colour": "red"}),
        ("read_file", {"path": "README.md", "offset": "1"}),
        ("read_file", {"path": "README.md", "offset": 4000}),
        ("read_file", {"path": "stockroom"}),
        ("write_file", {"path": "stockroom", "content": ""}),
        ("write_file", {"path": "README.md/x", "content": ""}),
        ("search", {"pattern": "("}),
        ("search", {"pattern": "x", "path": "nowhere"}),
        ("run_tests", {"target": "--help"}),
        ("run_tests", {"target": "tests.nowhere"}),
    ],
)
def test_what_cannot_be_done_is_answered_as_an_error(workspace, tool, arguments):
    result = workspace.call(tool, arguments)
    assert result.is_error
    assert result.text


def test_answers_tell_neither_place_nor_time(workspace):
    with Workspace() as other:
        assert workspace.root != other.root
        for call in ({}, {"target": "tests.test_orders"}, {"target": "tests.nowhere"}):
            mine, theirs = workspace.call("run_tests", call), other.call("run_tests", call)
            assert mine == theirs
            assert str(workspace.root) not in mine.text


def test_an_endless_test_is_ended():
    endless = TEST_CASE.format("while 1: ...")
    with Workspace(test_seconds=0.5) as workspace:
        workspace.call("write_file", {"path": "tests/test_endless.py", "content": endless})
        result = workspace.call("run_tests", {"target": "tests.test_endless"})
    assert result.is_error
    assert "ended after" in result.text


def test_an_edit_within_the_same_second_is_seen(workspace):
    for word, fails in (("True ", False), ("False", True), ("True ", False)):
        content = TEST_CASE.format(f"assert {word}")
        workspace.call("write_file", {"path": "tests/test_now.py", "content": content})
        assert workspace.call("run_tests", {"target": "tests.test_now"}).is_error is fails


def test_tools_described_are_the_tools_there_are():
    described = {tool["name"]: tool["input_schema"] for tool in tools()}
    assert described.keys() == ARGUMENTS.keys()
    for name, schema in described.items():
        assert schema["properties"].keys() == ARGUMENTS[name].keys()


def test_optional_arguments_are_described_as_such(workspace):
    full = {"path": "README.md", "pattern": "x", "old": "x", "new": "y", "content": "z"}
    full["command"] = "echo"
    for tool in tools():
        required = tool["input_schema"]["required"]
        result = workspace.call(tool["name"], {key: full[key] for key in required})
        assert "missing" not in result.text
        for left_out in required:
            fewer = {key: full[key] for key in required if key != left_out}
            assert "missing" in workspace.call(tool["name"], fewer).text
