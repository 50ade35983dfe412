"""What the two OpenAI wires share: how they refuse, and how their judges work.

Sources of the wording: openai/openai-python (types), and the threads named with each rule.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, NamedTuple, TypeVar

from cuesta.testing.simulator.blocks import HERE
from cuesta.testing.simulator.conditions import Conditions
from cuesta.testing.simulator.judging import BodyError, Headers, Verdict, parse_body
from cuesta.testing.simulator.prompts import Entry, Prompt
from cuesta.testing.simulator.refusals import Refusal

if TYPE_CHECKING:
    from cuesta.testing.simulator.canon import Json

MAX_BODY_BYTES = 50 * 1024 * 1024
"""Source: OpenAI, "Images and vision": 50 MB in all; vm0-ai/vm0#34178 saw 39.8 MB taken."""

_NOT_JSON = (
    "We could not parse the JSON body of your request. (HINT: This likely means you aren't using "
    "your HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not "
    "valid JSON.)"
)


class Breach(NamedTuple):
    """A broken rule, and how the provider words it. `HERE` stands for the entry's path."""

    rule: str
    text: str
    param: str | None = None
    code: str | int | None = None
    status: int = 400
    type: str = "invalid_request_error"

    def at(self, path: str) -> Breach:
        """Return the breach of an entry that stands at a path, such as `messages[3]`."""
        param = None if self.param is None else self.param.replace(HERE, path)
        return self._replace(text=self.text.replace(HERE, path), param=param)


@dataclass(frozen=True, slots=True)
class OpenAiRefusal(Refusal):
    """One request refused, in OpenAI's shape.

    Attributes:
        param: The parameter at fault, or None.
        code: The error's code, or None.
    """

    param: str | None = None
    code: str | int | None = None

    def body(self, request_id: str) -> dict[str, object]:
        """Return the answer's JSON value; the request's id stands in a header only."""
        del request_id
        error = {
            "message": self.message,
            "type": self.type,
            "param": self.param,
            "code": self.code,
        }
        return {"error": error}


def refuse(breach: Breach, sources: Mapping[str, str]) -> OpenAiRefusal:
    """Return the refusal for a breach.

    Args:
        breach: The breach.
        sources: Where the rules of its wire were read.
    """
    return OpenAiRefusal(
        breach.status,
        breach.type,
        breach.text,
        breach.rule,
        sources[breach.rule],
        breach.param,
        breach.code,
    )


def missing(param: str) -> Breach:
    """Return the breach of a member that is not there."""
    text = f"Missing required parameter: '{param}'."
    return Breach("fields", text, param, "missing_required_parameter")


def unknown(param: str) -> Breach:
    """Return the breach of a member that nobody knows."""
    return Breach("unknown", f"Unknown parameter: '{param}'.", param, "unknown_parameter")


def wrong_type(param: str, expected: str, value: object) -> Breach:
    """Return the breach of a member of the wrong type."""
    text = f"Invalid type for '{param}': expected {expected}, but got {_named(value)} instead."
    return Breach("fields", text, param, "invalid_type")


def unsupported(rule: str, param: str, value: object, supported: list[str]) -> Breach:
    """Return the breach of a member that is none of a few words."""
    quoted = [f"'{word}'" for word in supported]
    listed = " and ".join(
        [", ".join(quoted[:-1]) + ("," if len(quoted) > 2 else ""), quoted[-1]]
        if len(quoted) > 1
        else quoted
    )
    text = f"Invalid value: '{value}'. Supported values are: {listed}."
    return Breach(rule, text, param, "invalid_value")


def too_short(param: str) -> Breach:
    """Return the breach of an array without entries."""
    text = (
        f"Invalid '{param}': empty array. Expected an array with minimum length 1, but got an "
        "empty array instead."
    )
    return Breach("empty", text, param, "empty_array")


