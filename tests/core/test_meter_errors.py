"""The meter against what providers billed, where saved sessions are at hand."""

import sys
from itertools import islice
from pathlib import Path
from statistics import median

import pytest

_ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(_ROOT / "scripts"))

from meter_errors import DEFAULT, billed, errors_of, main, row, saved, table  # noqa: E402 - a script

from cuesta.harnesses.saved.files import read_file  # noqa: E402 - behind the script


def _files(folder):
    """Read all files, but of a large archive every fifth of the first 100 members."""
    return (file for path in saved(folder) for file in islice(read_file(path), 0, 100, 5))


def test_without_saved_sessions_the_script_says_so(capsys):
    main(Path("nowhere"))
    assert "no saved sessions" in capsys.readouterr().out


def test_the_errors_against_bills_keep_their_bounds():
    if not DEFAULT.is_dir():
        pytest.skip(f"no saved sessions at {DEFAULT}")
    rows = table((row(s), errors_of(s)) for s in billed(_files(DEFAULT)))
    assert len(rows) >= 4
    for name, errors in rows.items():
        assert median(errors.next) <= 0.03, name
        assert median(errors.cold) <= 0.20, name
