"""`--harness` by flag, variable and file: what is taken, and how a mistake is told."""

import pytest

from cuesta.cli import serve
from cuesta.cli.options import Parser, add_flags, gather, to_environment
from cuesta.core.errors import ConfigError
from cuesta.exchange.options import CompactionOptions


def given(flags=(), environ=None, toml="", folder=None):
    parser = Parser("cuesta", "")
    add_flags(parser, CompactionOptions)
    if folder is not None:
        (folder / "options.toml").write_text(toml)
        flags = (*flags, "--config", str(folder / "options.toml"))
    arguments = parser.parse_args(list(flags))
    return gather(arguments, environ or {"CUESTA_CONFIG": "/dev/null"}, CompactionOptions).build(
        CompactionOptions
    )


def test_it_is_empty_unless_it_is_said():
    assert given().harness == ""


@pytest.mark.parametrize("name", ["mini-swe-agent-1", "swe-agent", "terminus-2", "none"])
def test_flag_variable_and_file(name, tmp_path):
    by_variable = {"CUESTA_CONFIG": "/dev/null", "CUESTA_HARNESS": name}
    assert given(["--harness", name]).harness == name
    assert given(environ=by_variable).harness == name
    assert given(toml=f'harness = "{name}"', folder=tmp_path).harness == name
    assert given(environ=to_environment(CompactionOptions(harness=name))).harness == name
    assert to_environment(CompactionOptions())["CUESTA_HARNESS"] == ""


def test_an_unknown_one_is_told_with_the_known_ones():
    with pytest.raises(ConfigError, match="expected mini-swe-agent-1 or swe-agent or terminus-2"):
        serve.main(["--harness", "aider"])
