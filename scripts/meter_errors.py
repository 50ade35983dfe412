"""Compare the meter's estimates with what providers billed, on saved sessions.

Usage: python scripts/meter_errors.py [FOLDER]
"""

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from cuesta.core.meter import meter_for
from cuesta.core.models import read_model, tokenizer
from cuesta.core.readings import Bill, next_prompt
from cuesta.core.transcript import Outline, outline
from cuesta.dialects.registry import DIALECTS
from cuesta.harnesses.saved.files import SavedFile, find, read_file
from cuesta.protocols.lexicon import speaks_human
from cuesta.trace.session import Call, Session

DEFAULT = Path(__file__).resolve().parents[2] / "shared" / "data" / "sessions"
ORDER = ("claude-code", "pi", "gemini-cli", "mini-swe-agent")
"""The folders that are read first, so that the halves stay what they were."""
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
    """A call, measured: its bill, and what it added."""

    prompt: int
    hole: bool
    added: int
    human: bool
    thinks: bool


def saved(folder: Path) -> Iterator[Path]:
    """Yield the files under a folder."""
    return find([*(place for name in ORDER if (place := folder / name).exists()), folder])


def billed(files: Iterable[SavedFile]) -> Iterator[Session]:
    """Yield the sessions of files that tell what each call was billed."""
    for file in files:
        for session in file.sessions:
            if session.calls and all(call.usage for call in session.calls):
                yield session


def family(session: Session) -> str:
    """Name a session's tokenizer by its first model."""
    return tokenizer(read_model(session.calls[0].model))


def row(session: Session) -> str:
    """Name the row that a session belongs to."""
    return f"{session.harness}, {family(session)}"


def measure(session: Session, *, thoughts: bool) -> Errors:
    """Measure one session, hidden thoughts counted as billed again or not."""
    steps = list(_steps(session, thoughts=thoughts))
    errors = Errors(sessions=1, calls=len(steps))
    errors.hidden.append(steps[0].prompt - steps[0].added)
    bill: Bill | None = None
    start = Bill(0, 0)
    estimate, thinks = 0, False
    for step in steps:
        prompt, before = step.prompt, bill
        estimate += step.added
        bill = Bill(prompt, estimate)
        thinks = thinks or step.thinks
        dropped = step.human and thinks
        if session.whole:
            errors.cold.append(abs(estimate - prompt) / prompt)
        elif before is None or step.hole or dropped or prompt < before.prompt:
            start, thinks = bill, False
        elif prompt - start.prompt >= PIECE:
            grown = prompt - start.prompt
            errors.cold.append(abs(estimate - start.estimate - grown) / grown)
            start = bill
        if step.hole:
            errors.holes += 1
        elif before is not None:
            errors.next.append(abs(next_prompt(before, estimate).tokens - prompt) / prompt)
    return errors


def _steps(session: Session, *, thoughts: bool) -> Iterator[Step]:
    before: Call | None = None
    for call in session.calls:
        start = before.at if before else 0
        outlines = [_outline(session, call, raw) for raw in session.messages[start : call.at]]
        hidden = before.thoughts if before and thoughts else 0
        yield Step(
            prompt=call.usage.prompt if call.usage else 0,
            hole=call.hole,
            added=sum(o.tokens for o in outlines) + hidden,
            human=any(o.human for o in outlines),
            thinks=bool(hidden) or any(o.thinks for o in outlines),
        )
        before = call


def _outline(session: Session, call: Call, message: bytes) -> Outline:
    read, digest = DIALECTS[session.wire].parse(message)
    meter = meter_for(read_model(call.model))
    return outline(read, digest, meter, human=speaks_human(read))


def errors_of(session: Session) -> Errors:
    """Measure a session as its bills say of hidden thoughts."""
    without = measure(session, thoughts=False)
    if session.whole or not any(call.thoughts for call in session.calls):
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
    files = (file for path in saved(folder) for file in read_file(path))
    measured = [(row(s), errors_of(s)) for s in billed(files)]
    show("all sessions", table(measured))
    show("every second session", table(measured[::2]))
    show("the others", table(measured[1::2]))
    print(TREATMENT)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT)
