"""The proxy's options, declared once: flags, environment and TOML are derived from the fields."""

from __future__ import annotations

from dataclasses import dataclass, field

from cuesta.core.errors import ConfigError

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
        metadata={"help": "address to listen on; anything but loopback opens it to the network"},
    )
    port: int = field(default=4141, metadata={"help": "port to listen on; 0 takes a free one"})
    upstream: str = field(
        default="https://api.anthropic.com",
        metadata={"help": "where requests on Anthropic's paths go, and those that nobody claims"},
    )
    openai_upstream: str = field(
        default="https://api.openai.com",
        metadata={"help": "where requests on OpenAI's paths go; without a path it means /v1"},
    )
    chatgpt_upstream: str = field(
        default="https://chatgpt.com/backend-api/codex",
        metadata={"help": "where they go with a ChatGPT login instead of a key"},
    )
    allow_host: tuple[str, ...] = field(
        default=(),
        metadata={"help": "one more name under which clients may address the proxy"},
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
    drain_s: int = field(
        default=30,
        metadata={"help": "seconds that running answers get to finish after a stop signal"},
    )

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if not 0 <= self.port <= 65_535:
            raise ConfigError(f"port {self.port} does not exist: choose one from 0 to 65535")
        if self.drain_s < 0:
            raise ConfigError("drain_s must not be negative")
