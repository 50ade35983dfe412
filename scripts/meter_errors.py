"""Compare the meter's estimates with what providers billed, on saved sessions.

Usage: python scripts/meter_errors.py [FOLDER]
"""

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from saved_sessions import Call, Session, saved_sessions

from cuesta.core.meter import meter_for
from cuesta.core.models import read_model, tokenizer
from cuesta.core.readings import Bill, next_prompt
from cuesta.core.transcript import Outline, outline
from cuesta.dialects.registry import DIALECTS
from cuesta.protocols.lexicon import speaks_human

DEFAULT = Path(__file__).resolve().parents[2] / "shared" / "data" / "sessions"
PIECE = 5_000
"""Tokens that a prompt has to grow for one comparison of the estimate alone."""

TREATMENT = f"""\
cold      the estimate alone, no bill known. Where the saved messages are the
          whole prompt (mini-swe-agent): every prompt. Elsewhere system prompt
          and tools are hidden: each piece of {PIECE:,} tokens or more by which
          the bill grew is compared with its estimate, so that nothing hidden
          is fitted or subtracted. A piece begins anew where the saved history
          is not what was sent (a hole), where the prompt shrank, and where a
          person spoke after thinking (providers drop it then).
next      the last bill and the estimate of what came on top, over the whole
          billed prompt, hidden parts included; not behind a hole.
hidden    what the first bill of a session holds beyond its estimate, median.
thinking  shown thinking is estimated as text. Hidden thinking (Gemini) is
          taken from its bill, where the bills show that it is billed again."""


@dataclass(slots=True)
class Errors:
    """What was seen of one source and family; errors are shares of the bill."""

    sessions: int = 0
    calls: int = 0
    holes: int = 0
    cold: list[float] = field(default_factory=list)
    next: list[float] = field(default_factory=list)
    hidden: list[int] = field(default_factory=list)

    def add(self, other: "Errors") -> None:
        """Add another session's."""
        self.sessions += other.sessions
        self.calls += other.calls
        self.holes += other.holes
        self.cold += other.cold
        self.next += other.next
        self.hidden += other.hidden


@dataclass(slots=True)
class Step:
    """A call, measured: what it added, and how the bill grew."""

    call: Call
    added: int
    human: bool
    thinks: bool


def family(session: Session) -> str:
    """Name a session's tokenizer by its first model."""
    return tokenizer(read_model(session.calls[0].model))


def measure(session: Session, *, thoughts: bool) -> Errors:
    """Measure one session, hidden thoughts counted as billed again or not."""
    steps = [_step(session, call, thoughts=thoughts) for call in session.calls]
    errors = Errors(sessions=1, calls=len(steps))
    errors.hidden.append(steps[0].call.prompt - steps[0].added)
    bill: Bill | None = None
    start = Bill(0, 0)
    estimate, thinks = 0, False
    for step in steps:
        prompt, before = step.call.prompt, bill
        estimate += step.added
        bill = Bill(prompt, estimate)
        thinks = thinks or step.thinks
        dropped = step.human and thinks
        if session.whole:
            errors.cold.append(abs(estimate - prompt) / prompt)
        elif before is None or step.call.hole or dropped or prompt < before.prompt:
            start, thinks = bill, False
        elif prompt - start.prompt >= PIECE:
            grown = prompt - start.prompt
            errors.cold.append(abs(estimate - start.estimate - grown) / grown)
            start = bill
        if step.call.hole:
            errors.holes += 1
        elif before is not None:
            errors.next.append(abs(next_prompt(before, estimate).tokens - prompt) / prompt)
    return errors


def _step(session: Session, call: Call, *, thoughts: bool) -> Step:
    outlines = [_outline(session, call, message) for message in call.added]
    hidden = call.thoughts if thoughts else 0
    return Step(
        call,
        added=sum(o.tokens for o in outlines) + hidden,
        human=any(o.human for o in outlines),
        thinks=bool(hidden) or any(o.thinks for o in outlines),
    )


def _outline(session: Session, call: Call, message: dict[str, object]) -> Outline:
    read, digest = DIALECTS[session.wire].parse(json.dumps(message).encode())
    meter = meter_for(read_model(call.model))
    return outline(read, digest, meter, human=speaks_human(read))


def errors_of(session: Session) -> Errors:
    """Measure a session as its bills say of hidden thoughts."""
    without = measure(session, thoughts=False)
    if not any(call.thoughts for call in session.calls):
        return without
    return min(without, measure(session, thoughts=True), key=lambda e: median(e.next or [1.0]))


def table(measured: Iterable[tuple[str, Errors]]) -> dict[str, Errors]:
    """Sum sessions up by source and family."""
    rows: dict[str, Errors] = defaultdict(Errors)
    for name, errors in measured:
        rows[name].add(errors)
    return rows


def percent(values: Sequence[float], share: float = 0.5) -> str:
    """Write a quantile of errors as a percentage."""
    if not values:
        return "-"
    return f"{100 * sorted(values)[int(share * (len(values) - 1))]:.2f} %"


def show(title: str, rows: dict[str, Errors]) -> None:
    """Print a table of at most 80 columns."""
    heads = ("saved", "calls", "holes", "cold", "next", "90th", "hidden")
    print(f"{title:<22}" + "".join(f"{head:>8}" for head in heads))
    for name, e in rows.items():
        cells = (
            f"{e.sessions}", f"{e.calls:,}", f"{e.holes}", percent(e.cold), percent(e.next),
            percent(e.next, 0.9), f"{int(median(e.hidden)):,}",
        )  # fmt: skip
        print(f"{name:<22}" + "".join(f"{cell:>8}" for cell in cells))
    print()


def main(folder: Path) -> None:
    """Print the errors over all sessions of a folder, then over two halves of them."""
    if not folder.is_dir():
        print(f"There are no saved sessions at {folder}; nothing to compare with.")
        return
    measured = [
        (f"{s.source}, {family(s)}", errors_of(s)) for s in saved_sessions(folder) if s.calls
    ]
    show("all sessions", table(measured))
    show("every second session", table(measured[::2]))
    show("the others", table(measured[1::2]))
    print(TREATMENT)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT)
