"""Options declared once: a dataclass field is a flag, a variable and a key of the options file.

Each room declares its options as dataclass fields with a `help` text in their metadata; fields
without one are no options. A field `allow_host` becomes `--allow-host`, `CUESTA_ALLOW_HOST` and
`allow-host = [...]`; flag goes before variable, variable before file, file before default.
"""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import os
import re
import tomllib
import types
import typing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from cuesta.core.errors import ConfigError
from cuesta.exchange.options import CompactionOptions
from cuesta.proxy.options import ProxyOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

T = TypeVar("T")
DECLARATIONS = (ProxyOptions, CompactionOptions)
"""All options that a file may hold, whichever verb reads it."""

_WORDS = {
    **dict.fromkeys(("1", "true", "yes", "on"), True),
    **dict.fromkeys(("0", "false", "no", "off"), False),
}
_LEAST = {"threshold": 1_000, "window": 4_000}
"""Smaller figures leave no room for a conversation; 0 stands for a choice of our own."""
_ENVIRONMENT_ONLY = frozenset({"CUESTA_CONFIG", "CUESTA_PI_PROVIDERS"})
_METAVARS = {int: "N", float: "N", Path: "PATH"}
_NOUNS = {bool: "true or false", int: "a whole number", float: "a number", tuple: "a list of texts"}


