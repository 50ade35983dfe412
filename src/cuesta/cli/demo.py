"""`cuesta demo`: one long job twice, straight and through Cuesta, and what that cost.

Everything runs on this machine: a scripted agent that really works in a scratch workspace, and a
simulated provider that refuses what the real one would refuse, keeps a prefix cache and bills for
it. Tokens are the simulator's count, prices those of the model's dated table.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from cuesta.cli.bill import Bill, bill_of, bill_table, cliffs_of, saving_of, short_tokens
from cuesta.cli.chart import UNICODE, Chart, draw, glyphs_for, svg
from cuesta.core.errors import CuestaError
from cuesta.core.prices import PRICES_AS_OF, PriceBook
from cuesta.dialects.registry import DIALECTS
from cuesta.exchange.engine import Engine
from cuesta.exchange.options import CompactionOptions
from cuesta.proxy.app import Proxy
from cuesta.proxy.options import ProxyOptions
from cuesta.store.memory import MemoryStore
from cuesta.testing.agent import MODEL, AgentError, AgentResult, ScriptedAgent, TurnReport
from cuesta.testing.job import Job, repair_job
from cuesta.testing.simulator import ListScript, Simulator
from cuesta.testing.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

_STRAIGHT = "straight"
_THROUGH = "through Cuesta"
_PLAIN_EVERY = 10
_WIDTH = 80


@dataclass(frozen=True, slots=True)
class _Run:
    """One run of the job.

    Attributes:
        result: What the agent tells.
        refused: How many requests the provider refused.
        bill: What it cost.
    """

    result: AgentResult
    refused: int
    bill: Bill

    @property
    def faults(self) -> list[str]:
        """What went wrong, in words for a person."""
        found = []
        if not self.result.finished:
            found.append(f"{self.bill.name}: the job ended with failing tests")
        if self.refused:
            found.append(f"{self.bill.name}: the provider refused {self.refused} requests")
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the run as plain values."""
        return {
            **self.bill.to_dict(),
            "tests_pass": self.result.finished,
            "refused": self.refused,
            "prompts": [usage.prompt for usage in self.result.usages],
        }


def demo(
    out_dir: Path,
    json_output: bool,
    threshold: int | None,
    profile: str,
    job: Job | None = None,
) -> int:
    """Run the demonstration.

    Args:
        out_dir: Where `saw-tooth.svg` is written; made if it is not there.
        json_output: Print one JSON object instead of progress, table and chart.
        threshold: Drop above this many tokens; None leaves the choice to Cuesta.
        profile: How to compact.
        job: What the agent does; by default the repair of a library.

    Returns:
        0, or 1 if a run ended with failing tests or the provider refused a request.

    Raises:
        ConfigError: If threshold or profile make no sense.
        CuestaError: If a run broke off, with the provider's words.
        OSError: If the folder cannot be written.
    """
    compaction = CompactionOptions(profile=profile, threshold=threshold or 0)
    compaction.policy()
    out_dir.mkdir(parents=True, exist_ok=True)
    picture = out_dir / "saw-tooth.svg"
    console = Console(highlight=False, quiet=json_output)
    job = job or repair_job()
    began = time.monotonic()
    _introduce(console, job)
    straight, compacted = asyncio.run(_both(_Screen(console, len(job.steps)), job, compaction))
    seconds = time.monotonic() - began
    chart = _chart(straight, compacted)
    picture.write_text(svg(chart), encoding="utf-8")
    if json_output:
        asked = {"model": MODEL, "profile": profile, "threshold": threshold}
        ended = {"seconds": round(seconds, 1), "picture": str(picture)}
        print(json.dumps(asked | _figures(straight, compacted) | ended, indent=2))
    else:
        _show(console, straight, compacted, chart)
        console.print(f"\nThe same as a picture: {picture}", soft_wrap=True)
    faults = straight.faults + compacted.faults
    for fault in faults:
        print(f"cuesta: error: {fault}", file=sys.stderr)
    return 1 if faults else 0


async def _both(screen: _Screen, job: Job, compaction: CompactionOptions) -> tuple[_Run, _Run]:
    """Do the job twice, each time with a provider and a workspace of its own."""
    straight = await _work(screen, job, _STRAIGHT, _no_proxy)
    compacted = await _work(
        screen, job, _THROUGH, lambda upstream: _start_proxy(upstream, compaction)
    )
    return straight, compacted


@asynccontextmanager
async def _no_proxy(upstream_url: str) -> AsyncIterator[str]:
    yield upstream_url


@asynccontextmanager
async def _start_proxy(upstream_url: str, compaction: CompactionOptions) -> AsyncIterator[str]:
    """Run the real proxy before a provider while the context lasts; gives its base URL.

    It keeps nothing on disk and listens on a free port of the loopback.

    Args:
        upstream_url: The provider's base URL.
        compaction: When and how to compact.
    """
    options = ProxyOptions(port=0, upstream=upstream_url, ephemeral=True)
    taps = {name: dialect.usage_tap for name, dialect in DIALECTS.items()}
    store = MemoryStore()
    proxy = Proxy(Engine(compaction), store, options, taps)
    await proxy.start()
    try:
        yield f"http://{options.host}:{proxy.port}"
    finally:
        await proxy.stop()
        store.close()


