"""`cuesta status`: what went through, what it used, what that cost."""

from __future__ import annotations

import argparse
import http.client
import json
import os
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from cuesta.cli.bill import short_tokens
from cuesta.cli.options import DECLARATIONS, Parser, add_flags, gather, options_of
from cuesta.cli.text import fitted, wrapped
from cuesta.core.errors import CuestaError
from cuesta.proxy.options import ProxyOptions
from cuesta.store.paths import state_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from cuesta.store.base import Store

T = TypeVar("T")

_TEXT = """\
Show what went through Cuesta, what it used and what that cost: all that was
kept on this machine, or what one running proxy did since its start.

  cuesta status
  cuesta status --port 4141
"""

_ACTIONS = {
    "keep": "as they were",
    "replace": "compacted",
    "pass": "passed on",
    "refuse": "refused",
    "failed": "failed open",
}
_MODEL_WIDTH = 26
_WIDTH = 80
_LABEL_WIDTH = 10
_LAST_PORT = 65_535
_ANSWER_LIMIT = 64 << 20
"""Bytes of a page that are read; ours stay far below."""


def main(argv: list[str]) -> int:
    """Print the totals and return 0."""
    arguments = question("status", _TEXT).parse_args(argv)
    if arguments.port is not None:
        status, lines = ask(arguments.port, "/-/cuesta/status", lambda told: (told, _lines(told)))
    else:
        store = open_kept(arguments, "status")
        try:
            status = {**store.totals().to_dict(), "degraded": store.degraded}
        finally:
            store.close()
        lines = _lines(status)
    print(json.dumps(status, indent=2) if arguments.json else "\n".join(lines))
    return 0


def _lines(status: Mapping[str, Any]) -> list[str]:
    """Write the totals for a person, within 80 columns."""
    return [*_sums(status), *_bill(status["models"])]


def _sums(status: Mapping[str, Any]) -> Iterator[str]:
    if status.get("upstream"):
        yield from _labelled("upstream", status["upstream"])
    if status.get("workers", 1) > 1:
        yield f"worker    one of {status['workers']}; `cuesta status` alone sums all of them"
    models = status["models"]
    counts = status["requests"]
    actions = (f"{counts[name]} {words}" for name, words in _ACTIONS.items() if counts.get(name))
    yield f"requests  {sum(counts.values())}: {', '.join(actions) or 'none yet'}"
    yield f"cliffs    {status['cliffs']}, {status['external_cliffs']} of them external"
    raw = sum(model["raw_tokens"] for model in models.values())
    sent = sum(model["sent_tokens"] for model in models.values())
    if raw:
        yield (
            f"prompts   {short_tokens(sent)} tokens sent of {short_tokens(raw)}"
            f" ({100 * (raw - sent) / raw:.0f} % less; estimates)"
        )
    if status["cliffs"]:
        yield from _labelled("worth", saving(status))
    if status.get("failures"):
        yield f"failures  {status['failures']} requests could not be handled"
    if status["degraded"]:
        yield from _labelled("warning", status["degraded"])


def _labelled(label: str, text: str) -> Iterator[str]:
    """Write text behind a label, in as many lines as it takes."""
    for line in wrapped(text, _WIDTH - _LABEL_WIDTH):
        yield f"{label:<{_LABEL_WIDTH}}{line}"
        label = ""


def saving(status: Mapping[str, Any]) -> str:
    """Compare with what the same calls would have been without a cliff, in a few words.

    Args:
        status: What the proxy's `/-/cuesta/status` tells.

    Returns:
        Dollars where they are billed and every price is known, prompt tokens otherwise.
    """
    account = status.get("account") or {}
    shadow = account.get("shadow", False)
    done = "would have been saved" if shadow else "saved"
    if account and not account["subscription"] and not account["unpriced_models"]:
        saved, cost = account["saved_usd"], account["cost_usd"]
        if saved < 0:
            return f"about ${-saved:.2f} more than without (estimate)"
        return f"about ${saved:.2f} of ${cost if shadow else cost + saved:.2f} {done} (estimate)"
    models = status["models"].values()
    raw = sum(model["raw_tokens"] for model in models)
    sent = sum(model["sent_tokens"] for model in models)
    return f"{short_tokens(raw - sent)} of {short_tokens(raw)} prompt tokens {done} (estimate)"