@dataclass(frozen=True, slots=True)
class Option:
    """One declared option.

    Attributes:
        name: The field's name.
        kind: `str`, `int`, `float`, `bool`, `Path` or `tuple` (of texts).
        help: What it does.
        default: The value where nobody gives one.
        choices: The only values allowed; empty: any.
        check: Raises `ValueError` for a value (or part of a list) that makes no sense, if given.
    """

    name: str
    kind: type
    help: str
    default: Any
    choices: tuple[str, ...]
    check: Callable[[Any], None] | None = None

    @property
    def key(self) -> str:
        """The name as it stands in a file or, behind two dashes, in a command."""
        return self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        """The environment variable."""
        return f"CUESTA_{self.name.upper()}"

    def from_text(self, text: str) -> Any:  # noqa: ANN401 - the option's own kind
        """Read a variable's text; lists stand with commas between.

        Raises:
            ValueError: If the text does not fit.
        """
        if self.kind is bool:
            if text.lower() not in _WORDS:
                raise ValueError(self._expected(text))
            return _WORDS[text.lower()]
        if self.kind is tuple:
            parts = (part.strip() for part in text.split(","))
            return tuple(self._checked(part) for part in parts if part)
        try:
            value = self.kind(text)
        except ValueError:
            raise ValueError(self._expected(text)) from None
        return self._checked(value)

    def from_flag(self, text: str) -> Any:  # noqa: ANN401 - the option's own kind
        """Read a flag's text, for a list one part, with the error for `argparse` to name."""
        try:
            return self._checked(text) if self.kind is tuple else self.from_text(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    def from_toml(self, value: object) -> Any:  # noqa: ANN401 - the option's own kind
        """Read a file's value.

        Raises:
            ValueError: If the value has another type.
        """
        if (
            self.kind is tuple
            and isinstance(value, list)
            and all(isinstance(v, str) for v in value)
        ):
            return tuple(self._checked(part) for part in value)
        if self.kind is float and type(value) is int:
            return float(value)
        if self.kind is Path and isinstance(value, str):
            return Path(value)
        if type(value) is not self.kind or self.kind is tuple:
            raise ValueError(self._expected(value))
        return self._checked(value)

    def _checked(self, value: Any) -> Any:  # noqa: ANN401 - passed through
        if self.choices and value not in self.choices:
            raise ValueError(self._expected(value))
        least = _LEAST.get(self.name, 0)
        if least and value != 0 and value < least:
            raise ValueError(f"expected 0 or at least {least}, not {value}")
        if self.check is not None:
            self.check(value)
        return value

    def _expected(self, value: object) -> str:
        wanted = " or ".join(filter(None, self.choices)) or _NOUNS.get(self.kind, "a text")
        return f"expected {wanted}, not {value!r}"


def options_of(declaration: type) -> Iterator[Option]:
    """Return the options that a dataclass declares, in its order."""
    hints = typing.get_type_hints(declaration)
    for field in dataclasses.fields(declaration):
        if "help" not in field.metadata:
            continue
        default = field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        choices = tuple(field.metadata.get("choices", ()))
        yield Option(
            field.name,
            _kind(hints[field.name]),
            field.metadata["help"],
            default,
            choices,
            field.metadata.get("check"),
        )


def _kind(hint: Any) -> type:  # noqa: ANN401 - a type hint
    """Return the plain type of a hint: `int` for `int | None`, `tuple` for `tuple[str, ...]`."""
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        hint = next(arg for arg in typing.get_args(hint) if arg is not type(None))
    kind = typing.get_origin(hint) or hint
    if kind is typing.Literal:
        return str
    assert isinstance(kind, type)  # noqa: S101 - our own declarations
    return kind


class Parser(argparse.ArgumentParser):
    """A parser whose help fits 80 columns and whose complaints are `ConfigError`s."""

    def __init__(self, prog: str, text: str) -> None:
        super().__init__(
            prog,
            usage=f"{prog} [options]",
            description=text,
            allow_abbrev=False,
            formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(
                prog, max_help_position=30, width=79
            ),
        )

    def error(self, message: str) -> NoReturn:
        """Report a command that cannot be read."""
        raise ConfigError(f"{message}\nSee `{self.prog} --help`.")


def add_flags(
    parser: argparse.ArgumentParser, *declarations: type, without: Collection[str] = ()
) -> None:
    """Give a parser `--config` and a flag for each declared option.

    Args:
        parser: The parser.
        declarations: The dataclasses.
        without: Names of options that mean nothing to this command.
    """
    group = parser.add_argument_group(
        "options, which may also stand as CUESTA_NAME in the environment or in a file"
    )
    group.add_argument("--config", metavar="FILE", help="read options from this TOML file")
    declared = (option for declaration in declarations for option in options_of(declaration))
    for option in (option for option in declared if option.name not in without):
        shown = "" if option.default in (None, "", ()) else f" (default: {_shown(option.default)})"
        keywords: dict[str, Any] = {"help": (option.help + shown).replace("%", "%%")}
        if option.kind is bool:
            keywords["action"] = argparse.BooleanOptionalAction
        else:
            keywords["type"] = option.from_flag
            keywords["action"] = "append" if option.kind is tuple else "store"
            choices = "|".join(filter(None, option.choices))
            keywords["metavar"] = choices or _METAVARS.get(option.kind, "TEXT")
        group.add_argument(
            f"--{option.key}", dest=option.name, default=argparse.SUPPRESS, **keywords
        )


def _shown(default: object) -> str:
    if isinstance(default, bool):
        return "on" if default else "off"
    return ", ".join(default) if isinstance(default, tuple) else str(default)


@dataclass(frozen=True, slots=True)
class Given:
    """The options that somebody gave, by field name; the others have their defaults."""

    values: Mapping[str, Any]

    def build(self, declaration: type[T]) -> T:
        """Make the dataclass.

        Raises:
            ConfigError: If the dataclass itself refuses its values.
        """
        names = {option.name for option in options_of(declaration)}
        try:
            return declaration(**{k: v for k, v in self.values.items() if k in names})
        except ValueError as refusal:
            raise ConfigError(str(refusal)) from refusal


def gather(arguments: argparse.Namespace, environ: Mapping[str, str], *declarations: type) -> Given:
    """Collect what flags, variables and the file say.

    Args:
        arguments: Parsed by a parser that went through `add_flags`.
        environ: The environment.
        declarations: The dataclasses whose options count.

    Raises:
        ConfigError: Naming the flag, the variable, or the file with line and key.
    """
    options = [option for declaration in declarations for option in options_of(declaration)]
    values = _from_file(_file(arguments.config, environ), options)
    for option in options:
        if environ.get(option.variable):
            try:
                values[option.name] = option.from_text(environ[option.variable])
            except ValueError as error:
                raise ConfigError(f"environment variable {option.variable}: {error}") from None
        if hasattr(arguments, option.name):
            flag = getattr(arguments, option.name)
            values[option.name] = tuple(flag) if option.kind is tuple else flag
    return Given(values)


def unknown_variables(environ: Mapping[str, str]) -> Iterator[str]:
    """Say in words which `CUESTA_` variables mean nothing, and what may have been meant."""
    options = (option for declaration in DECLARATIONS for option in options_of(declaration))
    known = {option.variable for option in options} | _ENVIRONMENT_ONLY
    for name in sorted(environ):
        if name.startswith("CUESTA_") and name not in known:
            names = {other.removeprefix("CUESTA_"): other for other in known}
            near = difflib.get_close_matches(name.removeprefix("CUESTA_"), names, n=1)
            hint = f"; did you mean {names[near[0]]}?" if near else "."
            yield f"the environment variable {name} is no option of Cuesta's{hint}"


def _file(flag: str | None, environ: Mapping[str, str]) -> Path | None:
    """Return the file to read; one that was named must exist, the usual one need not."""
    named = flag or environ.get("CUESTA_CONFIG")
    if named:
        return Path(named)
    from platformdirs import user_config_path  # noqa: PLC0415 - only where no file was named

    usual = user_config_path("cuesta", appauthor=False) / "config.toml"
    return usual if usual.is_file() else None


def _from_file(path: Path | None, options: Sequence[Option]) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        text = path.read_text(encoding="utf-8")
        table = tomllib.loads(text)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:  # broken TOML (with its line), or bytes that are no UTF-8
        raise ConfigError(f"{path}: is not valid TOML: {error}") from error
    known = {option.key: option for option in options}
    values = {}
    for key, value in table.items():
        place = f"{path}, line {_line(text, key)}, key `{key}`"
        option = known.get(key.replace("_", "-"))
        if option is None:
            near = difflib.get_close_matches(key, known, n=1)
            hint = (
                f"; did you mean `{near[0]}`?" if near else f"; known: {', '.join(sorted(known))}"
            )
            raise ConfigError(f"{place}: no such option{hint}")
        try:
            values[option.name] = option.from_toml(value)
        except ValueError as error:
            raise ConfigError(f"{place}: {error}") from None
    return values


def _line(text: str, key: str) -> int:
    """Return the line on which a top-level key stands (the parser does not tell)."""
    match = re.search(rf"""^\s*\[?\[?\s*["']?{re.escape(key)}["']?\s*[=.\]]""", text, re.MULTILINE)
    return text.count("\n", 0, match.end()) + 1 if match else 1


def to_environment(*instances: Any) -> dict[str, str]:  # noqa: ANN401 - any declared dataclass
    """Write options as variables that `gather` reads back; what is None stays out."""
    environment = {}
    for instance in instances:
        for option in options_of(type(instance)):
            value = getattr(instance, option.name)
            if value is not None:
                text = ",".join(value) if isinstance(value, tuple) else str(value)
                environment[option.variable] = text
    return environment


def fixed_environment(environ: Mapping[str, str], *instances: Any) -> dict[str, str]:  # noqa: ANN401 - any declared dataclass
    """Fix every option, so that a proxy that has to be started again is the same one."""
    others = {name: value for name, value in environ.items() if not name.startswith("CUESTA_")}
    return {**others, "CUESTA_CONFIG": os.devnull, **to_environment(*instances)}