async def _work(
    screen: _Screen,
    job: Job,
    name: str,
    before: Callable[[str], AbstractAsyncContextManager[str]],
) -> _Run:
    """Do the job once; `before` puts what is wanted between agent and provider."""
    simulator = Simulator(ListScript(job.steps))
    with Workspace() as workspace, screen.follow(name) as on_turn:
        async with simulator, before(simulator.url) as url:
            agent = ScriptedAgent(url, workspace, job.task, job.interjections)
            try:
                result = await agent.run(on_turn)
            except AgentError as error:
                raise CuestaError(f"the run {name} broke off: {error}") from error
    refused = simulator.invalid + simulator.overflows
    run = _Run(result, refused, bill_of(name, result.usages, PriceBook().price(MODEL)))
    screen.sum_up(run)
    return run


class _Screen:
    """Follows the runs: a live line on a terminal, a plain line now and then elsewhere.

    Args:
        console: Where to.
        turns: How many turns a run takes.
    """

    def __init__(self, console: Console, turns: int) -> None:
        self._console = console
        self._turns = turns

    @contextmanager
    def follow(self, name: str) -> Iterator[Callable[[TurnReport], None]]:
        """Give what is to be called with each turn of a run."""
        prompts: list[int] = []
        if not self._console.is_terminal:
            yield lambda report: self._plain(name, prompts, report)
            return
        columns = (
            TextColumn("{task.description:<14}"),
            BarColumn(bar_width=18),
            MofNCompleteColumn(),
            TextColumn("{task.fields[now]}"),
        )
        with Progress(*columns, console=self._console, transient=True) as progress:
            task = progress.add_task(name, total=self._turns, now="")

            def on_turn(report: TurnReport) -> None:
                now = _now(prompts, report)
                progress.update(task, completed=report.turn, now=now)

            yield on_turn

    def sum_up(self, run: _Run) -> None:
        """Print the line that stays of a run."""
        tests = "tests pass" if run.result.finished else "tests FAIL"
        self._console.print(
            f"{run.bill.name:<14}  {run.bill.calls} calls, {tests}, "
            f"largest prompt {short_tokens(run.bill.peak)}, ${run.bill.cost:.2f}"
        )

    def _plain(self, name: str, prompts: list[int], report: TurnReport) -> None:
        now = _now(prompts, report)
        fell = len(prompts) - 1 in cliffs_of(prompts)
        if fell or report.turn % _PLAIN_EVERY == 1:
            self._console.print(f"{name:<14}  {report.turn:>3}/{self._turns}  {now}")


def _now(prompts: list[int], report: TurnReport) -> str:
    """Note a turn's prompt; return what is told of the turn."""
    prompts.append(report.prompt_tokens)
    tool = report.tools[-1] if report.tools else "done"
    return f"{short_tokens(prompts[-1]):>6} tokens  cliffs {len(cliffs_of(prompts))}  {tool}"


def _introduce(console: Console, job: Job) -> None:
    console.print(
        f"A scripted agent repairs a bug in a small library, in {len(job.steps)} calls to a\n"
        "simulated provider on this machine: first straight, then through Cuesta.\n"
    )


def _figures(straight: _Run, compacted: _Run) -> dict[str, Any]:
    """Return both runs as plain values; `saving` is the part of the straight cost not spent."""
    return {
        "straight": straight.to_dict(),
        "compacted": compacted.to_dict(),
        "saving": round(saving_of(straight.bill, compacted.bill), 4),
    }


def _chart(straight: _Run, compacted: _Run) -> Chart:
    one, two = straight.bill, compacted.bill
    saving = round(100 * saving_of(one, two))
    saved = f" ({-saving:+} %)" if saving else ""
    return Chart(
        title=f"Prompt tokens of each call, {MODEL}",
        straight=[usage.prompt for usage in straight.result.usages],
        compacted=[usage.prompt for usage in compacted.result.usages],
        straight_label=f"{one.name}: ${one.cost:.2f}, largest prompt {short_tokens(one.peak)}",
        compacted_label=(
            f"{two.name}: ${two.cost:.2f}{saved}, "
            f"largest prompt {short_tokens(two.peak)}, {two.cliffs} cliffs"
        ),
    )


def _show(console: Console, straight: _Run, compacted: _Run, chart: Chart) -> None:
    width = min(_WIDTH, console.width)
    console.print()
    console.print(bill_table(straight.bill, compacted.bill), width=width)
    console.print()
    drawn = Text(draw(chart, glyphs_for(console.encoding), width))
    drawn.highlight_regex(f"[{UNICODE.fills}{UNICODE.cliff}]+", "cyan")
    console.print(drawn, soft_wrap=True)
    console.print(f"\nPrices: {MODEL}, {PRICES_AS_OF}. Tokens: as the simulator counts them.")