def _bill(models: Mapping[str, Any]) -> Iterator[str]:
    """Write what each model used and cost."""
    if models:
        yield ""
        yield f"{'billed tokens':<{_MODEL_WIDTH}}" + _row(
            "input", "cached", "written", "output", "cost"
        )
    for name, model in models.items():
        yield f"{fitted(name, _MODEL_WIDTH - 1)} " + _row(*_figures(model), _cost(model))
    if any(_cost(model).endswith("*") for model in models.values()):
        yield "* at list prices; a subscription is not billed by the token"


def _row(*cells: str) -> str:
    return "".join(f"{cell:>10}" for cell in cells)


def _figures(model: Mapping[str, Any]) -> tuple[str, ...]:
    usage = model["usage"]
    written = usage["cache_write_5m"] + usage["cache_write_1h"]
    figures = (usage["input"], usage["cache_read"], written, usage["output"])
    return tuple(short_tokens(figure) for figure in figures)


def _cost(model: Mapping[str, Any]) -> str:
    if model["list_dollars"] is None:
        return "unknown"
    star = "*" if model["list_dollars"] > model["dollars"] else ""
    return f"${model['list_dollars']:,.2f}{star}"


def question(verb: str, text: str) -> Parser:
    """Return the parser of a verb that asks a proxy, or what was kept.

    Args:
        verb: The verb.
        text: Its help.
    """
    parser = Parser(f"cuesta {verb}", text)
    parser.add_argument("--port", type=_port, metavar="N", help="ask the proxy that listens there")
    parser.add_argument("--json", action="store_true", help="print JSON")
    others = {option.name for option in options_of(ProxyOptions)} - {"state_dir"}
    add_flags(parser, ProxyOptions, without=others)
    return parser


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= _LAST_PORT):
        raise argparse.ArgumentTypeError(f"expected a port from 1 to {_LAST_PORT}, not {text!r}")
    return int(text[:9])


def open_kept(arguments: argparse.Namespace, verb: str) -> Store:
    """Open what was kept on this machine.

    Args:
        arguments: Parsed by `question`'s parser.
        verb: The verb, for the advice.

    Raises:
        CuestaError: If nothing has been kept yet, or what was cannot be read.
    """
    from cuesta.store.sqlite import FILE_NAME, read_store  # noqa: PLC0415 - SQLite only if needed

    del arguments.port  # a question of its own here, not the option of the same name
    given = gather(arguments, os.environ, *DECLARATIONS)
    folder = state_folder(given.values.get("state_dir", ""))
    if not (folder / FILE_NAME).is_file():
        raise CuestaError(
            f"nothing has been kept yet in\n  {folder}\n"
            "Start an agent with `cuesta run -- claude`, or ask a running proxy by its port:\n"
            f"  cuesta {verb} --port 4141"
        )
    return read_store(folder)


def ask(port: int, path: str, read: Callable[[Any], T]) -> T:
    """Return what a proxy on this machine says under a path.

    Args:
        port: Where it listens.
        path: The page, with its query.
        read: Makes something of the page's JSON.

    Raises:
        CuestaError: If no proxy answers there, or nothing can be made of what does.
    """
    answer = fetch(f"http://127.0.0.1:{port}", path)
    if answer is None:
        raise CuestaError(
            f"no Cuesta proxy answers on 127.0.0.1 port {port}.\n"
            "Start one with `cuesta serve`, or leave --port out to see what was kept."
        )
    try:
        return read(answer)
    except (ArithmeticError, AttributeError, KeyError, OSError, TypeError, ValueError):
        raise CuestaError(
            f"what answers on 127.0.0.1 port {port} is no Cuesta proxy, or another version's.\n"
            "`cuesta serve` tells its port when it starts."
        ) from None


def fetch(address: str, path: str, timeout: float = 3.0) -> Any:  # noqa: ANN401 - JSON
    """Return the JSON that a Cuesta proxy answers, or None where none does.

    HTTP proxies of the environment are not asked.

    Args:
        address: Where it listens: `http://HOST:PORT`.
        path: The page, with its query.
        timeout: Seconds to wait for each step.
    """
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 80, timeout=timeout)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return json.loads(answer.read(_ANSWER_LIMIT)) if answer.status == 200 else None
    except (OSError, http.client.HTTPException, ValueError, RecursionError):
        return None
    finally:
        connection.close()
