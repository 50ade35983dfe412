"""The proxy's options, declared once: flags, environment and TOML are derived from the fields."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from cuesta.core.errors import ConfigError
from cuesta.proxy import checks

UPSTREAMS = ("upstream", "openai_upstream", "chatgpt_upstream")
"""The options that hold an upstream's address."""


@dataclass(frozen=True, slots=True)
class ProxyOptions:
    """What the person who runs the proxy decides.

    Raises:
        ConfigError: If a value is out of its range.
    """

    host: str = field(
        default="127.0.0.1",
        metadata={
            "help": "address to listen on; anything but loopback opens it to the network",
            "check": checks.host,
        },
    )
    port: int = field(
        default=4141,
        metadata={"help": "port to listen on; 0 takes a free one", "check": checks.port},
    )
    workers: int = field(
        default=1,
        metadata={
            "help": "processes that share the port and the ledger",
            "check": checks.workers,
        },
    )
    upstream: str = field(
        default="https://api.anthropic.com",
        metadata={
            "help": "where requests on Anthropic's paths go, and those that nobody claims",
            "check": checks.address,
        },
    )
    openai_upstream: str = field(
        default="https://api.openai.com",
        metadata={
            "help": "where requests on OpenAI's paths go; without a path it means /v1",
            "check": checks.address,
        },
    )
    chatgpt_upstream: str = field(
        default="https://chatgpt.com/backend-api/codex",
        metadata={
            "help": "where they go with a ChatGPT login instead of a key",
            "check": checks.address,
        },
    )
    allow_host: tuple[str, ...] = field(
        default=(),
        metadata={
            "help": "one more name under which clients may address the proxy",
            "check": checks.host_name,
        },
    )
    header: bool = field(
        default=True,
        metadata={"help": "tell in the answer header x-cuesta what was done and why"},
    )
    ephemeral: bool = field(
        default=False,
        metadata={"help": "keep nothing on disk"},
    )
    state_dir: str = field(
        default="",
        metadata={"help": "folder for ledger and trace; empty: the platform's own place"},
    )
    record: str = field(
        default="",
        metadata={
            "help": "folder to record requests in, with their bodies: whole conversations",
        },
    )
    drain_s: int = field(
        default=30,
        metadata={
            "help": "seconds that running answers get to finish after a stop signal",
            "check": checks.not_negative,
        },
    )

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        for option in fields(self):
            value = getattr(self, option.name)
            for part in value if isinstance(value, tuple) else (value,):
                try:
                    option.metadata.get("check", _anything)(part)
                except ValueError as error:
                    raise ConfigError(f"{option.name}: {error}") from None
        if self.workers > 1 and self.ephemeral:
            raise ConfigError("workers: several need the ledger on disk; leave `ephemeral` out")
        if self.record and self.ephemeral:
            raise ConfigError("record: it keeps everything on disk; leave `ephemeral` out")


def _anything(_: object) -> None:
    """Expect nothing of a value."""
