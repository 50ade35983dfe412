import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuesta.core.excerpts import CUT, ends, first, literal
from cuesta.testing.histories.hypothesis import texts

_LIMITS = st.integers(0, 120)
_FAMILY = "👩\u200d👩\u200d👧"


def _joins(before: str, after: str) -> bool:
    """Tell whether a reader sees two neighbours as one character."""
    return unicodedata.category(after).startswith("M") or "\u200d" in (before, after)


def _seams(text: str, excerpt: str) -> list[int]:
    """Return where a text was cut, in its own coordinates, as the head and tail pieces show."""
    if CUT not in excerpt or excerpt == text:
        return []
    head, _, tail = excerpt.partition(CUT)
    end = len(text) - len(tail) if tail else 0
    return [place for place in (len(head), end) if place]


@given(texts(), _LIMITS)
def test_an_excerpt_is_the_text_or_literal_pieces_of_it_around_a_mark(text: str, limit: int):
    whole = literal(text)
    for excerpt in (first(text, limit), ends(text, limit)):
        if len(whole) <= limit:
            assert excerpt == whole
        else:
            assert len(excerpt) <= limit + len(CUT)
            head, _, tail = excerpt.partition(CUT)
            assert whole.startswith(head)
            assert whole.endswith(tail)


@given(texts(), _LIMITS)
def test_a_piece_never_ends_or_begins_with_blanks(text: str, limit: int):
    for excerpt in (first(text, limit), ends(text, limit)):
        assert all(piece == piece.strip() for piece in excerpt.split(CUT))


@given(texts(surrogates=False), _LIMITS)
def test_no_cut_splits_combining_characters_or_joined_emoji(text: str, limit: int):
    whole = literal(text)
    for excerpt in (first(whole, limit), ends(whole, limit)):
        for place in _seams(whole, excerpt):
            head = excerpt.partition(CUT)[0]
            if place == len(head) and whole[place : place + 1].isspace():
                continue  # blanks before the mark were taken off: the cut itself stands further on
            assert not _joins(whole[place - 1], whole[place])


@given(st.integers(0, 40), st.integers(0, 6))
def test_a_joined_emoji_stays_whole_or_goes_whole(limit: int, before: int):
    text = "x" * before + _FAMILY * 6
    head, _, tail = ends(text, limit).partition(CUT)
    for piece in (first(text, limit).partition(CUT)[0], head, tail):
        assert piece.strip("x").replace(_FAMILY, "") == ""


def test_a_joined_emoji_with_a_skin_tone_is_not_split():
    assert first("ab👩🏽\u200d💻cd", 3) == "ab" + CUT


@given(texts())
def test_a_literal_text_can_travel_in_utf8_and_differs_only_in_lone_surrogates(text: str):
    plain = literal(text)
    assert plain.encode().decode() == plain
    for old, new in zip(text.strip(), plain, strict=True):
        assert new == old or ("\ud800" <= old <= "\udfff" and new == "\ufffd")


@pytest.mark.parametrize("blank", ["", " ", "\n\t \r\n", "\u2028\u00a0"])
def test_blanks_leave_nothing(blank: str):
    assert literal(blank) == first(blank, 10) == ends(blank, 10) == ""


def test_a_head_keeps_its_first_characters():
    assert first("abcdefgh", 5) == "abcde" + CUT
    assert first("abcde", 5) == "abcde"
    assert first("ab  cdefgh", 4) == "ab" + CUT


def test_two_thirds_of_what_is_kept_stand_before_the_mark():
    assert ends("0123456789abcdef", 9) == "012345" + CUT + "def"
    assert ends("0123456789abcdef", 10) == "012345" + CUT + "cdef"


def test_a_text_that_is_one_long_cluster_leaves_only_the_mark():
    assert first("e" + "\u0301" * 50, 10) == CUT
    assert ends("e" + "\u0301" * 50, 10) == CUT
