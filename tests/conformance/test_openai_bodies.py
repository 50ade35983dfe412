"""On OpenAI's wires nothing is lost but what a cliff may take, byte for byte.

A judge of validity cannot see it: a prompt without half of its text is as valid as the whole one.
"""

import json
import re
from functools import partial

import msgspec
import pytest

from cuesta.exchange.engine import Engine
from cuesta.exchange.options import CompactionOptions
from cuesta.testing.driver import Bench
from cuesta.testing.histories import ClientHistory

WHERE = {"openai_chat": "messages", "openai_responses": "input"}
RECORD = "<record-of-earlier-work>"
STAYS = {
    "compaction", "context_compaction", "item_reference", "additional_tools", "mcp_list_tools",
    "tool_search_output",
}  # fmt: skip
"""Items without which the model misses what stood before them, or its tools."""
SAID = 18
"""Characters of a person's text that no shortening takes."""
SEEDS = range(4, 12)

_members = partial(msgspec.json.decode, type=dict[str, msgspec.Raw])
_elements = partial(msgspec.json.decode, type=list[msgspec.Raw])


def cut(body, wire):
    """Return the raw messages of a body and all else in it."""
    members = {key: bytes(value) for key, value in _members(body).items()}
    return [bytes(message) for message in _elements(members.pop(WHERE[wire]))], members


def texts(message):
    content = message.get("content")
    parts = [{"text": content}] if isinstance(content, str) else content or []
    return [part["text"] for part in parts if isinstance(part.get("text"), str)]


def words(message):
    """Return what a person says in a message, without what stands between a harness's tags."""
    if message.get("role") != "user":
        return []
    bare = (re.sub(r"<([\w-]+)>.*?</\1>", "", text, flags=re.DOTALL) for text in texts(message))
    return [text.strip()[:SAID] for text in bare if text.strip()]


def answers(message):
    """Tell whether a message or an item is the model's."""
    kind = message.get("type", "message")
    inert = kind == "message" or kind in STAYS or kind.endswith("_output")
    return message.get("role") == "assistant" or not inert


def replaced(wire):
    """Play histories; yield the label, the client's body and the one in its place, both cut."""
    for seed in SEEDS:
        history = ClientHistory(seed, wire=wire)
        bench = Bench(Engine(CompactionOptions(threshold=8000)))
        while (body := history.request()) is not None:
            driven = bench.send(body, path=history.path.partition("?")[0])
            if driven.event.action == "replace":
                yield history.label, cut(body, wire), cut(driven.body, wire)
            history.answer(lambda text, _: f"sealed {text}")


def ours(raw, sent):
    """Return where the digest stands, and the message that holds it, read."""
    known = set(raw)
    (place,) = [i for i, m in enumerate(sent) if m not in known and RECORD.encode() in m]
    return place, json.loads(sent[place])


def anchor_of(raw):
    """Return where the head ends, and its message that the digest stands right behind."""
    read = [json.loads(message) for message in raw]
    head = next(i for i, message in enumerate(read) if answers(message))
    users = [i for i in range(head) if read[i].get("role") == "user"]
    return head, max(users[-1:] + [i for i in range(head) if read[i].get("type") in STAYS])


def kept_as_it_came(wire, raw, sent):
    """Tell whether head and kept messages are the client's own bytes around the digest."""
    place, message = ours(raw, sent)
    head, anchor = anchor_of(raw)
    if wire == "openai_chat":  # the digest stands in the message, behind its own text
        asked = json.loads(raw[anchor])
        own = {**message, "content": 0} == {**asked, "content": 0}
        own = own and "".join(texts(message)).startswith("".join(texts(asked)))
        before = anchor
    else:
        own, before = message["role"] == "user", anchor + 1
    behind, kept = sent[place + 1 :], iter(raw[anchor + 1 :])
    return (
        own
        and sent[:place] == raw[:before]
        and behind[: head - anchor - 1] == raw[anchor + 1 : head]
        and behind[-1] == raw[-1]
        and all(piece in kept for piece in behind)
    )


@pytest.mark.parametrize(
    ("wire", "staying"),
    [
        ("openai_chat", set()),
        ("openai_responses", {"compaction", "additional_tools", "tool_search_output"}),
    ],
)
def test_a_cliff_takes_nothing_but_turns_and_leaves_what_people_said(wire, staying):
    seen = set()
    spoken = 0
    for label, (raw, rest), (sent, rest_sent) in replaced(wire):
        assert rest_sent == rest, label
        assert kept_as_it_came(wire, raw, sent), label
        record = "\n".join(texts(ours(raw, sent)[1]))
        folded = [json.loads(message) for message in set(raw) - set(sent)]
        assert not [m["type"] for m in folded if m.get("type") in STAYS], label
        seen.update(json.loads(message).get("type") for message in raw)
        for said in (said for message in folded for said in words(message)):
            spoken += 1
            assert said in record, label
    assert seen >= staying
    assert spoken > 50
