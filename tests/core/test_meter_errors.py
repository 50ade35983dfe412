"""The meter against what providers billed, where saved sessions are at hand."""

import sys
from itertools import islice, takewhile
from pathlib import Path
from statistics import median

import pytest

_ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(_ROOT / "scripts"))

from meter_errors import DEFAULT, errors_of, family, main, table  # noqa: E402 - a script
from saved_sessions import Session, mini_swe_agent, saved_sessions  # noqa: E402 - a script


def _sessions(folder: Path) -> list[Session]:
    """Take all sessions, but of the large archive every fifth of the first 100."""
    few = takewhile(lambda s: s.source != "mini-swe-agent", saved_sessions(folder))
    archives = sorted(folder.glob("mini-swe-agent/*.tar.zst"))
    return [*few, *(s for path in archives for s in islice(mini_swe_agent(path), 0, 100, 5))]


def test_without_saved_sessions_the_script_says_so(capsys):
    main(Path("nowhere"))
    assert "no saved sessions" in capsys.readouterr().out


def test_the_errors_against_bills_keep_their_bounds():
    if not DEFAULT.is_dir():
        pytest.skip(f"no saved sessions at {DEFAULT}")
    rows = table((f"{s.source}, {family(s)}", errors_of(s)) for s in _sessions(DEFAULT))
    assert len(rows) >= 4
    for name, errors in rows.items():
        assert median(errors.next) <= 0.03, name
        assert median(errors.cold) <= 0.20, name
