"""Run the adapters' jobs with the real packages against the simulator and print the table.

Usage: python scripts/adapters.py [--venvs FOLDER] [ROW ...]

Each job runs twice: without Cuesta, and with the adapter. What the proxy would have sent for the
requests of the first run is what those of the second must be.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapter_rows import ROWS, Row

from cuesta.core.digest import OPENING
from cuesta.exchange.engine import Engine
from cuesta.exchange.options import CompactionOptions
from cuesta.testing.driver import Bench
from cuesta.testing.simulator import Call, Simulator

_ROOT = Path(__file__).resolve().parents[1]
_JOBS = _ROOT / "tests" / "integrations" / "jobs"
_TIMEOUT = 600
_NEWEST = 13
"""The newest Python 3 that all packages have wheels for."""
_MINTED = frozenset({"signature", "data", "encrypted_content", "reasoning_content", "id"})
"""What the simulated model makes anew in each run, beside what it says and does."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was seen of one row.

    Attributes:
        version: The package's version.
        rounds: How many requests the package sent.
        cliffs: How many different digests stood in them.
        counted: How many cliffs the adapter counted.
        failures: How many requests the adapter let out as they came.
        invalid: How many requests the simulator refused.
        digests: How many of the digests are the proxy's, byte for byte.
        same: How many of the requests hold the proxy's messages.
        wanted: How many cliffs the proxy makes of the same history.
    """

    version: str
    rounds: int
    cliffs: int
    counted: int
    failures: int
    invalid: int
    digests: int
    same: int
    wanted: int

    @property
    def good(self) -> bool:
        """Whether all is as it should be."""
        return (
            self.cliffs == self.counted == self.digests == self.wanted >= 3
            and not self.invalid
            and not self.failures
            and self.same == self.rounds
        )


def environment(row: Row, folder: Path) -> Path:
    """Return the Python of a row's environment, made first where it is not there."""
    place = folder / (row.venv or row.name)
    python = place / "bin" / "python"
    made = place / f"made-{row.extra}"
    if made.exists():
        return python
    print(f"{row.name}: making {place} ...", file=sys.stderr)
    if not python.exists():
        interpreter = _interpreter(row.python)
        subprocess.run([interpreter, "-m", "venv", place], check=True)  # noqa: S603 - our own
    wanted = [f"{_ROOT}[{row.extra}]", *row.requires]
    command = [python, "-m", "pip", "install", "--quiet", "--editable", *wanted]
    subprocess.run(command, check=True)  # noqa: S603 - our own command
    made.touch()
    return python


def _interpreter(wanted: str) -> str:
    """Return the lowest Python from a version on that is there and starts.

    Version managers put commands on the path for versions that are not switched on.
    """
    for minor in range(int(wanted.split(".")[1]), _NEWEST + 1):
        found = shutil.which(f"python3.{minor}")
        if found and _starts(found):
            return found
    raise SystemExit(f"no Python {wanted} on the path: install it, or switch it on (`pyenv shell`)")


def _starts(python: str) -> bool:
    return not subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode  # noqa: S603 - a Python


