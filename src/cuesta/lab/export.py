"""Records as files: CSV and Parquet, one row a session and variant (see `records.flat`)."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from cuesta.core.errors import ConfigError
from cuesta.lab.records import Record, flat

if TYPE_CHECKING:
    from types import ModuleType


class CsvWriter:
    """Writes rows as they come.

    Args:
        file: Opened for text with `newline=""`.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._writer: csv.DictWriter[str] | None = None

    def add(self, records: Iterable[Record]) -> None:
        """Write one row a record."""
        for record in records:
            row = flat(record)
            if self._writer is None:
                self._writer = csv.DictWriter(self._file, list(row))
                self._writer.writeheader()
            self._writer.writerow(row)


def need_polars() -> ModuleType:
    """Return the library that writes Parquet.

    Raises:
        ConfigError: If it is not installed, naming what to install.
    """
    try:
        import polars  # noqa: PLC0415, ICN001 - an extra, and slow to load
    except ImportError as error:
        raise ConfigError("Parquet needs polars: pip install 'cuesta[lab]'") from error
    return polars


def write_parquet(records: Sequence[Record], path: Path) -> None:
    """Write records as Parquet.

    Raises:
        ConfigError: If polars is not installed.
        OSError: If the file cannot be written.
    """
    polars = need_polars()
    polars.DataFrame([flat(record) for record in records], infer_schema_length=None).write_parquet(
        path
    )
