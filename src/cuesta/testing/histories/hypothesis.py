"""Hypothesis strategies: histories that shrink, and texts that are hard to count and to cut."""

from __future__ import annotations

from hypothesis import strategies as st

from cuesta.testing.histories.client import ClientHistory, WireName
from cuesta.testing.histories.features import Feature

_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_IDEOGRAPHS = st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF)
_ASTRAL = st.characters(min_codepoint=0x1F300, max_codepoint=0x1FAFF)


def client_histories(
    max_turns: int = 60, scale: float = 1.0, wire: WireName = "anthropic"
) -> st.SearchStrategy[ClientHistory]:
    """Return a strategy of fresh histories; a failing one shrinks to few features and turns.

    Args:
        max_turns: The longest history drawn.
        scale: As in `ClientHistory`.
        wire: As in `ClientHistory`.
    """
    possible = ClientHistory.possible(wire)
    return st.builds(
        ClientHistory,
        seed=st.integers(0, 2**32 - 1),
        features=st.frozensets(st.sampled_from([f for f in Feature if f in possible])),
        turns=st.integers(1, max_turns),
        scale=st.just(scale),
        wire=st.just(wire),
    )


def texts(*, surrogates: bool = True, max_size: int = 400) -> st.SearchStrategy[str]:
    """Return a strategy of texts: any code points, CJK, emoji, runs of base64, or all of it.

    Args:
        surrogates: Whether lone surrogates may occur, as bad escapes in a body leave them.
        max_size: About the longest text drawn, in code points.
    """
    anything = st.characters() if surrogates else st.characters(codec="utf-8")
    halves = "\ud83d\ude80\udfff" if surrogates else "\U0001f680"
    pieces = st.one_of(
        st.text(f"{halves}a", max_size=max_size),
        st.text(anything, max_size=max_size),
        st.text(_IDEOGRAPHS, max_size=max_size),
        st.text(_ASTRAL, max_size=max_size),
        st.text("e\u0301\u0308\u200d\ufe0f\u20e3a", max_size=max_size),
        st.text(_BASE64, min_size=min(64, max_size), max_size=max_size),
        st.text("ab \n\t.,", max_size=max_size),
    )
    return st.one_of(
        pieces, st.lists(pieces, max_size=4).map(lambda parts: "".join(parts)[:max_size])
    )