def version(python: Path, package: str) -> str:
    """Return the version of a package in an environment."""
    code = f"from importlib.metadata import version; print(version({package!r}))"
    command = [python, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - ours
    return run.stdout.strip()


def played(
    row: Row, python: Path, options: dict[str, Any] | None
) -> tuple[list[Call], int, dict[str, int]]:
    """Run a row's job; return the conversation's calls, the refused ones, and what was counted."""
    simulator = Simulator(row.script(), **row.simulator)
    with tempfile.TemporaryDirectory() as place, simulator.in_thread():
        out = Path(place) / "out.json"
        (Path(place) / "home").mkdir()
        command = [python, _JOBS / row.job, row.name, simulator.url, out, json.dumps(options)]
        run = subprocess.run(  # noqa: S603 - our own command
            command,
            cwd=Path(place) / "home",
            env=_environment(Path(place)),
            capture_output=True,
            text=True,
            timeout=_TIMEOUT,
            check=False,
        )
        if run.returncode or not out.exists():
            raise SystemExit(
                f"{row.name}: the job failed\n{run.stdout[-3000:]}{run.stderr[-3000:]}"
            )
        counted = json.loads(out.read_text())
    talk = [call for call in simulator.calls if call.conversation and call.status == 200]
    return talk, simulator.invalid, counted


def _environment(place: Path) -> dict[str, str]:
    """Return a bare environment: a home of its own, the source beside the packages, no keys."""
    return {
        "HOME": str(place / "home"),
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": f"{_ROOT / 'src'}:{_JOBS}",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "ANTHROPIC_API_KEY": "sk-none",
        "OPENAI_API_KEY": "sk-none",
        "LANG": "C.UTF-8",
    }


def texts(value: object) -> Iterator[str]:
    """Yield every string in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts(part)


def digests(bodies: Sequence[dict[str, Any]]) -> list[str]:
    """Return the different digests of a run, in their order."""
    found = {text[text.index(OPENING) :]: None for text in texts(list(bodies)) if OPENING in text}
    return list(found)


def told(body: dict[str, Any]) -> object:
    """Return a request's messages without what each run of the model makes anew.

    Neighbours of one role are one message on Anthropic's wire, and texts beside each other one
    text; scaffolds differ in how they write that down.
    """
    listed = _without_minted(body.get("messages", body.get("input")))
    joined: list[Any] = []
    for message in listed:
        role, parts = message.get("role"), message.get("content")
        if role is None or role == "tool":
            joined.append(message)
            continue
        parts = [{"type": "text", "text": parts}] if isinstance(parts, str) else parts
        if joined and joined[-1].get("role") == role == "user":
            joined[-1] = {**joined[-1], "content": _texts([*joined[-1]["content"], *parts])}
        else:
            joined.append({**message, "content": _texts(parts or [])})
    return joined


def _texts(parts: list[Any]) -> list[Any]:
    """Put texts beside each other together, and leave markers of the cache out."""
    joined: list[Any] = []
    for part in parts:
        plain = {k: v for k, v in part.items() if k != "cache_control"}
        if joined and "text" in plain and joined[-1].get("type") == plain.get("type"):
            text = f"{joined[-1]['text']}\n\n{plain['text']}"
            joined[-1] = {**plain, "text": text}
        else:
            joined.append(plain)
    return joined


def _without_minted(value: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, list):
        return [_without_minted(part) for part in value]
    if isinstance(value, dict):
        return {k: _without_minted(v) for k, v in value.items() if k not in _MINTED}
    return value


def outcome(row: Row, folder: Path) -> Outcome:
    """Run a row twice and compare."""
    python = environment(row, folder)
    plain, _, _ = played(row, python, None)
    folded, invalid, counted = played(row, python, row.options)
    bench = Bench(Engine(CompactionOptions(**row.options)))
    wanted = [json.loads(bench.send(call.raw, path=call.path).body) for call in plain]
    sent = [json.loads(call.raw) for call in folded]
    mine, theirs = digests(sent), digests(wanted)
    return Outcome(
        version=version(python, row.package),
        rounds=len(sent),
        cliffs=len(mine),
        counted=counted.get("cliffs", len(mine)),
        failures=counted.get("failures", 0),
        invalid=invalid,
        digests=sum(one == other for one, other in zip(mine, theirs, strict=False)),
        same=sum(told(a) == told(b) for a, b in zip(sent, wanted, strict=False)),
        wanted=len(theirs),
    )


def line(row: Row, seen: Outcome) -> str:
    """Return a row of the table."""
    digests, requests = f"{seen.digests} of {seen.wanted}", f"{seen.same} of {seen.rounds}"
    cells = (row.name, row.package, seen.version, seen.rounds, seen.cliffs, seen.invalid)
    return _cells(*cells, digests, requests, "yes" if seen.good else "NO")


def _cells(*cells: object) -> str:
    """Lay a row's cells out, the first three to the left."""
    widths = (22, 20, 10, 6, 6, 7, 8, 9, 4)
    pairs = enumerate(zip(cells, widths, strict=True))
    return " ".join(f"{cell!s:{'<' if i < 3 else '>'}{width}}" for i, (cell, width) in pairs)


def main() -> None:
    """Run the rows that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--venvs", type=Path, default=_ROOT / ".adapters", help="environments")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(r.name for r in ROWS))
    asked = parser.parse_args()
    unknown = set(asked.rows) - {row.name for row in ROWS}
    if unknown:
        parser.error(f"no such row: {', '.join(sorted(unknown))}")
    heads = "adapter package version rounds cliffs invalid digests requests good"
    print(_cells(*heads.split()))
    good = True
    for row in ROWS:
        if not asked.rows or row.name in asked.rows:
            seen = outcome(row, asked.venvs)
            good &= seen.good
            print(line(row, seen), flush=True)
    sys.exit(0 if good else "not every adapter did what the proxy does")


if __name__ == "__main__":
    main()
