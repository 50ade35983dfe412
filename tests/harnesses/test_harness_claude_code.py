"""Claude Code: where requests go, whatever its settings say."""

import json
from pathlib import Path

import pytest

from cuesta.core.errors import ConfigError
from cuesta.harnesses import Launch, find_harness
from cuesta.harnesses.claude_code import ClaudeCode, Settings, arrange

PROXY = "http://127.0.0.1:5000"
GATEWAY = "https://gateway.example.com"
OFFICIAL = "https://api.anthropic.com"
OVERRIDE = json.dumps({"env": {"ANTHROPIC_BASE_URL": PROXY}})


def launch(*argv, upstream="", cwd=Path("/work"), **env):
    return Launch(argv or ("claude",), env, cwd, PROXY, upstream)


def settings(scope, *, place="settings.json", other=None, **env):
    return Settings(scope, place, json.dumps({"env": env, **(other or {})}))


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("claude", "Claude Code"),
        ("/opt/bin/claude -p hi", "Claude Code"),
        ("claude.exe", "Claude Code"),
        ("npx claude", "Claude Code"),
        ("npx -y @anthropic-ai/claude-code@latest -p hi", "Claude Code"),
        ("npx -p @anthropic-ai/claude-code claude", "Claude Code"),
        ("npx prettier claude", "any command"),
        ("npx", "any command"),
        ("claudette", "any command"),
        ("echo claude", "any command"),
    ],
)
def test_claude_code_is_recognised_by_its_name(command, name):
    assert find_harness(command.split()).name == name


@pytest.mark.parametrize("scope", ["user", "local", "project"])
def test_a_settings_file_is_overridden_and_its_address_becomes_the_upstream(scope):
    given = "" if scope == "user" else GATEWAY
    found = arrange(
        launch("claude", "-p", "hi", upstream=given),
        [settings(scope, ANTHROPIC_BASE_URL=GATEWAY)],
    )
    assert found.argv == ("claude", "--settings", OVERRIDE, "-p", "hi")
    assert found.env["ANTHROPIC_BASE_URL"] == PROXY
    assert found.upstream == GATEWAY
    assert found.warnings == ()


@pytest.mark.parametrize("scope", ["local", "project"])
def test_a_project_s_file_does_not_choose_who_gets_the_credentials(scope):
    source = settings(scope, place="/home/me/x/.claude/settings.json", ANTHROPIC_BASE_URL=GATEWAY)
    with pytest.raises(ConfigError) as error:
        arrange(launch(), [source])
    assert "/home/me/x/.claude/settings.json" in str(error.value)
    assert f"cuesta run --upstream {GATEWAY} -- ..." in str(error.value)


def test_the_override_stands_behind_the_program_of_an_npx_command():
    found = arrange(
        launch("npx", "-y", "claude", "-p", "hi"), [settings("user", ANTHROPIC_BASE_URL=GATEWAY)]
    )
    assert found.argv == ("npx", "-y", "claude", "--settings", OVERRIDE, "-p", "hi")


def test_what_claude_code_starts_keeps_its_openai_address():
    assert arrange(launch(OPENAI_BASE_URL=GATEWAY), []).env["OPENAI_BASE_URL"] == GATEWAY
    assert "OPENAI_BASE_URL" not in arrange(launch(), []).env


def test_arguments_stay_untouched_where_nothing_overrides():
    found = arrange(launch("claude", "-p", "hi"), [settings("user", EDITOR="vi")])
    assert found.argv == ("claude", "-p", "hi")


@pytest.mark.parametrize(
    ("upstream", "scopes", "variable", "expected"),
    [
        ("", {}, "", ""),
        ("", {}, GATEWAY, GATEWAY),
        ("", {"user": "https://user.example"}, GATEWAY, "https://user.example"),
        ("https://flag.example", {"user": "https://user.example"}, GATEWAY, "https://flag.example"),
        ("https://flag.example", {"project": GATEWAY}, "", "https://flag.example"),
    ],
)
def test_upstream_is_what_the_person_chose_last(upstream, scopes, variable, expected):
    found = arrange(
        launch(upstream=upstream, ANTHROPIC_BASE_URL=variable),
        [settings(scope, ANTHROPIC_BASE_URL=url) for scope, url in scopes.items()],
    )
    assert found.upstream == expected


@pytest.mark.parametrize(
    ("upstream", "restored"),
    [("", True), (OFFICIAL, True), (GATEWAY, False), ("https://api.anthropic.com.evil", False)],
)
def test_features_are_restored_only_in_front_of_the_official_host(upstream, restored):
    env = arrange(launch(upstream=upstream), []).env
    assert (env.get("ENABLE_TOOL_SEARCH") == "true") is restored
    assert (env.get("CLAUDE_CODE_ENABLE_FINE_GRAINED_TOOL_STREAMING") == "1") is restored


def test_features_that_somebody_chose_stay_as_chosen():
    found = arrange(
        launch(ENABLE_TOOL_SEARCH="auto:5"),
        [settings("user", CLAUDE_CODE_ENABLE_FINE_GRAINED_TOOL_STREAMING="0")],
    )
    assert found.env["ENABLE_TOOL_SEARCH"] == "auto:5"
    assert "CLAUDE_CODE_ENABLE_FINE_GRAINED_TOOL_STREAMING" not in found.env


