"""The versioned record of one request: what was done, why, and what it cost.

It never holds text of a conversation, a key, or a header. Versions: a field may be added under the
same version (readers ignore what they do not know); a changed meaning raises `VERSION`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from cuesta.core.usage import Usage

VERSION = 1


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """One request as the proxy handled it."""

    at: float
    """When the request arrived, in seconds since the Unix epoch."""
    conversation: str
    """A short name for the conversation, made from hashes of its messages."""
    dialect: str
    """The wire API, for example `anthropic`; empty where no dialect claimed the request."""
    path: str
    """The request's path without its query."""
    model: str
    """The model's name as requested."""
    action: str
    """`keep` (original bytes), `replace` (compacted), `pass` (never considered), `refuse` (over the
    window, not sent) or `failed`."""
    reason: str
    """Why, in a few fixed words and figures."""
    messages: int = 0
    """Messages in the client's own list."""
    cliffs: int = 0
    """Cliffs in force for this request."""
    new_cliff: bool = False
    """Whether this request opened an epoch."""
    external: bool = False
    """Whether the cliff in force was caused by anything but the estimate over the history."""
    raw_tokens: int = 0
    """Estimated prompt tokens of the client's own body."""
    sent_tokens: int = 0
    """Estimated prompt tokens of what was sent."""
    previous_raw_tokens: int = 0
    """`raw_tokens` of the conversation's previous request; 0 at its first."""
    previous_at: float = 0.0
    """When the conversation's previous request arrived; 0 at its first."""
    threshold: int = 0
    """The threshold in force, in tokens; 0 where none was fixed yet."""
    strategy: str = ""
    """The strategy that decided; empty where none was asked."""
    status: int = 0
    """The HTTP status of the answer; 0 where none came."""
    usage: Usage | None = None
    """What the provider billed, or None where the answer told nothing."""
    asked: Usage | None = None
    """What was billed beside it for a question of Cuesta's own (a summary), or None."""
    subscription: bool = False
    """Whether the request carried a login rather than a key, so that no dollars are billed."""
    refused: int = 0
    """Forms that the upstream refused before this answer."""
    seconds: float = 0.0
    """From the request's arrival to the last byte of the answer."""
    aborted: bool = False
    """Whether the client left before the end."""
    run: str = ""
    """The run that the request belongs to, where a launcher named one."""
    shadow: bool = False
    """Whether `action` was only planned, and the request left as it came."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain values, with its version under `v`."""
        record = {"v": VERSION, **{name: getattr(self, name) for name in _FIELDS}}
        for name in _USAGES:
            usage = getattr(self, name)
            record[name] = None if usage is None else asdict(usage)
        return record

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> TraceEvent:
        """Read a record written by `to_dict`, ignoring fields added since.

        Raises:
            ValueError: If the record's version is newer than this module's.
        """
        if record.get("v", 0) > VERSION:
            raise ValueError(f"trace record of version {record['v']}, this is version {VERSION}")
        known = {f.name for f in fields(cls)}
        values = {key: value for key, value in record.items() if key in known}
        for name in _USAGES:
            if values.get(name) is not None:
                values[name] = Usage(**values[name])
        return cls(**values)


_USAGES = ("usage", "asked")
_FIELDS = tuple(field.name for field in fields(TraceEvent))
