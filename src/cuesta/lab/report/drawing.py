"""The library that draws: it makes pictures without a browser, and brings the page its scripts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuesta.core.errors import ConfigError
from cuesta.lab.report.encodings import WIDE, Spec, theme

if TYPE_CHECKING:
    from types import ModuleType

    from cuesta.lab.report.rows import Values

_GAPS = 120
_SHARP = 2
"""Pixels of a PNG for each pixel of the figure."""


def need_drawing() -> ModuleType:
    """Return the library that draws.

    Raises:
        ConfigError: If it is not installed, naming what to install.
    """
    try:
        import vl_convert  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ConfigError("Plots need vl-convert-python: pip install 'cuesta[lab]'") from error
    return vl_convert


def scripts() -> str:
    """Return the scripts that draw the same figures in a browser.

    Raises:
        ConfigError: If the library is not installed.
    """
    bundle: str = need_drawing().javascript_bundle()
    return bundle


def write_figures(drawn: Mapping[str, tuple[Spec, Values]], folder: Path) -> list[Path]:
    """Write each figure as PNG and SVG, and what it draws as JSON; return the files.

    Args:
        drawn: Figures and their rows, by name.
        folder: Where to; made if it is not there.

    Raises:
        ConfigError: If the library is not installed.
        OSError: If a file cannot be written.
    """
    library = need_drawing()
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, (spec, values) in drawn.items():
        if not values:
            continue
        whole = json.dumps(whole_spec(spec, values))
        for suffix, content in (
            ("svg", library.vegalite_to_svg(whole).encode()),
            ("png", library.vegalite_to_png(whole, scale=_SHARP)),
        ):
            path = folder / f"{name}.{suffix}"
            path.write_bytes(content)
            written.append(path)
    return written


def bar_width(width: int, steps: int) -> float:
    """Return how broad a step's bar is; few have gaps between them."""
    return max(1.0, round((0.8 if steps <= _GAPS else 1.0) * width / steps, 1))


def whole_spec(spec: Spec, values: Values, width: int = WIDE) -> dict[str, Any]:
    """Return a figure with its rows and a width, ready to be drawn on white."""
    inner = dict(spec.get("spec", {}))
    sized: Spec = {"spec": {**inner, "width": width}} if inner else {"width": width}
    if "params" in spec:
        steps = len({row["step"] for row in values})
        sized["params"] = [{"name": "bar", "value": bar_width(width, steps)}]
    return {
        **spec,
        **sized,
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "padding": 12,
        "datasets": {"rows": values},
        "config": theme(),
    }
