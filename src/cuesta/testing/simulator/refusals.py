"""What the provider says when it refuses, and where each rule comes from."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

_DOCS = "https://platform.claude.com/docs/en/"

SOURCES = MappingProxyType(
    {
        "authentication": _DOCS + "api/errors",
        "body": _DOCS + "api/messages",
        "size": _DOCS + "api/errors",
        "surrogate": "anthropics/claude-code#3277, #5934",
        "fields": _DOCS + "api/messages",
        "extra": "anthropics/claude-code#69618",
        "roles": _DOCS + "api/messages",
        "blocks": _DOCS + "api/messages",
        "placement": _DOCS + "api/messages",
        "first": _DOCS + "api/messages",
        "empty": "anthropics/claude-code#863, #4314",
        "whitespace": "anthropics/claude-code#23440, #23352",
        "trailing": _DOCS + "build-with-claude/working-with-messages",
        "final-thinking": _DOCS + "build-with-claude/extended-thinking",
        "text-after-call": "stacklok/mecatl#1465",
        "call-shape": _DOCS + "agents-and-tools/tool-use/handle-tool-calls",
        "pairing": "anthropics/claude-code#1237; V1ki/dsh-plugin-subscriptions#22; "
        "QwenLM/qwen-code#8161",
        "unexpected-result": "anthropics/claude-code#13460; openclaw/openclaw#8525",
        "single-result": "vectorize-io/hindsight#4250",
        "unique-ids": "NachoSEO/claudegram#12; anthropics/claude-code#20901",
        "server-pairing": "anthropics/anthropic-sdk-python#1151; anthropics/claude-code#64383",
        "prefill": "HolmesGPT/holmesgpt#2173",
        "system-model": "LeenHawk/gproxy#209",
        "system-place": _DOCS + "build-with-claude/mid-conversation-system-messages; "
        "anthropics/claude-code#73821",
        "markers": "coder/mux#3112",
        "marker-shape": _DOCS + "build-with-claude/prompt-caching",
        "marker-order": "headroomlabs-ai/headroom#2941; anthropics/claude-code#37842",
        "thinking-mode": "anomalyco/opencode#22863; ex-machina-co/opencode-anthropic-auth#159",
        "thinking-budget": _DOCS + "build-with-claude/extended-thinking",
        "thinking-binding": "anomalyco/opencode#46729; Wei-Shaw/sub2api#6677",
        "thinking-first": "anomalyco/opencode#3077; lbjlaq/Antigravity-Manager#139",
        "thinking-latest": "anthropics/claude-code#63203, #63448",
        "signature": "router-for-me/CLIProxyAPI#2172; anthropics/anthropic-sdk-python#1598",
        "prefix": _DOCS + "build-with-claude/preserved-thinking/prefix-checks; "
        "anomalyco/opencode#48637",
        "image-size": "anthropics/claude-code#16173, #29551",
        "image-bytes": "anthropics/claude-code#2104",
        "tool-reference": "headroomlabs-ai/headroom#2584",
        "window": "raine/claude-code-proxy#30",
    }
)
"""The page or the thread that a rule was read in, by the rule's name."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """One request refused, in the provider's own words.

    Attributes:
        status: The HTTP status.
        type: The error type of the answer, for example `invalid_request_error`.
        message: What the provider says.
        rule: The broken rule's name, a key of `SOURCES`.
        source: Where the rule was read.
    """

    status: int
    type: str
    message: str
    rule: str
    source: str

    def body(self, request_id: str) -> dict[str, object]:
        """Return the answer's JSON value."""
        return {
            "type": "error",
            "error": {"type": self.type, "message": self.message},
            "request_id": request_id,
        }


def refuse(rule: str, message: str) -> Refusal:
    """Return a refusal of status 400 for a broken rule."""
    return Refusal(400, "invalid_request_error", message, rule, SOURCES[rule])


class RefusedError(Exception):
    """Carries a refusal out of reading a body that has no readable parts."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal
