"""Reading a request's body: what was read of its beginning before is recognised, not read again.

An agent sends its whole history with each request, so that most of a body stood in the one before.
Hashes over its bytes name that beginning (`beginnings`); only what comes behind is cut, parsed and
hashed.

Rule 1. There are two ways and one result. `_whole` cuts the whole body. `_continued` takes over a
beginning whose bytes are the same, and reads the rest. Whatever is unusual goes the first way.
Rule 2. Only whole turns are taken over, and only those with a few more behind them: what clients
still change (cache markers, a growing last message) is read each time.
Rule 3. What was proved of a beginning's bytes (where its members and messages stand, each of them
once) holds in any body that begins with the same bytes.
Rule 4. The hash has a seed that nobody outside knows. It finds what this process read before, and
identifies nothing: the chain over the messages does that.
"""

from __future__ import annotations

import itertools
from array import array
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import xxhash

from cuesta.core.chain import Links, chain, continued
from cuesta.core.compact import Memo
from cuesta.core.errors import RequestError
from cuesta.core.meter import Meter, meter_for
from cuesta.core.models import read_model
from cuesta.core.policy import Policy
from cuesta.core.transcript import Message, Outline, Transcript, outline, read_transcript
from cuesta.dialects.base import Dialect, Request
from cuesta.dialects.raw import element_places, load, member_places, split_array, split_object
from cuesta.exchange.beginnings import Beginning, Beginnings
from cuesta.exchange.history import NO_COLUMNS, History, Outlines, Slices
from cuesta.exchange.memory import Recent
from cuesta.exchange.speech import CALLS, Speeches, read_spoken
from cuesta.protocols.lexicon import speaks_human
from cuesta.protocols.recognition import UNSPOKEN, Speech

BLOCK = 32 << 10
"""Bytes between two places at which a beginning may be recognised."""
_MESSAGES = 2_048
_FIXED_PARTS = 1_024
_UNSETTLED = 3
"""Turns at the end of a conversation that are read each time."""

_Tail: TypeAlias = "tuple[dict[str, bytes], tuple[array[int], array[int]]]"


@dataclass(slots=True)
class Body:
    """A request's body, cut.

    Attributes:
        request: Its members and raw messages.
        meter: The meter of the model that it asks.
        beginning: What is known of its first bytes.
        history: The beginning that is known already, or None.
        count: How many messages of that beginning stand here.
        turns: How many turns of it.
        ground: What a decision on its text protocol rests on; see `speech`.
        speech: How its conversation is spoken; known once it is read.
    """

    request: Request
    meter: Meter
    beginning: Beginning
    history: History | None = None
    count: int = 0
    turns: int = 0
    ground: bytes = CALLS
    speech: Speech = UNSPOKEN


class Reading:
    """A request, read: its raw messages, their outlines, the model's meter, and the chain."""

    def __init__(
        self,
        dialect: Dialect,
        body: Body,
        outlines: Sequence[Outline],
        links: Links,
        parsed: dict[int, Message],
    ) -> None:
        self.speech = body.speech
        """How the conversation is spoken."""
        self._dialect = dialect
        self._parsed = parsed
        self.request = body.request
        self.meter = body.meter
        self.outlines = outlines
        self.links = links
        earlier = body.history.transcript if body.history else None
        self.whole = read_transcript(outlines, earlier, body.turns)
        """The conversation, its head ending at the first model output."""
        self.first_call = None if body.speech.protocol else _first_call(body, outlines)
        """The first message that makes a call of the wire's own, or None."""
        self.memo = Memo()
        """What the digests of this request have in common."""
        self._to_human: Transcript | None = None

    def message(self, i: int) -> Message:
        """Return a message, read once."""
        message = self._parsed.get(i)
        if message is None:
            protocol = self.speech.protocol
            if protocol:
                self._parsed.update(read_spoken(self.written, self.outlines, i, protocol))
                return self._parsed[i]
            message = self._parsed[i] = self.written(i)
        return message

    def written(self, i: int) -> Message:
        """Return a message as its wire has it, whatever text protocol is spoken."""
        return self._dialect.parse(self.request.messages[i])[0]

    def transcript(self, policy: Policy) -> Transcript:
        """Divide it into head and turns as a policy says."""
        if not policy.head_to_first_human:
            return self.whole
        if self._to_human is None:
            self._to_human = self.whole.to_first_human()
        return self._to_human


