"""A scratch workspace and the tools that an agent works with in it.

Rule 1: nothing outside the workspace is read or written by a tool.
Rule 2: a tool answers with text, flagged where it failed; it raises only for a bug of its own.
Rule 3: an answer never depends on where the workspace lies, on the clock or on the machine's speed,
so that two agents that do the same see the same bytes.
"""

from __future__ import annotations

import inspect
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from cuesta.testing.project import DEFAULT_SEED, project_files

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_LINES_READ = 400
_HITS = 150
_ANSWER_LIMIT = 30_000
_COMMAND_SECONDS = 10.0
_HARMLESS = frozenset({"cat", "diff", "echo", "head", "sort", "tail", "uniq", "wc"})
_TARGET = re.compile(r"[A-Za-z_]\w*(\.\w+)*")
_DURATION = re.compile(r"(Ran \d+ tests? in )[\d.]+s")
_PYTHON = (sys.executable, "-B", "-E", "-S", "-s")
"""No bytecode (an edit within one second would run the old one), no environment, no site."""

ARGUMENTS: Mapping[str, Mapping[str, type]] = {
    "read_file": {"path": str, "offset": int, "limit": int},
    "search": {"pattern": str, "path": str},
    "list_files": {"path": str},
    "run_tests": {"target": str},
    "edit_file": {"path": str, "old": str, "new": str},
    "write_file": {"path": str, "content": str},
    "bash": {"command": str},
}
"""The tools, and the name and type of each of their arguments."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answered."""

    text: str
    is_error: bool = False


class _RefusedError(Exception):
    """A call that is answered with an error text."""


