"""Where things are kept on this machine."""

from __future__ import annotations

from pathlib import Path


def state_folder(override: str = "") -> Path:
    """Return the folder for the ledger and the trace; it need not exist yet.

    Args:
        override: A folder chosen by the user; empty: the platform's own place for state.
    """
    if override:
        return Path(override).expanduser()
    from platformdirs import user_state_path  # noqa: PLC0415 - slow to import, often not needed

    return user_state_path("cuesta", appauthor=False)
