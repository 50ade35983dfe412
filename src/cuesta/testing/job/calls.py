"""Shorthand for the steps of a scripted job and the calls in them."""

from __future__ import annotations

from cuesta.testing.simulator.script import Step, ToolCall


def step(thinking: str, text: str | None, *calls: ToolCall) -> Step:
    """Return one answer of the model."""
    return Step(thinking, text, calls)


def read(path: str, offset: int | None = None, limit: int | None = None) -> ToolCall:
    """Return a call that reads a file or a part of it."""
    place = {"path": path, "offset": offset, "limit": limit}
    return ToolCall("read_file", {key: value for key, value in place.items() if value is not None})


def search(pattern: str, path: str | None = None) -> ToolCall:
    """Return a call that searches for a regular expression."""
    return ToolCall("search", {"pattern": pattern, **({"path": path} if path else {})})


def run(target: str | None = None) -> ToolCall:
    """Return a call that runs the tests."""
    return ToolCall("run_tests", {"target": target} if target else {})


def edit(path: str, old: str, new: str) -> ToolCall:
    """Return a call that replaces a piece of text."""
    return ToolCall("edit_file", {"path": path, "old": old, "new": new})
