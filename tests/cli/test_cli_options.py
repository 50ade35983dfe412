"""Options: one declaration, three sources, errors that name theirs."""

import argparse
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cuesta.cli.options import (
    DECLARATIONS,
    Parser,
    add_flags,
    gather,
    options_of,
    to_environment,
    unknown_variables,
)
from cuesta.core.errors import ConfigError


def option(default, text="what it does", **metadata):
    return field(default=default, metadata={"help": text, **metadata})


@dataclass(frozen=True)
class Server:
    port: int = option(4141, "the port")
    allow_host: tuple[str, ...] = option((), "an added host, 100 % allowed")
    ephemeral: bool = option(False, "keep nothing")
    pause: float = option(1.5, "seconds")
    state: Path | None = field(default=None, metadata={"help": "a folder"})
    hidden: str = "not an option"

    def __post_init__(self):
        if self.port < 0:
            raise ValueError("a port cannot be negative")


@dataclass(frozen=True)
class Cuts:
    profile: str = option("default", "how much", choices=("default", "paper"))
    threshold: int | None = option(None, "tokens")


def read(flags=(), environ=None, file=None):
    parser = Parser("cuesta test", "A test.")
    add_flags(parser, Server, Cuts)
    arguments = parser.parse_args([*flags, *(["--config", str(file)] if file else [])])
    given = gather(arguments, environ or {}, Server, Cuts)
    return given, given.build(Server), given.build(Cuts)


@pytest.fixture(autouse=True)
def no_file_of_the_person(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def config(tmp_path):
    def write(text):
        path = tmp_path / "options.toml"
        path.write_text(text)
        return path

    return write


def test_a_field_without_help_is_no_option():
    assert [o.name for o in options_of(Server)] == [
        "port",
        "allow_host",
        "ephemeral",
        "pause",
        "state",
    ]


def test_flag_beats_variable_beats_file_beats_default(config):
    file = config("port = 1\npause = 1\n")
    assert read()[1].port == 4141
    assert read(file=file)[1].port == 1
    assert read(environ={"CUESTA_PORT": "2"}, file=file)[1].port == 2
    assert read(["--port", "3"], {"CUESTA_PORT": "2"}, file)[1].port == 3
    assert read(["--port", "3"], {"CUESTA_PORT": "2"}, file)[1].pause == 1.0


def test_only_what_was_given_counts_as_given(config):
    given, _, _ = read(["--port", "4141"], {"CUESTA_PROFILE": "paper"}, config("pause = 2\n"))
    assert given.values == {"port": 4141, "profile": "paper", "pause": 2.0}


def test_every_kind_reads_the_same_from_every_source(config):
    wanted = Server(7, ("a", "b"), ephemeral=True, pause=0.5, state=Path("s"))
    flags = ["--port=7", "--allow-host=a", "--allow-host", "b", "--ephemeral", "--pause=.5"]
    assert read([*flags, "--state=s"])[1] == wanted
    assert read(environ=to_environment(wanted, Cuts(threshold=5000)))[1] == wanted
    assert read(environ=to_environment(wanted, Cuts(threshold=5000)))[2] == Cuts(threshold=5000)
    toml = 'port=7\nallow-host=["a","b"]\nephemeral=true\npause=0.5\nstate="s"'
    assert read(file=config(toml))[1] == wanted


def test_what_is_none_stays_none_on_the_way_through_variables():
    assert to_environment(Cuts()) == {"CUESTA_PROFILE": "default"}


def test_a_flag_can_switch_off_what_a_file_switched_on(config):
    file = config("ephemeral = true\n")
    assert read(file=file)[1].ephemeral
    assert not read(["--no-ephemeral"], file=file)[1].ephemeral


def test_the_person_s_own_file_is_read_unless_another_is_named(tmp_path, monkeypatch, config):
    monkeypatch.setattr(sys, "platform", "linux")
    own = tmp_path / "xdg" / "cuesta" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text("port = 5\n")
    assert read()[1].port == 5
    assert read(environ={"CUESTA_CONFIG": str(config("pause = 3\n"))})[1] == Server(pause=3.0)


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("\nprofil = 'paper'", "line 2, key `profil`: no such option; did you mean `profile`?"),
        ("xyzzy = 1", "known: allow-host, ephemeral, pause, port, profile, state, threshold"),
        ("# port\n\nport = 'x'", "line 3, key `port`: expected a whole number, not 'x'"),
        ("port = true", "expected a whole number, not True"),
        ("ephemeral = 1", "expected true or false, not 1"),
        ("allow_host = 'a'", "line 1, key `allow_host`: expected a list of texts, not 'a'"),
        ("allow_host = [1]", "expected a list of texts, not [1]"),
        ("profile = 'loud'", "expected default or paper, not 'loud'"),
        ("port = 1\npause = = 2", "is not valid TOML: Invalid value (at line 2"),
        ("[server]\nport = 1", "line 1, key `server`: no such option"),
    ],
)
def test_a_bad_file_is_named_with_line_and_key(config, toml, message):
    file = config(toml)
    with pytest.raises(ConfigError) as error:
        read(file=file)
    assert str(file) in str(error.value)
    assert message in str(error.value)