class Workspace:
    """A temporary folder with the project in it; removed on exit.

    Args:
        seed: Draws the project's tables.
        test_seconds: How long a run of the tests may take.

    Use it as a context manager; `root` is the folder.
    """

    def __init__(self, seed: int = DEFAULT_SEED, test_seconds: float = 30.0) -> None:
        self._test_seconds = test_seconds
        self._folder = tempfile.TemporaryDirectory(prefix="cuesta-")
        self.root = Path(self._folder.name).resolve()
        for path, text in project_files(seed).items():
            self._put(self.root / path, text)

    def __enter__(self) -> Self:
        """Return the workspace."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the folder."""
        self._folder.cleanup()

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Carry out a tool call.

        Args:
            name: One of `ARGUMENTS`.
            arguments: By name; one that is unknown, missing or of another type is an error answer.
        """
        try:
            tool = _checked(self, name, arguments)
            return _short(tool(**arguments))
        except _RefusedError as refusal:
            return ToolResult(str(refusal), is_error=True)
        except OSError as error:
            return ToolResult(f"{name}: {error.strerror}", is_error=True)

    def tests_pass(self) -> bool:
        """Tell whether the project's whole suite passes."""
        return not self._run_tests("").is_error

    def _read_file(self, path: str, offset: int = 1, limit: int = _LINES_READ) -> ToolResult:
        lines = self._text(path).splitlines()
        first = max(offset, 1)
        shown = lines[first - 1 : first - 1 + max(limit, 1)]
        if not shown:
            raise _RefusedError(f"{path} has {len(lines)} lines, none from line {first} on")
        numbered = [f"{first + index:6}\t{line}" for index, line in enumerate(shown)]
        last = first + len(shown) - 1
        if last < len(lines):
            numbered.append(
                f"[lines {first} to {last} of {len(lines)}; read on with offset {last + 1}]"
            )
        return ToolResult("\n".join(numbered))

    def _search(self, pattern: str, path: str = ".") -> ToolResult:
        try:
            wanted = re.compile(pattern)
        except re.error as error:
            raise _RefusedError(f"not a regular expression: {error}") from None
        hits = [
            f"{self._name(file)}:{number}:{line}"
            for file in self._files(path)
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
            if wanted.search(line)
        ]
        if len(hits) > _HITS:
            hits[_HITS:] = [
                f"[{len(hits) - _HITS} more lines match; narrow the pattern or the path]"
            ]
        return ToolResult("\n".join(hits) or f"No line matches {pattern}")

    def _list_files(self, path: str = ".") -> ToolResult:
        rows = (f"{file.stat().st_size:8}  {self._name(file)}" for file in self._files(path))
        return ToolResult("\n".join(rows) or f"{path} holds no file")

    def _run_tests(self, target: str = "") -> ToolResult:
        if target and not _TARGET.fullmatch(target):
            raise _RefusedError(f"not a test module, class or method: {target}")
        return self._run(
            [*_PYTHON, "-m", "unittest", "-v", *([target] if target else [])], self._test_seconds
        )

    def _edit_file(self, path: str, old: str, new: str) -> ToolResult:
        text = self._text(path)
        found = text.count(old) if old else 0
        if found != 1:
            raise _RefusedError(
                f"`old` stands {found} times in {path}; it must stand there exactly once"
            )
        self._put(self._inside(path), text.replace(old, new))
        line = text[: text.index(old)].count("\n") + 1
        around = self._read_file(path, max(line - 6, 1), new.count("\n") + 13).text
        return ToolResult(
            f"The file {path} has been changed. Around the change it now reads:\n{around}"
        )

    def _write_file(self, path: str, content: str) -> ToolResult:
        self._put(self._inside(path), content)
        return ToolResult(f"{path} written, {len(content)} characters")

    def _bash(self, command: str) -> ToolResult:
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise _RefusedError(f"cannot read the command: {error}") from None
        if not words or words[0] not in _HARMLESS:
            raise _RefusedError(f"only these commands run here: {', '.join(sorted(_HARMLESS))}")
        for word in words[1:]:
            if word.startswith("-") and not re.fullmatch(r"-\w+", word):
                raise _RefusedError(f"this option is not allowed here: {word}")
            self._inside(word)
        return self._run(words, _COMMAND_SECONDS)

    def _run(self, command: list[str], seconds: float) -> ToolResult:
        try:
            done = subprocess.run(  # noqa: S603 - no shell; programs and arguments are checked above
                command,
                cwd=self.root,
                env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise _RefusedError(f"ended after {seconds:.0f} seconds without a result") from None
        except OSError as error:
            raise _RefusedError(f"{command[0]} cannot be run here: {error.strerror}") from None
        text = done.stdout.decode(errors="replace").replace(str(self.root), "/workspace")
        return ToolResult(_DURATION.sub(r"\g<1>0.0s", text), is_error=done.returncode != 0)

    def _inside(self, path: str) -> Path:
        """Return a path of the workspace, symbolic links followed; refuse any other."""
        try:
            target = (self.root / path).resolve()
        except (OSError, ValueError):
            raise _RefusedError(f"not a path: {path!r}") from None
        if not target.is_relative_to(self.root):
            raise _RefusedError(f"{path} lies outside the workspace")
        return target

    def _text(self, path: str) -> str:
        target = self._inside(path)
        if not target.is_file():
            raise _RefusedError(f"File does not exist: {path}")
        return target.read_text(encoding="utf-8")

    def _files(self, path: str) -> list[Path]:
        top = self._inside(path)
        if not top.exists():
            raise _RefusedError(f"File does not exist: {path}")
        found = [top] if top.is_file() else [file for file in top.rglob("*") if file.is_file()]
        return sorted(file for file in found if file.resolve().is_relative_to(self.root))

    def _name(self, file: Path) -> str:
        return file.relative_to(self.root).as_posix()

    @staticmethod
    def _put(target: Path, text: str) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", newline="\n")


def _checked(
    workspace: Workspace, name: str, arguments: Mapping[str, Any]
) -> Callable[..., ToolResult]:
    """Return a tool once its arguments fit."""
    types = ARGUMENTS.get(name)
    if types is None:
        raise _RefusedError(f"there is no tool {name}; the tools are {', '.join(ARGUMENTS)}")
    tool: Callable[..., ToolResult] = getattr(workspace, f"_{name}")
    try:
        inspect.signature(tool).bind(**arguments)
    except TypeError as error:
        raise _RefusedError(f"{name}: {error}") from None
    for key, value in arguments.items():
        if type(value) is not types[key]:
            raise _RefusedError(f"{name}: `{key}` must be of type {types[key].__name__}")
    return tool


def _short(result: ToolResult) -> ToolResult:
    """Cut the middle out of an answer that is too long for a prompt."""
    surplus = len(result.text) - _ANSWER_LIMIT
    if surplus <= 0:
        return result
    half = _ANSWER_LIMIT // 2
    text = f"{result.text[:half]}\n[{surplus} characters left out]\n{result.text[-half:]}"
    return ToolResult(text, result.is_error)