def too_long(rule: str, param: str, value: str | list[object], limit: int) -> Breach:
    """Return the breach of a string or an array that is longer than its limit."""
    kind, code = (
        ("string", "string_above_max_length")
        if isinstance(value, str)
        else ("array", "array_above_max_length")
    )
    article = "a" if kind == "string" else "an"
    text = (
        f"Invalid '{param}': {kind} too long. Expected {article} {kind} with maximum length "
        f"{limit}, but got {article} {kind} with length {len(value)} instead."
    )
    return Breach(rule, text, param, code)


def _named(value: object) -> str:
    names: dict[type, str] = {
        str: "a string",
        list: "an array",
        dict: "an object",
        bool: "a boolean",
        int: "an integer",
        float: "a decimal",
    }
    return names.get(type(value), "null")


PromptT = TypeVar("PromptT", bound=Prompt[Entry])


class OpenAiJudge(ABC, Generic[PromptT]):
    """Checks requests against every rule of one wire, remembering what was answered.

    Args:
        conditions: What the provider is like today.
    """

    sources: ClassVar[Mapping[str, str]]

    def __init__(self, conditions: Conditions | None = None) -> None:
        self.conditions = conditions or Conditions()

    def check(self, body: bytes | Json, headers: Headers = ()) -> Refusal | None:
        """Return why the provider would refuse a request, or None; see `verdict`."""
        return self.verdict(body, headers).refusal

    def verdict(
        self, body: bytes | Json, headers: Headers = (), *, counting: bool = False
    ) -> Verdict[PromptT]:
        """Check a request and return everything that was found.

        Args:
            body: The body, decompressed; or its parsed value, of which the size is not checked.
            headers: The request's headers; no rule of these wires reads them.
            counting: Whether the request only counts tokens: no window.
        """
        del headers
        parsed = self._parse(body)
        if isinstance(parsed, Breach):
            return Verdict(refuse(parsed, self.sources), None)
        breach = self._incomplete(parsed)
        if breach is not None:
            return Verdict(refuse(breach, self.sources), None)
        request = self._read(parsed)
        breach = next(self._breaches(request), None)
        if breach is None and not counting:
            breach = self._overflow(request)
        return Verdict(None if breach is None else refuse(breach, self.sources), request)

    def answered(self, body: bytes | Json, content: list[Json]) -> None:
        """Remember what the model answered to a body.

        Args:
            body: The request that was answered.
            content: The answer, as it went over the wire.

        Raises:
            ValueError: If the body cannot be read.
        """
        request = self.verdict(body).request
        if request is None:
            raise ValueError("a body that cannot be read has no answer")
        self.keep(request, content)

    @abstractmethod
    def keep(self, request: PromptT, content: list[Json]) -> None:
        """Remember what the model answered to a request that is already read."""

    def prompt_tokens(self, request: PromptT) -> int:
        """Return what a request's prompt is billed as, in tokens."""
        return round(request.tokens() * self.conditions.bill_factor)

    def _parse(self, body: bytes | Json) -> Json | Breach:
        try:
            return parse_body(body, MAX_BODY_BYTES)
        except BodyError as error:
            if error.too_large:
                text = "413 Payload Too Large"
                return Breach("size", text, status=413)
            return Breach("body", _NOT_JSON)

    def _overflow(self, request: PromptT) -> Breach | None:
        window = self.conditions.window
        tokens = self.prompt_tokens(request)
        if window is None or tokens <= window:
            return None
        return self._too_many(tokens, window)

    @abstractmethod
    def _incomplete(self, body: Json) -> Breach | None:
        """Return why a body has nothing to read, or None."""

    @abstractmethod
    def _read(self, body: Json) -> PromptT:
        """Read a body that is complete."""

    @abstractmethod
    def _breaches(self, request: PromptT) -> Iterator[Breach]:
        """Yield what is wrong with a request, the most basic first."""

    @abstractmethod
    def _too_many(self, tokens: int, window: int) -> Breach:
        """Return the breach of a prompt that does not fit the window."""


def no_model(body: Json) -> Breach | None:
    """Return the breach of a body that names no model, or None."""
    if isinstance(body.get("model"), str) and body["model"]:
        return None
    return Breach("fields", "you must provide a model parameter")
