import pytest

from cuesta.protocols.sidecalls import RequestFacts, side_call


@pytest.mark.parametrize(
    ("facts", "aside"),
    [
        (RequestFacts(messages=1, tools=0, max_tokens=1, structured=False), True),
        (RequestFacts(messages=90, tools=30, max_tokens=1, structured=False), True),
        (RequestFacts(messages=1, tools=0, max_tokens=0, structured=False), True),
        (RequestFacts(messages=1, tools=0, max_tokens=512, structured=True), True),
        (RequestFacts(messages=2, tools=0, max_tokens=None, structured=True), True),
        (RequestFacts(messages=3, tools=0, max_tokens=512, structured=True), False),
        (RequestFacts(messages=1, tools=9, max_tokens=512, structured=True), False),
        (RequestFacts(messages=1, tools=0, max_tokens=2, structured=False), False),
        (RequestFacts(messages=40, tools=0, max_tokens=32_000, structured=False), False),
        (RequestFacts(messages=40, tools=9, max_tokens=None, structured=False), False),
        (RequestFacts(40, 9, None, structured=False, partial=True), True),
        (RequestFacts(40, 9, None, structured=False, compacts=True), True),
    ],
)
def test_only_shapes_that_no_main_loop_has_are_side_calls(facts: RequestFacts, aside: bool):
    assert bool(side_call(facts)) is aside


def test_a_side_call_is_named():
    assert "probe" in side_call(RequestFacts(1, 0, 1, structured=False))
    assert "title" in side_call(RequestFacts(1, 0, 512, structured=True))
