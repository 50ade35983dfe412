"""Where Codex keeps its rollouts: a fork's names the one that it goes on from; see `codex`."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import zstandard

from cuesta.harnesses.saved.base import Json, Problems, decode
from cuesta.harnesses.saved.codex import BASE

_DEEPEST = 100
"""Rollouts that may stand on one another."""


def with_base(path: Path, content: bytes, problems: Problems) -> bytes:
    """Return a rollout's lines with those in front that it goes on from."""
    pieces = [content]
    base = _base(content)
    while base is not None and len(pieces) < _DEEPEST:
        below = _lines_of(path, base)
        if below is None:
            problems.note("the rollout that it goes on from is not there")
            break
        pieces.append(below)
        base = _base(below)
    return b"\n".join(reversed(pieces))


def _base(content: bytes) -> Json | None:
    """Return what a rollout's first line says that it goes on from."""
    try:
        meta = decode(content.lstrip().partition(b"\n")[0])["payload"]
        base = meta.get(BASE)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return base if isinstance(base, dict) else None


def _lines_of(path: Path, base: Json) -> bytes | None:
    """Return another rollout's lines up to the one that is named."""
    name, end = base.get("thread_id"), base.get("end_ordinal_exclusive")
    if not isinstance(name, str) or not name.replace("-", "").isalnum():
        return None
    for folder in [*path.parents][:4]:
        for place in sorted(folder.rglob(f"rollout-*{name}.jsonl*")):
            if place != path:
                return _cut(_read(place), end)
        if folder.name in {"sessions", "archived_sessions"}:
            break
    return None


def _read(path: Path) -> bytes:
    """Read a rollout, which may be compressed; nothing where that fails."""
    try:
        content = path.read_bytes()
        if path.suffix == ".zst":
            return zstandard.ZstdDecompressor().stream_reader(BytesIO(content)).read()
    except (OSError, zstandard.ZstdError):
        return b""
    return content


def _cut(content: bytes, end: object) -> bytes:
    """Leave out the lines from an ordinal on."""
    kept = []
    for line in content.splitlines():
        try:
            ordinal = decode(line).get("ordinal")
        except (ValueError, AttributeError):
            continue
        if isinstance(end, int) and isinstance(ordinal, int) and ordinal >= end:
            break
        kept.append(line)
    return b"\n".join(kept)
