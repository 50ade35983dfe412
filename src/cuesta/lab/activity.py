"""What an agent did at each call: read a file, edit, test, search, or something else.

As far as the names of its tools and the first words of its commands tell; the paper's Figure 6
counts the same. A file is opened again where an earlier call of the session read it too, whichever
part of it. `lab.rereads` counts the files, not the calls, and takes any path for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from posixpath import normpath

from cuesta.core.transcript import Block, BlockKind
from cuesta.lab.prepared import Prepared

READ, AGAIN, EDIT, TEST, SEARCH, OTHER = "rRetso"
"""The letters that stand for a call; `AGAIN`: it reads a file that was read before."""

_RANK = EDIT + TEST + READ + SEARCH + OTHER
"""A call that does several things is what comes first here."""
_PATHS = ("file_path", "path", "absolute_path", "filePath", "filename", "target_file", "file")
_COMMANDS = ("command", "cmd", "keystrokes", "script")
_TOOLS = (
    (EDIT, re.compile(r"edit|write|create|replace|insert|patch")),
    (TEST, re.compile(r"(?:^|_)tests?(?:_|$)")),
    (SEARCH, re.compile(r"grep|glob|search|find|^ls$|list_")),
    (READ, re.compile(r"read|view|open_?file|^open$|^cat$")),
)
_WORDS = (
    (
        EDIT,
        re.compile(
            r"sed\s+(?:-\w*\s+)*-\w*i|(?:cat|echo|printf)\b.*>|tee\s|patch\b|git\s+apply|apply_patch"
        ),
    ),
    (
        TEST,
        re.compile(
            r"(?:\S*python\S*\s+(?:-\w+\s+)*)?\S*(?:pytest|unittest|runtests|run_tests)\b"
            r"|(?:npx\s+)?(?:tox|jest|vitest|ctest)\b"
            r"|(?:cargo|go|npm|yarn|make|mvn|gradle)\s+(?:run\s+)?(?:test|check)"
            r"|\S*python\S*\s+\S*test\S*\.py"
        ),
    ),
    (READ, re.compile(r"(?:cat|head|tail|less|more|nl|bat|sed\s+-n|git\s+show)\s")),
    (
        SEARCH,
        re.compile(r"(?:grep|egrep|rg|ag|find|fd|ls|tree|git\s+grep|git\s+log|locate|which)\b"),
    ),
)
_BEFORE = re.compile(r"^(?:\w+=\S*\s+|sudo\s+|time\s+|timeout\s+\S+\s+)+")
_APART = re.compile(r"&&|\|\||;|\n")
_FILE = re.compile(r"[\w./+-]*[\w+-]\.\w+$|[\w.+-]*/[\w./+-]+$", re.ASCII)
_LONGEST = 2_000
"""Characters of a command that are looked at."""


def activity(prepared: Prepared) -> str:
    """Return one letter a call of a session.

    Args:
        prepared: The session.
    """
    opened: set[str] = set()
    letters = []
    for call in prepared.calls:
        answer = prepared.read[call.at : prepared.answered(call)]
        blocks = [b for message in answer for b in message.blocks if b.kind is BlockKind.CALL]
        done = [one for block in blocks for one in _done(block)]
        letter = min((kind for kind, _ in done), key=_RANK.index, default=OTHER)
        files = {path for kind, paths in done if kind == READ for path in paths}
        letters.append(AGAIN if letter == READ and files & opened else letter)
        opened |= files
    return "".join(letters)


def _done(block: Block) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what a call does, with the files that it names."""
    arguments = block.arguments or {}
    named = tuple(normpath(p) for key in _PATHS if isinstance(p := arguments.get(key), str) and p)
    command = next((c for key in _COMMANDS if isinstance(c := arguments.get(key), str)), None)
    # An editor's command is a word of its own; a shell's is a line.
    if command is not None and not named:
        yield from _commands(command[:_LONGEST])
    else:
        yield _first(_TOOLS, (command or block.name).lower()), named


def _commands(line: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what each command of a shell's line does; a pipe does what its first one does."""
    start, _, rest = line.partition("<<")
    # What a here-document holds is no command, but where it goes stands on its first line.
    shown = start + rest.partition("\n")[0]
    for part in _APART.split(shown):
        command = _BEFORE.sub("", part.strip())
        first = command.partition("|")[0]
        if command and not command.startswith("cd "):
            yield _first(_WORDS, first), tuple(_files(first))


def _files(command: str) -> Iterator[str]:
    for word in command.split()[1:]:
        bare = word.strip("'\"")
        if not bare.startswith("-") and _FILE.match(bare):
            yield normpath(bare)


def _first(table: tuple[tuple[str, re.Pattern[str]], ...], text: str) -> str:
    search = table is _TOOLS
    found = (kind for kind, p in table if (p.search(text) if search else p.match(text)))
    return next(found, OTHER)
