from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuesta.core.transcript import Block, BlockKind, Message, Role
from cuesta.protocols.lexicon import HarnessLexicon, speaks_human
from cuesta.protocols.voices import is_human, voices

_TAGS = [
    "system-reminder",
    "task-notification",
    "local-command-caveat",
    "local-command-stdout",
    "local-command-stderr",
    "command-name",
    "command-message",
    "command-args",
    "environment_context",
]


def _heard(text: str) -> list[tuple[str, bool]]:
    """Return the stretches of a text, blanks around them taken off, and whether a person speaks."""
    assert HarnessLexicon().voices(text) == voices(text)
    return [(voice.text.strip(), not voice.notice) for voice in voices(text)]


@pytest.mark.parametrize("tag", _TAGS)
def test_text_between_known_tags_is_the_harnesss(tag: str):
    assert _heard(f"<{tag}>\nhm\n</{tag}>") == [("hm", False)]
    assert _heard(f"<{tag.upper()}>hm</{tag.upper()}>") == [("hm", False)]
    assert not is_human(f"\n<{tag}>hm</{tag}>\n ")


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        ("", []),
        (" \n", []),
        ("fix it", [("fix it", True)]),
        ("a < b and b > c", [("a < b and b > c", True)]),
        ("<b>fix</b> it", [("<b>fix</b> it", True)]),
        (
            "do <system-reminder>hm</system-reminder> it",
            [("do", True), ("hm", False), ("it", True)],
        ),
        (
            "<system-reminder>a</system-reminder><system-reminder>b</system-reminder>",
            [("a", False), ("b", False)],
        ),
        (
            "<command-name>/x</command-name>\n<command-args>y</command-args>\nplease",
            [("/x", False), ("y", False), ("please", True)],
        ),
        (
            "<system-reminder><command-name>x</command-name></system-reminder>",
            [("<command-name>x</command-name>", False)],
        ),
        ("<system-reminder>never closed", [("<system-reminder>never closed", True)]),
        ("closed</system-reminder>", [("closed</system-reminder>", True)]),
        (
            "<system-reminder>a</task-notification>",
            [("<system-reminder>a</task-notification>", True)],
        ),
        ("<system-reminder></system-reminder>", []),
        (
            "<system-reminders>x</system-reminders>",
            [("<system-reminders>x</system-reminders>", True)],
        ),
        (
            "<system-reminder>a<system-reminder>b</system-reminder>c</system-reminder>",
            [("a<system-reminder>b", False), ("c</system-reminder>", True)],
        ),
    ],
)
def test_who_speaks(text, heard):
    assert _heard(text) == heard
    assert is_human(text) == any(person for _, person in heard)


def test_an_unclosed_tag_never_swallows_what_a_person_says():
    text = "<system-reminder>x. Please keep the API stable."
    assert "Please keep the API stable." in "".join(v.text for v in voices(text) if not v.notice)


def test_many_tags_that_are_never_closed_take_no_longer_than_other_text():
    text = "<system-reminder>" * 2_000
    began = process_time()
    assert is_human(text)
    assert process_time() - began < 0.1


@given(
    st.lists(
        st.sampled_from([f"<{t}>" for t in _TAGS] + [f"</{t}>" for t in _TAGS])
        | st.text("ab<>/ \n", max_size=6),
        max_size=12,
    ).map("".join)
)
def test_stretches_are_literal_in_order_and_lose_only_tags_and_blanks(text: str):
    position = 0
    for voice in voices(text):
        found = text.find(voice.text, position)
        assert found >= position
        position = found + len(voice.text)
    kept = "".join(voice.text for voice in voices(text))
    rest = [*kept]
    for tag in _TAGS:
        text = text.replace(f"<{tag}>", "").replace(f"</{tag}>", "")
    assert len("".join(text.split())) <= len("".join("".join(rest).split()))


def test_notices_of_one_kind_are_named_alike_whatever_their_figures_at_the_end():
    head = "The files that you have read so far in this very session are: "
    one, other, third = (
        voices(f"<system-reminder>{text}</system-reminder>")[0].notice
        for text in (head + "1", "\n " + head + "2", "Something else.")
    )
    assert one == other != third
    assert voices(f"<command-name>{head}</command-name>")[0].notice != one


def _message(*blocks: Block, role: Role = Role.USER) -> Message:
    return Message(role, blocks)


def _text(text: str) -> Block:
    return Block(BlockKind.TEXT, (text,))


_NOTICE = _text("<system-reminder>hm</system-reminder>")


@pytest.mark.parametrize(
    ("message", "human"),
    [
        (_message(_text("hi")), True),
        (_message(_NOTICE), False),
        (_message(_NOTICE, _text("hi")), True),
        (_message(_text(" \n")), False),
        (_message(Block(BlockKind.RESULT, ("hi",), call_id="a")), False),
        (_message(Block(BlockKind.RESULT, ("hi",), call_id="a"), _text("and now this")), True),
        (_message(Block(BlockKind.MEDIA, name="image")), True),
        (_message(_text("hi"), role=Role.SYSTEM), False),
        (_message(_text("hi"), role=Role.ASSISTANT), False),
        (_message(), False),
    ],
)
def test_in_which_messages_a_person_speaks(message: Message, human: bool):
    assert speaks_human(message) is human
