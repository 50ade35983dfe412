"""What is known of a conversation's cliffs: where they fell and under what knobs.

An entry stands under the chain link of the messages that the cliff's request held. It never holds
conversation text: a digest is rendered again from the request and checked against its hash.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from cuesta.core.errors import ConfigError
from cuesta.core.policy import Policy

ENTRY_VERSION = 3
_SPEAKS = 3
_READABLE = (1, 2, ENTRY_VERSION)
"""What older versions lack has its default: 1 knew no strategy that clears, 2 no text protocols."""


@dataclass(frozen=True, slots=True)
class Cliff:
    """One drop, in the original conversation's coordinates.

    Attributes:
        cut: The first turn kept; all before it are folded away. 0 folds nothing (an external cliff
            that only takes thinking out).
        border: How many turns there were when it fell.
        messages: How many messages there were when it fell.
        threshold: The threshold of the epoch that it opens, in estimated tokens.
        fixed: The fixed part (system, tools) that it was computed with, in estimated tokens.
        family: The model's `key`: caches and thinking are bound to it.
        strip: Whether thinking is cut out of the kept ones of these messages.
        external: Whether anything but the estimate over the history caused or moved it.
        digest: SHA-256 over the rendered digest, as hexadecimal; empty where nothing stands in
            place of what was folded.
        digest_tokens: Estimated size of the digest's message.
        cleared: Results in the kept turns before this one are cleared; 0 clears none.
        summary: Whether the digest is a summary that a model wrote. Its text is nowhere but in the
            memory of the process that asked for it.
    """

    cut: int
    border: int
    messages: int
    threshold: int
    fixed: int
    family: str
    strip: bool
    external: bool
    digest: str
    digest_tokens: int
    cleared: int = 0
    summary: bool = False


_CLIFF = tuple(field.name for field in fields(Cliff))


@dataclass(frozen=True, slots=True)
class Entry:
    """What the ledger holds under one link.

    Attributes:
        policy: The knobs that the last cliff's digest was rendered with.
        strategy: The strategy that decided.
        renderer: The version of the digest's renderer.
        rung: The step of the policy's ladder that `policy` is; 0 is the mildest.
        cliffs: All cliffs so far, the last one in force; none: the client's own bytes.
        foreign: Whether the turn behind this link was answered behind other bytes than the epoch's
            own, so that the next request must open a new one.
        stem: What the last message held when the last cliff fell, a hash a block; only in an entry
            that stands under `chain.stem`.
        protocol: The text protocol that the conversation was read in; empty: the wire's own calls.
            It counts where there are cliffs.
    """

    policy: Policy
    strategy: str
    renderer: int
    cliffs: tuple[Cliff, ...]
    rung: int = 0
    foreign: bool = False
    stem: tuple[str, ...] = ()
    protocol: str = ""

    def to_json(self) -> bytes:
        """Return the entry as JSON with its version under `v`."""
        record = {
            "v": ENTRY_VERSION,
            "policy": self.policy.to_dict(),
            "strategy": self.strategy,
            "renderer": self.renderer,
            "cliffs": [{name: getattr(cliff, name) for name in _CLIFF} for cliff in self.cliffs],
            "rung": self.rung,
            "foreign": self.foreign,
            "stem": self.stem,
            "protocol": self.protocol,
        }
        return json.dumps(record, separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, record: bytes) -> Entry:
        """Read what `to_json` wrote.

        Raises:
            ValueError: If the record is broken or of another version.
        """
        try:
            values: Mapping[str, Any] = json.loads(record)
            if values["v"] not in _READABLE:
                raise ValueError(f"ledger entry of version {values['v']}")
            return cls(
                policy=Policy.from_dict(values["policy"]),
                strategy=values["strategy"],
                renderer=values["renderer"],
                cliffs=tuple(Cliff(**cliff) for cliff in values["cliffs"]),
                rung=values["rung"],
                foreign=values["foreign"],
                stem=tuple(values["stem"]),
                protocol=values["protocol"] if values["v"] >= _SPEAKS else "",
            )
        except (KeyError, TypeError, ConfigError) as error:
            raise ValueError(f"broken ledger entry: {error}") from error
