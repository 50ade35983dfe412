"""Which uses a replay loses, on sessions where that is known."""

import random
from dataclasses import replace

import lab_sessions
import pytest

from cuesta.core.policy import PROFILES, Policy, profile
from cuesta.lab.probe import Origin, Probe
from cuesta.lab.replay import replay
from cuesta.lab.words import Kind
from cuesta.strategies.cliff import CliffStrategy
from cuesta.strategies.keep_all import KeepAll
from cuesta.strategies.registry import STRATEGIES

LONG = "filler text of no use to anybody\n" * 200
FILLER = [(f"step {n}", LONG) for n in range(12)]
TIGHT = replace(profile("paper"), threshold=6_000)
ONCE = replace(TIGHT, threshold=8_000)
"""At which five fillers make one cliff."""


def lost(prepared, policy=TIGHT, strategy=None):
    probe = Probe(prepared)
    return probe.lost(replay(prepared, strategy or CliffStrategy(), policy))


def test_what_only_a_dropped_result_held_is_lost():
    prepared = lab_sessions.session(
        [("ls", f"secret_name_a {LONG}"), *FILLER, ("open secret_name_a", "ok")]
    )
    (use,) = [use for use in lost(prepared) if use.word == "secret_name_a"]
    assert (use.call, use.kind, use.origin) == (13, Kind.IDENTIFIER, Origin.RESULT)
    assert use.distance == 13


@pytest.mark.parametrize(
    ("first", "origin"),
    [
        (("ls secret_name_a", LONG), Origin.CALL),
        (("ls", "secret_name_a"), Origin.RESULT),
        (("ls", LONG, "I saw secret_name_a there"), Origin.THOUGHT),
    ],
)
def test_what_the_digest_quotes_is_kept(first, origin):
    """As long as no other cliff falls: Algorithm 1 forgets a digest at the next one."""
    prepared = lab_sessions.session([first, *FILLER[:5], ("open secret_name_a", "ok")])
    probe = Probe(prepared)
    done = replay(prepared, CliffStrategy(), ONCE)
    (use,) = [use for use in probe.uses if use.word == "secret_name_a"]
    assert use.origin is origin
    assert done.cliffs[use.call] is not None
    assert use not in probe.lost(done)
    assert use in probe.lost_at_most(3)


def test_the_head_and_new_strings_are_never_lost():
    prepared = lab_sessions.session(
        [*FILLER, ("open secret_name_a brand_new_name", "ok")], head="Mind secret_name_a."
    )
    assert {use.word for use in Probe(prepared).uses} == {"secret_name_a"}
    assert not lost(prepared)


def test_a_string_counts_once_a_step():
    prepared = lab_sessions.session(
        [("ls", f"secret_name_a {LONG}"), *FILLER, ("secret_name_a; secret_name_a", "ok")]
    )
    assert len(lost(prepared)) == 1


def drawn(seed):
    """A session in which later steps use strings of earlier results, calls and texts."""
    draw = random.Random(seed)
    names = [f"module_{n}_{draw.randrange(999)}" for n in range(40)]
    pick = lambda: " ".join(draw.choices(names, k=3))  # noqa: E731 - a word for a draw
    return lab_sessions.session(
        [
            (f"cat {pick()}", f"{pick()} {LONG[: draw.randrange(9_000)]}", f"so {pick()}")
            for _ in range(30)
        ],
        name=f"drawn {seed}",
    )


POLICIES = [TIGHT, replace(TIGHT, keep_turns=5), Policy("default", threshold=6_000)]


@pytest.mark.parametrize("seed", range(4))
def test_every_policy_lies_between_keeping_all_and_the_head_only(seed):
    prepared = drawn(seed)
    probe = Probe(prepared)
    assert probe.uses
    assert probe.lost(replay(prepared, KeepAll(), TIGHT)) == []
    bare = set(probe.lost_at_most(3))
    for policy in POLICIES:
        between = probe.lost(replay(prepared, CliffStrategy(), policy))
        assert set(between) <= bare
    assert between


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", sorted(set(STRATEGIES) - {"keep_all"}))
def test_every_strategy_can_be_probed(name, seed):
    prepared = drawn(seed)
    probe = Probe(prepared)
    done = replay(prepared, STRATEGIES[name], replace(PROFILES["default"], threshold=6_000))
    assert set(probe.lost(done)) <= set(probe.uses)


def test_a_longer_signature_keeps_what_it_quotes():
    command = "x" * 400 + " secret_name_a"
    prepared = lab_sessions.session([(command, LONG), *FILLER[:4], ("run secret_name_a", "ok")])
    assert [use.word for use in lost(prepared, ONCE)] == ["secret_name_a"]
    assert lost(prepared, replace(ONCE, signature_chars=500)) == []


def test_a_blind_cut_keeps_the_beginning_of_every_block():
    steps = [(f"step {n} " + "y" * 140, f"begin_{n}_here {LONG} end_{n}_here") for n in range(8)]
    prepared = lab_sessions.session([*steps, ("use begin_0_here end_0_here", "ok")])
    probe = Probe(prepared)
    done = replay(prepared, CliffStrategy(), replace(TIGHT, threshold=9_000))
    gone = {use.word for use in probe.lost_blindly(done)}
    assert "end_0_here" in gone
    assert "begin_0_here" not in gone
    assert {"begin_0_here", "end_0_here"} <= {use.word for use in probe.lost(done)}


def test_the_shuffled_control_moves_uses_and_is_the_same_each_time():
    prepared = drawn(1)
    probe, done = Probe(prepared), replay(prepared, CliffStrategy(), TIGHT)
    one = probe.lost_shuffled(done, random.Random(5).randrange)
    assert one == probe.lost_shuffled(done, random.Random(5).randrange)
    assert one != probe.lost(done)


def test_another_sessions_prompts_show_little():
    one, other = drawn(1), drawn(2)
    probe = Probe(one)
    assert len(probe.lost_in(other)) > 0.9 * len(probe.uses)
    assert probe.lost_in(one) == []


def test_a_session_of_one_step_uses_nothing():
    prepared = lab_sessions.session([("ls secret_name_a", "ok")])
    assert Probe(prepared).uses == ()
