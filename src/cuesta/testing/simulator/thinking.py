"""The rules about thinking: which modes a model knows, and which blocks it takes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from cuesta.core.models import Model, checks_prefixes
from cuesta.testing.simulator.blocks import THINKING
from cuesta.testing.simulator.canon import Json, block_digest
from cuesta.testing.simulator.refusals import Refusal, refuse

if TYPE_CHECKING:
    from collections.abc import Callable

    from cuesta.testing.simulator.facts import Named
    from cuesta.testing.simulator.reading import Request
    from cuesta.testing.simulator.signatures import Signatures

BINDING_BETA = "thinking-binding-controls-2026-08-01"

Mismatch: TypeAlias = Literal["error", "drop"]

_ADAPTIVE_FLOOR = {"opus": (4, 7), "haiku": (5, 5)}
_ALWAYS_FLOOR = {"opus": (5, 5), "fable": (5, 0), "mythos": (5, 0)}
_NEVER = (99, 0)
_MIN_BUDGET = 1024


def adaptive_only(model: Model) -> bool:
    """Tell whether a model refuses a thinking budget.

    Source: anomalyco/opencode#22863; Opus from 4.7, Sonnet, Fable and Mythos from 5, and every
    model that checks prefixes.
    """
    return model.claude and model.generation >= _ADAPTIVE_FLOOR.get(model.family, (5, 0))


def always_thinks(model: Model) -> bool:
    """Tell whether a model's thinking cannot be switched off.

    Source: ex-machina-co/opencode-anthropic-auth#159 for Fable and Mythos; Opus from 5.5.
    """
    return model.claude and model.generation >= _ALWAYS_FLOOR.get(model.family, _NEVER)


def thinking_mode(request: Request) -> str:
    """Return `enabled`, `adaptive` or `disabled`: what the request asks for, or its default.

    Models with preserved thinking, and those that cannot do without, are adaptive by default.
    """
    given = request.body.get("thinking")
    if isinstance(given, dict):
        return str(given.get("type"))
    model = request.model
    return "adaptive" if always_thinks(model) or checks_prefixes(model) else "disabled"


def mode_is_supported(request: Request) -> Refusal | None:
    """The model knows the mode that the request asks for."""
    given: Any = request.body.get("thinking")
    if given is None:
        return None
    kind = given.get("type") if isinstance(given, dict) else None
    if kind not in {"enabled", "adaptive", "disabled"}:
        return refuse(
            "thinking-mode",
            f"thinking: Input tag '{kind}' found using 'type' does not match any of the expected "
            "tags: 'adaptive', 'disabled', 'enabled'",
        )
    if kind == "enabled" and adaptive_only(request.model):
        return refuse(
            "thinking-mode",
            '"thinking.type.enabled" is not supported for this model. Use '
            '"thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
        )
    if kind == "disabled" and always_thinks(request.model):
        return refuse(
            "thinking-mode",
            '"thinking.type.disabled" is not supported for this model. Thinking defaults to '
            'adaptive mode when not specified; use "thinking.type.enabled" with "budget_tokens" '
            "for extended thinking.",
        )
    return None


def budget_is_given(request: Request) -> Refusal | None:
    """A thinking budget is a number of at least 1,024 tokens."""
    given: Any = request.body.get("thinking")
    if given is None or given.get("type") != "enabled":
        return None
    budget = given.get("budget_tokens")
    if isinstance(budget, int) and budget >= _MIN_BUDGET:
        return None
    return refuse(
        "thinking-budget",
        f"thinking.enabled.budget_tokens: Input should be greater than or equal to {_MIN_BUDGET}",
    )


def binding_is_allowed(request: Request) -> Refusal | None:
    """Binding controls are set only with their beta, and only on models that bind."""
    given: Any = request.body.get("thinking")
    if not isinstance(given, dict) or "block_binding" not in given:
        return None
    at = f"thinking.{given.get('type')}.block_binding"
    if BINDING_BETA not in request.betas or not checks_prefixes(request.model):
        return refuse("thinking-binding", f"{at}: Extra inputs are not permitted")
    if _wish(request) in {"drop_block", "error"}:
        return None
    return refuse(
        "thinking-binding",
        f"{at}.prefix_mismatch_behavior: Input should be 'drop_block' or 'error'",
    )


MODE_RULES: tuple[Callable[[Request], Refusal | None], ...] = (
    mode_is_supported,
    budget_is_given,
    binding_is_allowed,
)
"""The rules that need no memory, in the order in which they are tried."""


def _wish(request: Request) -> str | None:
    given: Any = request.body.get("thinking")
    binding = given.get("block_binding") if isinstance(given, dict) else None
    return str(binding.get("prefix_mismatch_behavior")) if isinstance(binding, dict) else None


class Part(NamedTuple):
    """One block of an assistant message as the memory of answers keeps it."""

    kind: str
    mark: str


class Answers:
    """What the model answered, to tell whether its last answer comes back as it was."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, ...], set[tuple[Part, ...]]] = {}

    def remember(self, request: Request, content: list[Json]) -> None:
        """Keep one answer's blocks; an answer to a paused turn goes on with that turn."""
        parts = _paused(request) + [
            Part(
                str(block["type"]), _mark(block["type"], str(block.get("id")), block_digest(block))
            )
            for block in content
        ]
        self._kept.setdefault(_key(parts), set()).add(_order(parts))

    def known(self, parts: list[Part]) -> set[tuple[Part, ...]]:
        """Return the orders of thinking and calls in which these blocks were answered."""
        return self._kept.get(_key(parts), set())


def _mark(kind: str, call: str, digest: bytes) -> str:
    return call if kind == "tool_use" else digest.hex()


