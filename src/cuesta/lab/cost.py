"""What a replay's calls would have been billed: two models of the prefix cache.

`perfect` is the paper's (Appendix A.1), to the letter. `engine` is what prefix caches do: a prompt
finds what the previous one began with in the cache, in whole blocks, under the provider's rules.
They differ most behind a cliff: the head stays in an engine's cache, the paper charges it anew.

Sources of the rules, as of 2026-11:

- Anthropic, "Prompt caching": entries stand at markers only, and a marker finds those up to 20
  positions back, its own the first; shorter prefixes than a minimum by model are not cached;
  reading renews an entry's 5 minutes or 1 hour; writing costs 1.25 or 2 times the input price.
- OpenAI, "Prompt caching": from 1,024 tokens in steps of 128; gone after 5 to 10 minutes without
  use. From GPT-5.6 on an entry stands where a request ended, exactly; it lives 30 minutes at least,
  and writing it costs 1.25 times the input price, which is the price class `cache_write_5m`.
- Google, "Context caching": implicit; at least 2,048 tokens on Gemini 2.5, 4,096 on later ones. No
  step and no lifetime are documented, and a hit is not promised.
- DeepSeek, "Context caching": on disk for hours to days. A prefix ends where a question or an
  answer ended, or at fixed intervals: 64 tokens in the guide's first version, since then untold.
- Z.ai and Moonshot document that prefixes are cached by themselves, and no numbers. Their models,
  and unknown ones, are taken to be served as vLLM serves them.
- vLLM, "Automatic prefix caching": whole blocks of 16 tokens, 128 on CPUs. llama.cpp: every token.
  Both keep the answer but for its last token, and compute at least one token of a prompt.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Protocol

from cuesta.core.models import Model, read_model, tokenizer
from cuesta.core.usage import Usage
from cuesta.lab.replay import Step


@dataclass(frozen=True, slots=True)
class CacheRules:
    """How one kind of prefix cache works.

    Attributes:
        block: Tokens that are found or missed together.
        minimum: Fewest tokens of a prefix from which it is cached.
        answers: Whether the model's own answer is in the cache for the next prompt.
        writes: The class that what enters the cache is billed in: `input`, `cache_write_5m` or
            `cache_write_1h`.
        lifetime: Seconds after which an unused prefix is gone; 0: never.
        look_back: Entries are found at fewer than so many positions before the end of a prompt;
            0: anywhere. Where they are not, those of system prompt and tools are, which carry a
            marker in every client known.
    """

    block: int = 1
    minimum: int = 0
    answers: bool = False
    writes: str = "input"
    lifetime: float = 0.0
    look_back: int = 0


_LOOK_BACK = 20

RULES: Mapping[str, CacheRules] = MappingProxyType(
    {
        "anthropic-5m": CacheRules(
            minimum=1024, writes="cache_write_5m", lifetime=300, look_back=_LOOK_BACK
        ),
        "anthropic-1h": CacheRules(
            minimum=1024, writes="cache_write_1h", lifetime=3600, look_back=_LOOK_BACK
        ),
        "openai": CacheRules(block=128, minimum=1024, answers=True, lifetime=600),
        "openai-5.6": CacheRules(minimum=1024, writes="cache_write_5m", lifetime=1800),
        "gemini": CacheRules(minimum=4096, answers=True),
        "gemini-2.5": CacheRules(minimum=2048, answers=True),
        "deepseek": CacheRules(block=64, answers=True),
        "llama.cpp": CacheRules(answers=True),
        "vllm": CacheRules(block=16, answers=True),
        "vllm-cpu": CacheRules(block=128, answers=True),
    }
)
"""Known caches by name; for Anthropic's the most common minimum."""

_MINIMUM_FLOORS = {
    "fable": (((5, 0), 512),),
    "mythos": (((5, 0), 512),),
    "opus": (((5, 0), 512), ((4, 8), 1024), ((4, 5), 4096)),
    "haiku": (((5, 0), 1024), ((4, 5), 4096), ((3, 0), 2048)),
}
_GPT = re.compile(r"gpt-(\d+)(?:\.(\d+))?")
_GEMINI = re.compile(r"gemini-(\d+)")


def rules_for(model: str, *, hour: bool = False) -> CacheRules:
    """Return the rules of the provider that serves a model; a plain engine's for unknown ones.

    Args:
        model: The model's name as it stands in a request.
        hour: Whether the client asks for entries of an hour, where it can choose.
    """
    read = read_model(model)
    if read.claude:
        rules = RULES["anthropic-1h" if hour else "anthropic-5m"]
        return replace(rules, minimum=_minimum(read))
    name, family = model.lower(), tokenizer(read)
    if family == "gpt":
        found = _GPT.search(name)
        new = found is not None and (int(found[1]), int(found[2] or 0)) >= (5, 6)
        return RULES["openai-5.6" if new else "openai"]
    if family == "gemini":
        found = _GEMINI.search(name)
        old = found is not None and int(found[1]) < 3
        return RULES["gemini-2.5" if old else "gemini"]
    return RULES["deepseek" if "deepseek" in name else "vllm"]


def _minimum(model: Model) -> int:
    """Return the shortest prefix that Anthropic caches for a model, in tokens."""
    floors = _MINIMUM_FLOORS.get(model.family, ())
    return next((least for floor, least in floors if model.generation >= floor), 1024)


class Sized(Protocol):
    """A call, as far as the paper's model looks at it."""

    @property
    def prompt(self) -> int:
        """Tokens of the prompt."""

    @property
    def output(self) -> int:
        """Tokens of the answer."""


def perfect(steps: Sequence[Sized]) -> list[Usage]:
    """Bill calls in their order by the paper's perfect cache.

    The first call is uncached. A prompt that is not shorter than the one before finds all of that
    one cached; one that shrank finds nothing. A strategy's own calls count like any other.
    """
    bills = []
    before = 0
    for number, step in enumerate(steps):
        cached = before if number and step.prompt >= before else 0
        bills.append(Usage(step.prompt - cached, cached, output=step.output))
        before = step.prompt
    return bills


def engine(steps: Sequence[Step], rules: CacheRules | None = None) -> list[Usage]:
    """Bill a replay's calls as a prefix cache would.

    Only the prompt before on the same model is looked at, and what expires with it is all that
    there was.

    Args:
        steps: The calls.
        rules: The cache's; by default those of each model's provider.
    """
    known = {step.model: rules or rules_for(step.model) for step in steps}
    return [_bill(step, known[step.model]) for step in steps]


def _bill(step: Step, rules: CacheRules) -> Usage:
    cached = _found(step, rules)
    new = step.prompt - cached
    if rules.writes == "input" or step.prompt < rules.minimum:
        return Usage(new, cached, output=step.output)
    return Usage(cache_read=cached, output=step.output, **{rules.writes: new})


def _found(step: Step, rules: CacheRules) -> int:
    """Return how many tokens of a prompt are in the cache."""
    if rules.lifetime and step.gap > rules.lifetime:
        return 0
    found = step.common + step.answered if rules.answers else step.common
    if rules.look_back and step.behind >= rules.look_back:
        found = min(step.fixed, step.common)
    # At least one token is always computed: an engine needs its answer.
    cached = min(found, step.prompt - 1) // rules.block * rules.block
    return cached if cached >= rules.minimum else 0


def total(bills: Sequence[Usage]) -> Usage:
    """Return the sum."""
    return sum(bills, Usage())