class Reader:
    """Reads the requests of one dialect.

    Args:
        dialect: The wire API.
        realm: What the chain is seeded with beside the tenant.
        seed: Makes hashes over bytes unpredictable from outside.
        block: See `BLOCK`.
        harness: Whose text protocol is spoken in requests without tools; empty: they tell.
    """

    def __init__(
        self, dialect: Dialect, realm: str, seed: int, block: int = BLOCK, *, harness: str = ""
    ) -> None:
        self.dialect = dialect
        self._realm = realm
        self._seed = seed
        self._block = block
        self._beginnings = Beginnings(seed, block)
        self._outlines: Recent[tuple[str, bytes], Outline] = Recent(_MESSAGES)
        self._fixed: Recent[tuple[str, bytes], int] = Recent(_FIXED_PARTS)
        self._speeches = Speeches(dialect, seed, harness)

    def cut(self, raw: bytes, tenant: str) -> Body:
        """Cut a body into members and messages.

        Args:
            raw: The decompressed body.
            tenant: Who asks.

        Raises:
            RequestError: If it is malformed.
        """
        beginning = self._beginnings.find(raw)
        history = beginning.history
        body = self._continued(raw, tenant, beginning, history) if history else None
        if body is not None:
            return body
        request = self.dialect.read(raw)
        meter = meter_for(read_model(request.model))
        return Body(request, meter, beginning, ground=self._speeches.ground(request))

    def read(self, raw: bytes, tenant: str, body: Body) -> Reading:
        """Read the messages of a body that was cut, as far as they are not known.

        Raises:
            RequestError: If one of them is no message.
        """
        parsed: dict[int, Message] = {}
        messages = body.request.messages
        protocol = self._settle(body)
        if protocol:
            news = self._speeches.outlines(messages, body.count, body.meter, protocol)
        else:
            forgotten = len(messages) - _MESSAGES
            news = [
                (self._outline if i >= forgotten else self._summed_up)(
                    i, messages[i], body.meter, parsed
                )
                for i in range(body.count, len(messages))
            ]
        digests = (o.digest for o in news)
        history = body.history
        if history is None:
            links = chain(digests, self._realm, tenant)
            outlines: Sequence[Outline] = news
        else:
            links = continued(history.links.first(body.count), digests)
            outlines = Outlines(history.columns, body.count, news)
        reading = Reading(self.dialect, body, outlines, links, parsed)
        self._remember(raw, tenant, body, reading)
        return reading

    def read_again(self, body: Body, reading: Reading, protocol: str) -> Reading:
        """Read the messages of a body in another text protocol than its beginning tells.

        Nothing of it is remembered: seldom needed.
        """
        whole = replace(body, history=None, count=0, turns=0, speech=Speech(protocol))
        parsed: dict[int, Message] = {}
        messages = body.request.messages
        if protocol:
            outlines = self._speeches.outlines(messages, 0, body.meter, protocol)
        else:
            outlines = [self._outline(i, raw, body.meter, parsed) for i, raw in enumerate(messages)]
        return Reading(self.dialect, whole, outlines, reading.links, parsed)

    def _settle(self, body: Body) -> str:
        """Find out how a body's conversation is spoken; return its text protocol."""
        if body.history is not None:
            body.speech = body.history.speech
        elif body.ground != CALLS:
            messages = (self.dialect.parse(raw)[0] for raw in body.request.messages)
            body.speech = self._speeches.decide(body.request, messages)
        return body.speech.protocol

    def fixed(self, reading: Reading) -> int:
        """Estimate the fixed part of a request: system prompt and tools."""
        return sum(
            self._fixed_part(part, reading.meter) for part in self.dialect.fixed(reading.request)
        )

    def _fixed_part(self, part: bytes, meter: Meter) -> int:
        key = (meter.name, xxhash.xxh3_128_digest(part, self._seed))
        known = self._fixed.get(key)
        if known is None:
            known = meter.raw(part)
            self._fixed.put(key, known)
        return known

    def _continued(
        self, raw: bytes, tenant: str, beginning: Beginning, history: History
    ) -> Body | None:
        """Cut what comes behind a known beginning, or return None: the whole must be cut."""
        count = bisect_right(history.stops, beginning.end)
        known = history.transcript.turns
        # The last one may go on here with other messages than it did there.
        turns = known.within(count) - 1
        if turns < 1:
            return None
        count = known.stops[turns - 1]
        cut = history.stops[count - 1]
        where = self.dialect.where
        opening = b'{"%s":[0' % where.encode()
        try:
            found = _tail(opening + raw[cut:], where)
        except RequestError:
            return None
        if found is None or not found[0].keys().isdisjoint(history.members.keys() - {where}):
            return None
        members, (starts, stops) = found
        model = load({**history.members, **members}.get("model", b"null"))
        if not isinstance(model, str):
            return None
        meter = meter_for(read_model(model))
        shift = cut - len(opening)
        slices = Slices(
            raw,
            history.starts[:count] + array("q", [at + shift for at in starts]),
            history.stops[:count] + array("q", [at + shift for at in stops]),
        )
        request = Request({**history.members, where: b"[]", **members}, slices, model)
        ground = self._speeches.ground(request)
        if history.reader != (meter.name, tenant, ground) or count < history.speech.rests_on:
            return None
        return Body(request, meter, beginning, history, count, turns, ground)

    def _remember(self, raw: bytes, tenant: str, body: Body, reading: Reading) -> None:
        """Keep what was read of the turns that will not change any more."""
        turns = len(reading.whole.turns) - _UNSETTLED
        if len(raw) < self._block or turns < 1 or turns == body.turns or reading.speech.open:
            return
        cut = self._places(raw, body.request)
        if cut is None:
            return
        members, starts, stops = cut
        count, known = reading.whole.turns.stops[turns - 1], body.history
        columns = known.columns if known else NO_COLUMNS
        history = History(
            (reading.meter.name, tenant, body.ground), members, starts[:count], stops[:count],
            reading.links.first(count),
            columns.extended(body.count, reading.outlines[body.count : count]),
            replace(reading.whole, outlines=(), turns=reading.whole.turns.extended(turns, ())),
            reading.first_call, reading.speech,
        )  # fmt: skip
        self._beginnings.keep(body.beginning, history, taken=known is not None)

    def _places(
        self, raw: bytes, request: Request
    ) -> tuple[Mapping[str, bytes], array[int], array[int]] | None:
        """Return the members before the messages, and where each message stands; None: unusual."""
        where, messages = self.dialect.where, request.messages
        before = dict(itertools.takewhile(lambda m: m[0] != where, request.members.items()))
        if isinstance(messages, Slices):
            return before, messages.starts, messages.stops
        places = member_places(raw, request.members)
        found = element_places(raw, places[where], messages) if places else None
        return None if found is None else (before, *found)

    def _outline(self, i: int, message: bytes, meter: Meter, parsed: dict[int, Message]) -> Outline:
        """Sum raw message `i` up, once a meter for as long as its bytes are remembered."""
        key = (meter.name, xxhash.xxh3_128_digest(message, self._seed))
        known = self._outlines.get(key)
        if known is None:
            known = self._summed_up(i, message, meter, parsed)
            self._outlines.put(key, known)
        return known

    def _summed_up(
        self, i: int, message: bytes, meter: Meter, parsed: dict[int, Message]
    ) -> Outline:
        """Sum raw message `i` up."""
        parsed[i], digest = self.dialect.parse(message)
        return outline(parsed[i], digest, meter, human=speaks_human(parsed[i]))


def _first_call(body: Body, outlines: Sequence[Outline]) -> int | None:
    """Return the first message that makes a call, or None."""
    known = body.history.first_call if body.history else None
    if known is not None and known < body.count:
        return known
    return next((i for i in range(body.count, len(outlines)) if outlines[i].opens), None)


def _tail(raw: bytes, where: str) -> _Tail | None:
    """Cut a body's end, made a body of its own by an opening with a first message `0`.

    Returns:
        The members but the messages, and where each message but the first stands; None where the
        end is not what it should be.

    Raises:
        RequestError: If it is malformed.
    """
    members = split_object(raw)
    places = member_places(raw, members)
    if places is None or where not in places:
        return None
    elements = split_array(members.pop(where))
    found = element_places(raw, places[where], elements)
    if found is None or elements[0] != b"0":
        return None
    starts, stops = found
    return members, (starts[1:], stops[1:])
