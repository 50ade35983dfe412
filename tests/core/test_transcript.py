import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuesta.core.meter import COMMON
from cuesta.core.transcript import (
    Block,
    BlockKind,
    Message,
    Outline,
    Role,
    outline,
    read_transcript,
)

_ROLES = {"s": Role.SYSTEM, "u": Role.USER, "h": Role.USER, "a": Role.ASSISTANT}


def _outlines(letters: str) -> list[Outline]:
    """Make outlines from letters: system, user (`h`: a person), assistant."""
    return [
        Outline(bytes([i]), _ROLES[letter], tokens=i + 1, human=letter == "h")
        for i, letter in enumerate(letters)
    ]


@pytest.mark.parametrize(
    ("letters", "head", "turns"),
    [
        ("h", 1, []),
        ("hs", 2, []),
        ("ha", 1, [(1, 2)]),
        ("hau", 1, [(1, 3)]),
        ("hsuau", 3, [(3, 5)]),
        ("hauau", 1, [(1, 3), (3, 5)]),
        ("haauau", 1, [(1, 4), (4, 6)]),
        ("hauhsau", 1, [(1, 5), (5, 7)]),
        ("au", 0, [(0, 2)]),
        ("", 0, []),
    ],
)
def test_messages_divide_into_a_head_and_turns(letters, head, turns):
    transcript = read_transcript(_outlines(letters))
    assert transcript.head == head
    assert [(turn.start, turn.stop) for turn in transcript.turns] == turns


@pytest.mark.parametrize(
    ("letters", "head", "first_turn"),
    [
        ("hau", 1, (1, 3)),
        ("uhau", 2, (2, 4)),
        ("uhuau", 2, (2, 5)),
        ("hhsau", 1, (1, 5)),
        ("suuhau", 4, (4, 6)),
        ("uuau", 2, (2, 4)),
    ],
)
def test_the_papers_head_ends_with_the_first_human_message(letters, head, first_turn):
    transcript = read_transcript(_outlines(letters), head_to_first_human=True)
    assert transcript.head == head
    assert (transcript.turns[0].start, transcript.turns[0].stop) == first_turn


def test_the_papers_head_is_everything_before_the_first_answer_came():
    assert read_transcript(_outlines("uhu"), head_to_first_human=True).head == 3


@given(st.text("suha", max_size=40), st.booleans())
def test_head_and_turns_hold_every_message_once_and_every_turn_begins_a_model_step(
    letters: str, to_human: bool
):
    outlines = _outlines(letters)
    transcript = read_transcript(outlines, head_to_first_human=to_human)
    places = [*range(transcript.head)]
    for turn in transcript.turns:
        places += range(turn.start, turn.stop)
    assert places == [*range(len(letters))]
    assert "a" not in letters[: transcript.head]
    for turn in transcript.turns[0 if not to_human else 1 :]:
        assert letters[turn.start] == "a"
        assert turn.start == 0 or letters[turn.start - 1] != "a"
    assert transcript.tokens == sum(o.tokens for o in outlines)
    assert transcript.tokens == transcript.head_tokens + sum(t.tokens for t in transcript.turns)


@pytest.mark.parametrize(
    ("letters", "place"), [("ha", 0), ("hsa", 0), ("huu", 2), ("shsa", 1), ("sa", -1), ("a", -1)]
)
def test_a_digest_stands_behind_the_last_user_message_of_the_head(letters, place):
    assert read_transcript(_outlines(letters)).anchor == place


def test_it_never_stands_before_a_compaction_of_the_provider():
    outlines = _outlines("hsa")
    outlines[1] = Outline(b"s", Role.SYSTEM, 1, barrier=True)
    assert read_transcript(outlines).anchor == 1
    assert read_transcript(outlines[1:]).anchor == -1


def _turn(*messages: Outline):
    head = Outline(b"h", Role.USER, 1)
    return read_transcript([head, *messages]).turns[0]


_CALLS = Outline(b"a", Role.ASSISTANT, 10, thinking=4, opens=("x", "y"), thinks=True)
_FIRST = Outline(b"1", Role.USER, 20, answers=("x",))
_SECOND = Outline(b"2", Role.USER, 30, answers=("y",), barrier=True)


def test_a_turn_is_open_until_every_call_in_it_is_answered():
    assert not _turn(_CALLS).closed
    assert not _turn(_CALLS, _FIRST).closed
    assert _turn(_CALLS, _FIRST, _SECOND).closed


def test_a_turn_that_ends_with_the_models_own_words_is_open():
    assert not _turn(Outline(b"a", Role.ASSISTANT, 10)).closed
    assert _turn(Outline(b"a", Role.ASSISTANT, 10), Outline(b"u", Role.USER, 1)).closed


def test_a_turn_sums_its_messages_up():
    turn = _turn(_CALLS, _FIRST, _SECOND)
    assert (turn.tokens, turn.thinking, turn.thinks, turn.barrier) == (60, 4, True, True)
    assert not _turn(_CALLS, _FIRST).barrier
    assert not turn.pinned
    assert _turn(_CALLS, Outline(b"s", Role.SYSTEM, 1, pinned=True)).pinned


def test_a_cut_keeps_the_turns_behind_it_and_pinned_ones_before_it():
    pin = Outline(b"s", Role.SYSTEM, 1, pinned=True)
    outlines = [*_outlines("ha"), pin, *_outlines("auauau")]
    transcript = read_transcript(outlines)
    kept = transcript.kept(2, 4)
    assert [turn.start for turn in kept] == [1, 5, 7]
    assert transcript.kept(0, 2) == transcript.turns[:2]


def test_an_outline_tells_what_it_opens_and_answers():
    message = Message(
        Role.ASSISTANT,
        (
            Block(BlockKind.THINKING, ("hm",), weight=7),
            Block(BlockKind.CALL, name="Bash", call_id="mine", arguments={"command": "ls"}),
            Block(BlockKind.CALL, name="search", call_id="served"),
            Block(BlockKind.RESULT, call_id="served"),
        ),
    )
    summed = outline(message, b"d", COMMON, human=False)
    assert summed.opens == ("mine", "served")
    assert summed.answers == ("served",)
    assert summed.thinks
    assert not summed.only_thinks
    assert 7 < summed.thinking < summed.tokens


def test_an_outline_tells_messages_of_nothing_but_thinking_and_empty_ones():
    thought = Block(BlockKind.THINKING, ("hm",))
    only = outline(Message(Role.ASSISTANT, (thought, thought)), b"", COMMON, human=False)
    empty = outline(Message(Role.SYSTEM, ()), b"", COMMON, human=False)
    assert only.only_thinks
    assert not only.empty
    assert empty.empty
    assert not empty.only_thinks
    assert not empty.thinks


def test_the_order_of_arguments_does_not_weigh():
    def size(arguments: dict[str, object]) -> int:
        call = Block(BlockKind.CALL, name="Edit", arguments=arguments)
        return outline(Message(Role.ASSISTANT, (call,)), b"", COMMON, human=False).tokens

    one = {"a": "text " * 40, "b": [1, {"c": None}, "x"], "d": True}
    assert size(one) == size(dict(reversed(one.items())))
    assert size({"a": "text " * 40}) > size({"a": "text"})
