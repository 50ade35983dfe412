"""The prefix cache that needs no markers, and its bill, to the token."""

import pytest

from cuesta.core.usage import Usage
from cuesta.testing.simulator import AutoCache, ChatJudge, ResponsesJudge
from cuesta.testing.simulator.chat import reading as chat_reading
from cuesta.testing.simulator.responses import reading as responses_reading

OVERHEAD = 4
"""Tokens of each message beside its text."""


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


class Chat:
    def __init__(self, clock, factor=1.0):
        self.judge = ChatJudge()
        self.cache = AutoCache(chat_reading.see, clock, factor)

    def __call__(self, *texts, model="gpt-5.5", **more):
        messages = [{"role": "user", "content": text} for text in texts]
        return self.charge({"model": model, "messages": messages, **more})

    def charge(self, body):
        verdict = self.judge.verdict(body)
        assert verdict.refusal is None
        return self.cache.charge(verdict.request)


class Responses(Chat):
    def __init__(self, clock, factor=1.0):
        self.judge = ResponsesJudge()
        self.cache = AutoCache(responses_reading.see, clock, factor)

    def __call__(self, *texts, model="gpt-5.5", **more):
        return self.charge(
            {"model": model, "input": [{"role": "user", "content": t} for t in texts], **more}
        )


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(params=[Chat, Responses])
def charge(request, clock):
    return request.param(clock)


def words(tokens, letter="x"):
    """A text of so many tokens."""
    return letter * int(tokens * 3.5)


def test_the_first_prompt_is_all_input(charge):
    assert charge(words(5000)) == Usage(input=5000 + OVERHEAD)


def test_the_same_prompt_is_read_in_steps_of_128(charge):
    for tokens, read in [(1020, 1024), (1147, 1024), (1148, 1152), (5000, 4992)]:
        letter = "abcd"[[1020, 1147, 1148, 5000].index(tokens)]
        charge(words(tokens, letter))
        total = tokens + OVERHEAD
        assert charge(words(tokens, letter)) == Usage(input=total - read, cache_read=read)


def test_below_1024_tokens_nothing_is_read(charge):
    for _ in range(2):
        assert charge(words(1019)) == Usage(input=1023)
    charge(words(1020))
    assert charge(words(1020)).cache_read == 1024


def test_a_grown_prompt_reads_what_was_there(charge):
    charge(words(2000))
    grown = charge(words(2000), words(2000, "y"))
    assert grown == Usage(input=4008 - 1920, cache_read=1920)
    again = charge(words(2000), words(2000, "y"), words(10, "z"))
    assert again == Usage(input=4022 - 3968, cache_read=3968)


def test_a_change_is_missed_from_its_own_step_on(charge):
    charge(words(1500), words(3000, "y"))
    changed = charge(words(1500), words(1000, "y") + "!" + words(2000, "y"))
    assert changed.cache_read == 2432
    assert 2432 <= 1504 + OVERHEAD + 1000 < 2432 + 128
    assert charge("!" + words(1500), words(3000, "y")).cache_read == 0


def test_a_last_message_that_grows_is_read_up_to_its_old_end(charge):
    charge(words(1500))
    assert charge(words(1500) + words(1500, "y")).cache_read == 1408


def test_tools_stand_before_everything(charge):
    tools = [{"type": "function", "name": "bash", "function": {"name": words(2000)}}]
    first = charge(words(2000), tools=tools)
    assert first.cache_read == 0
    assert charge("other", tools=tools).cache_read >= 2048
    other = [{"type": "function", "name": "sh", "function": {"name": words(2000)}}]
    assert charge(words(2000), tools=other).cache_read == 0


def test_neither_keys_nor_users_keep_caches_apart_but_models_do(charge):
    charge(words(2000), prompt_cache_key="a")
    assert charge(words(2000), prompt_cache_key="b", user="u").cache_read == 1920
    assert charge(words(2000), model="gpt-5.4").cache_read == 0


def test_entries_live_ten_minutes_from_their_last_use(charge, clock):
    charge(words(2000))
    for _ in range(3):
        clock.now += 599
        assert charge(words(2000)).cache_read == 1920
    clock.now += 600
    assert charge(words(2000)).cache_read == 0


@pytest.mark.parametrize("wire", [Chat, Responses])
def test_the_bill_can_be_made_to_differ_from_any_estimate(wire, clock):
    charge = wire(clock, factor=1.5)
    assert charge(words(1000)) == Usage(input=1506)
    assert charge(words(1000)) == Usage(input=1506 - 1408, cache_read=1408)


def test_one_wide_character_is_one_token(charge):
    wide = "中" * 1500
    assert charge(wide) == Usage(input=1504)
    assert charge("中" * 1100 + "文" * 400) == Usage(input=1504 - 1024, cache_read=1024)
    assert charge(wide + "a" * 35) == Usage(input=1514 - 1408, cache_read=1408)


def test_roles_and_pictures_are_part_of_the_prefix(clock):
    charge = Chat(clock)
    user = {"role": "user", "content": words(2000)}
    charge.charge({"model": "m", "messages": [user]})
    system = {**user, "role": "system"}
    assert charge.charge({"model": "m", "messages": [system]}).cache_read == 0

    def seen(url, words="see"):
        picture = {"type": "image_url", "image_url": {"url": url}}
        text = {"type": "text", "text": words}
        message = {"role": "user", "content": [text, picture]}
        return charge.charge({"model": "m", "messages": [message]}).cache_read

    assert [seen("data:a"), seen("data:a"), seen("data:b")] == [0, 1408, 0]
    long = words(2000, "w")
    assert [seen("data:a", long), seen("data:b", long)] == [0, 1920]