def test_a_named_file_must_exist(tmp_path):
    with pytest.raises(ConfigError, match=r"absent\.toml: cannot be read: No such file"):
        read(file=tmp_path / "absent.toml")


@pytest.mark.parametrize(
    ("variable", "text", "message"),
    [
        (
            "CUESTA_PORT",
            "4x",
            "environment variable CUESTA_PORT: expected a whole number, not '4x'",
        ),
        ("CUESTA_EPHEMERAL", "maybe", "CUESTA_EPHEMERAL: expected true or false, not 'maybe'"),
        ("CUESTA_PROFILE", "loud", "CUESTA_PROFILE: expected default or paper, not 'loud'"),
    ],
)
def test_a_bad_variable_is_named(variable, text, message):
    with pytest.raises(ConfigError) as error:
        read(environ={variable: text})
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--port", "4x"], "argument --port: expected a whole number, not '4x'"),
        (["--profile", "loud"], "argument --profile: expected default or paper, not 'loud'"),
        (["--prot", "1"], "unrecognized arguments: --prot 1"),
        (["--por", "1"], "unrecognized arguments: --por 1"),
    ],
)
def test_a_bad_flag_is_named_with_a_way_to_help(flags, message):
    with pytest.raises(ConfigError) as error:
        read(flags)
    assert str(error.value) == f"{message}\nSee `cuesta test --help`."


def test_a_dataclass_may_refuse_its_values():
    with pytest.raises(ConfigError, match="a port cannot be negative"):
        read(environ={"CUESTA_PORT": "-1"})


def test_help_shows_each_option_with_its_default_within_80_columns(capsys):
    with pytest.raises(SystemExit):
        read(["--help"])
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    assert "--ephemeral, --no-ephemeral" in text
    assert "the port (default: 4141)" in text
    assert "100 % allowed" in text
    assert "SUPPRESS" not in text


def test_options_cost_little_to_load():
    """The start budget of a verb is spent elsewhere: nothing heavy comes with the options."""
    code = "import sys, cuesta.cli.options; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"platformdirs", "rich", "aiohttp", "sqlite3", "asyncio"}.isdisjoint(out.stdout.split())


def test_parse_errors_are_not_argparse_s_own_exit():
    parser = Parser("cuesta test", "A test.")
    assert isinstance(parser, argparse.ArgumentParser)
    with pytest.raises(ConfigError):
        parser.parse_args(["stray"])


MISTAKES = {
    "host": ["http://x", "a b"],
    "port": ["-1", "65536", "1.5", "x"],
    "upstream": ["nonsense", "http://127.0.0.1:99999", "http://[::1", "http://h h/", "ftp://x"],
    "openai_upstream": ["http://x:0"],
    "chatgpt_upstream": ["https://u:secret@x"],
    "allow_host": ["http://x", "x:80", "*", "*.example", "a/b"],
    "drain_s": ["-1", "x"],
    "profile": ["loud", "Default"],
    "threshold": ["-1", "1", "999", "x"],
    "window": ["-200000", "3999"],
}


@pytest.mark.parametrize("source", ["flag", "variable", "file"])
@pytest.mark.parametrize(("name", "text"), [(n, t) for n, ts in MISTAKES.items() for t in ts])
def test_every_mistake_in_a_value_names_where_it_stands(name, text, source, config):
    key, variable = name.replace("_", "-"), f"CUESTA_{name.upper()}"
    parser = Parser("cuesta test", "A test.")
    add_flags(parser, *DECLARATIONS)
    flags, environ, place = [f"--{key}={text}"], {}, f"argument --{key}: "
    if source == "variable":
        flags, environ, place = [], {variable: text}, f"environment variable {variable}: "
    if source == "file":
        number = text.lstrip("-").isdigit()
        value = text if number else repr(text)
        file = config(f"\n{key} = {f'[{value}]' if name == 'allow_host' else value}\n")
        flags, place = ["--config", str(file)], f"{file}, line 2, key `{key}`: "
    with pytest.raises(ConfigError) as error:
        gather(parser.parse_args(flags), environ, *DECLARATIONS)
    assert str(error.value).startswith(place)
    assert "secret" not in str(error.value)


def test_zero_leaves_the_choice_to_us_and_the_least_figures_are_allowed():
    parser = Parser("cuesta test", "A test.")
    add_flags(parser, *DECLARATIONS)
    for flags in (["--threshold=0", "--window=0"], ["--threshold=1000", "--window=4000"]):
        gather(parser.parse_args(flags), {}, *DECLARATIONS)


def test_help_shows_the_choices(capsys):
    with pytest.raises(SystemExit):
        read(["--help"])
    assert "--profile default|paper" in capsys.readouterr().out


def test_variables_that_mean_nothing_are_named():
    known = {option.variable: "1" for d in DECLARATIONS for option in options_of(d)}
    assert not list(unknown_variables({**known, "CUESTA_CONFIG": "x", "HOME": "/", "CUESTA": ""}))
    one, two = unknown_variables({"CUESTA_THRESHHOLD": "1", "CUESTA_XYZZY": "1"})
    assert one.endswith(
        "CUESTA_THRESHHOLD is no option of Cuesta's; did you mean CUESTA_THRESHOLD?"
    )
    assert two.endswith("CUESTA_XYZZY is no option of Cuesta's.")