@pytest.mark.parametrize(
    ("sources", "env", "warning"),
    [
        (
            [settings("managed", place="/etc/m.json", ANTHROPIC_BASE_URL=GATEWAY)],
            {},
            "ANTHROPIC_BASE_URL in /etc/m.json goes before Cuesta's",
        ),
        (
            [settings("command", place="your own --settings", ANTHROPIC_BASE_URL=GATEWAY)],
            {},
            "ANTHROPIC_BASE_URL in your own --settings goes before Cuesta's",
        ),
        (
            [settings("command"), settings("user", place="~/s.json", ANTHROPIC_BASE_URL=GATEWAY)],
            {},
            "ANTHROPIC_BASE_URL in ~/s.json goes before Cuesta's",
        ),
        (
            [settings("user", place="~/s.json", CLAUDE_CODE_USE_BEDROCK="1")],
            {},
            "CLAUDE_CODE_USE_BEDROCK in ~/s.json makes Claude Code use Amazon Bedrock",
        ),
        ([], {"CLAUDE_CODE_USE_VERTEX": "true"}, "CLAUDE_CODE_USE_VERTEX in the environment makes"),
        ([], {"CLAUDE_CODE_USE_FOUNDRY": "1"}, "use Microsoft Foundry"),
        (
            [settings("managed", place="/etc/m.json", other={"allowedProviders": ["anthropic"]})],
            {},
            "`allowedProviders` in /etc/m.json may forbid",
        ),
    ],
)
def test_what_cannot_be_overridden_is_named(sources, env, warning):
    found = arrange(launch("claude", "-p", "hi", **env), sources)
    assert len(found.warnings) == 1
    assert warning in found.warnings[0]
    assert found.argv == ("claude", "-p", "hi")


@pytest.mark.parametrize(
    ("sources", "env"),
    [
        ([settings("user", CLAUDE_CODE_USE_BEDROCK="0")], {}),
        ([settings("user", CLAUDE_CODE_USE_BEDROCK="0")], {"CLAUDE_CODE_USE_BEDROCK": "1"}),
        ([Settings("user", "s.json", "{ not json")], {}),
        ([Settings("user", "s.json", '["a list"]')], {}),
        ([settings("command", other={"model": "opus"})], {}),
    ],
)
def test_there_is_no_warning_without_a_reason(sources, env):
    assert arrange(launch(**env), sources).warnings == ()


def write(path, **env):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"env": env}))
    return path


def test_every_file_is_read_where_claude_code_looks_for_it(tmp_path):
    harness = ClaudeCode(managed=tmp_path / "managed")
    home, cwd = tmp_path / "home", tmp_path / "cwd"

    def upstream(*argv, **env):
        return harness.prepare(launch("claude", *argv, cwd=cwd, HOME=str(home), **env)).upstream

    assert upstream() == ""
    write(home / ".claude" / "settings.json", ANTHROPIC_BASE_URL="https://home.example")
    assert upstream() == "https://home.example"
    assert upstream("--setting-sources", "project,local") == ""
    write(tmp_path / "own" / "settings.json", ANTHROPIC_BASE_URL="https://own.example")
    assert upstream(CLAUDE_CONFIG_DIR=str(tmp_path / "own")) == "https://own.example"
    write(cwd / "flag.json", ANTHROPIC_BASE_URL="https://flag.example")
    assert upstream("--settings", "flag.json") == "https://flag.example"
    assert upstream('--settings={"env":{"ANTHROPIC_BASE_URL":"https://x.example"}}') == (
        "https://x.example"
    )
    for name in ("settings.json", "settings.local.json"):
        project = write(cwd / ".claude" / name, ANTHROPIC_BASE_URL=GATEWAY)
        with pytest.raises(ConfigError, match=name.replace(".", r"\.")):
            upstream()
        project.unlink()


def test_in_the_home_folder_the_person_s_file_is_no_project_s(tmp_path):
    write(tmp_path / ".claude" / "settings.json", ANTHROPIC_BASE_URL=GATEWAY)
    found = ClaudeCode(managed=tmp_path).prepare(launch(cwd=tmp_path, HOME=str(tmp_path)))
    assert found.upstream == GATEWAY
    assert found.argv == ("claude", "--settings", OVERRIDE)


@pytest.mark.parametrize("name", ["managed-settings.json", "managed-settings.d/10-gateway.json"])
def test_managed_settings_are_read(tmp_path, name):
    path = write(tmp_path / name, ANTHROPIC_BASE_URL=GATEWAY)
    found = ClaudeCode(managed=tmp_path).prepare(launch(cwd=tmp_path, HOME=str(tmp_path)))
    assert found.upstream == ""
    assert str(path) in found.warnings[0]


def test_settings_that_cannot_be_read_still_take_the_place_of_ours(tmp_path):
    write(tmp_path / ".claude" / "settings.json", ANTHROPIC_BASE_URL=GATEWAY)
    found = ClaudeCode(managed=tmp_path).prepare(
        launch("claude", "--settings", "absent.json", cwd=tmp_path / "cwd", HOME=str(tmp_path))
    )
    assert found.argv == ("claude", "--settings", "absent.json")
    assert len(found.warnings) == 1