def _key(parts: list[Part]) -> tuple[str, ...]:
    calls = tuple(part.mark for part in parts if part.kind == "tool_use")
    return calls or tuple(part.mark for part in parts if part.kind not in THINKING)


def _order(parts: list[Part]) -> tuple[Part, ...]:
    return tuple(part for part in parts if part.kind in THINKING or part.kind == "tool_use")


def _last_answer(request: Request) -> tuple[list[Part], list[tuple[int, int]], bool]:
    """Return the last assistant turn's blocks, their places, and whether its calls are open."""
    turns = [turn for turn in request.turns if turn[0] != "system"]
    open_loop = bool(turns) and turns[-1][0] == "user" and bool(_leading(request, turns[-1][1]))
    places = next((places for role, places in reversed(turns) if role == "assistant"), [])
    parts: list[Part] = []
    at: list[tuple[int, int]] = []
    for place in places:
        message = request.messages[place]
        ids = {call.block: call.name for call in message.calls}
        for block, kind in enumerate(message.kinds):
            parts.append(Part(kind, _mark(kind, ids.get(block, ""), message.digests[block])))
            at.append((place, block))
    return parts, at, open_loop


def _leading(request: Request, places: list[int]) -> int:
    return request.messages[places[0]].leading


def _paused(request: Request) -> list[Part]:
    """Return the blocks of the turn that a request ends with, if the model is to go on with it."""
    turns = [turn for turn in request.turns if turn[0] != "system"]
    return _last_answer(request)[0] if turns and turns[-1][0] == "assistant" else []


def last_answer_is_untouched(request: Request, answers: Answers) -> Refusal | None:
    """Where thinking is on, the last assistant message has its thinking exactly as returned.

    Models that check prefixes have their own, stricter rule, and none about a missing block here.
    """
    if thinking_mode(request) == "disabled" or checks_prefixes(request.model):
        return None
    parts, at, open_loop = _last_answer(request)
    if not parts:
        return None
    known = answers.known(parts) if parts else set()
    if known and _order(parts) not in known:
        place, block = at[_first_difference(parts, next(iter(known)))]
        return refuse(
            "thinking-latest",
            f"messages.{place}.content.{block}: `thinking` or `redacted_thinking` blocks in the "
            "latest assistant message cannot be modified. These blocks must remain as they were "
            "in the original response.",
        )
    budgeted = thinking_mode(request) == "enabled"
    if not budgeted or not open_loop or not parts or known or parts[0].kind in THINKING:
        return None
    return refuse(
        "thinking-first",
        f"messages.{at[0][0]}.content.0.type: Expected `thinking` or `redacted_thinking`, but "
        f"found `{parts[0].kind}`. When `thinking` is enabled, a final `assistant` message must "
        "start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` "
        "blocks). We recommend you include thinking blocks from previous turns. To avoid this "
        "requirement, disable `thinking`. Please consult our documentation at "
        "https://docs.claude.com/en/docs/build-with-claude/extended-thinking",
    )


def _first_difference(parts: list[Part], known: tuple[Part, ...]) -> int:
    order = 0
    for index, part in enumerate(parts):
        if part.kind not in THINKING and part.kind != "tool_use":
            continue
        if order >= len(known) or known[order] != part:
            return index
        order += 1
    return len(parts) - 1


@dataclass(frozen=True, slots=True)
class Binding:
    """How thinking that comes back is treated.

    Attributes:
        enforced: Whether the account is checked without asking for it.
        mismatch: What becomes of a block behind another prefix where the request does not say.
    """

    enforced: bool
    mismatch: Mismatch


def thinking_is_bound(
    request: Request, signatures: Signatures, binding: Binding
) -> tuple[Refusal | None, list[dict[str, str]]]:
    """Check every thinking block that comes back.

    Args:
        request: The request.
        signatures: What was thought behind which prefix.
        binding: How blocks behind another prefix are treated.

    Returns:
        The refusal or None, and the answer's `input_transformations`: blocks dropped or let
        through, each with its path and why.
    """
    changes: list[dict[str, str]] = []
    for place, message in enumerate(request.messages):
        for block in message.thinking:
            at = f"messages.{place}.content.{block.block}"
            bond = signatures.find(block.name)
            if bond is None or bond.block != message.digests[block.block]:
                return refuse("signature", _invalid(at, block)), changes
            if not checks_prefixes(request.model):
                continue
            if bond.model != request.model.key:
                changes.append(_change("thinking_dropped", at, "model_binding_mismatch"))
            elif request.before(place, block.block) not in bond.prefixes:
                outcome = _outcome(request, binding)
                if outcome == "error":
                    return _bound_elsewhere(at, block), changes
                changes.append(_change(outcome, at, "prefix_binding_mismatch"))
    return None, changes


def _outcome(request: Request, binding: Binding) -> str:
    wish = _wish(request)
    if wish is None and not binding.enforced:
        return "thinking_mismatch_allowed"
    behaviour = binding.mismatch if wish is None else wish
    return "error" if behaviour == "error" else "thinking_dropped"


def _change(kind: str, at: str, reason: str) -> dict[str, str]:
    return {"type": kind, "path": at, "reason": reason}


def _invalid(at: str, block: Named) -> str:
    seal = "signature" if block.kind == "thinking" else "data"
    return f"{at}: Invalid `{seal}` in `{block.kind}` block"


def _bound_elsewhere(at: str, block: Named) -> Refusal:
    return refuse(
        "prefix",
        f"{_invalid(at, block)}. The block is bound to a different conversation. Remove the block, "
        'or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block". That setting '
        f"requires the `{BINDING_BETA}` value in the `anthropic-beta` header.",
    )
