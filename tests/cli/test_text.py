"""Text that somebody else chose, on a terminal."""

import sys
import unicodedata

import pytest
from rich.cells import cell_len

from cuesta.cli.text import cells, fitted, printable, wrapped

HOSTILE = [
    "\x1b[2J\x1b]0;title\x07",
    "one\ntwo\r\x0b\x0c\x85\u2028\u2029three",
    "\u202egnp.exe\u2066\u2069\u200f",
    "zero\u200bwidth\ufeff\xad",
    "\x9b31m\x00\x7f",
    "\ud800lone\udfff",
    "a" + "\u0301" * 50,
]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_of_it_reaches_the_terminal_but_characters(text):
    shown = printable(text)
    assert shown.isprintable()
    assert len(shown.splitlines()) == 1
    assert not any(unicodedata.category(c)[0] == "C" for c in shown)
    shown.encode()


def test_no_character_that_acts_gets_through():
    acting = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    every = (chr(code) for code in range(sys.maxunicode + 1))
    assert all(
        printable(c) == "?" for c in every if unicodedata.category(c) in acting or c == "\xa0"
    )


@pytest.mark.parametrize(
    "text",
    [
        "claude-opus-5-5",
        "模型-一号",
        "cafe\u0301",
        "Привет",
        "\uff57\uff49\uff44\uff45",
        "🙂 model",
        "한국어",
    ],
)
def test_what_is_readable_stays_and_is_measured_in_cells(text):
    shown = printable(text)
    assert shown == unicodedata.normalize("NFC", text)
    assert cells(shown) == cell_len(shown)


@pytest.mark.parametrize("text", [*HOSTILE, "", "short", "模型" * 40, "x" * 100, "a模" * 20])
@pytest.mark.parametrize("width", [8, 9, 25])
def test_a_column_is_filled_to_the_cell(text, width):
    assert cells(fitted(text, width)) == width


@pytest.mark.parametrize("text", [*HOSTILE, "two words", "模型" * 40, "x" * 100, "a b " * 40])
@pytest.mark.parametrize("width", [2, 7, 20])
def test_lines_are_never_wider_and_nothing_is_lost(text, width):
    lines = wrapped(text, width)
    assert all(cells(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == printable(text).replace(" ", "")


def test_no_text_gives_no_line():
    assert wrapped("  ", 10) == []
