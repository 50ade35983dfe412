"""`python -m benchmarks.flames`: where the CPU of a steady request goes.

Writes a flame graph (SVG) and a list of the busiest lines (text) for a 1 MB and a 20 MB request
into benchmarks/profiles. py-spy looks at Cuesta's process from outside while requests come, and
counts the thread that holds the interpreter's lock: threads that wait are left out, and so is what
the kernel does to move bytes.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks.client import Caller, calling
from benchmarks.conversations import steady_bodies
from benchmarks.plan import MB
from benchmarks.report import commit
from benchmarks.servers import CUESTA, House, Server, upstream
from benchmarks.steady import size_label

_FOLDER = Path(__file__).with_name("profiles")
_SIZES = (1 * MB, 20 * MB)
_SECONDS = 10
_RATE = 400
_LINES = 30
_WARM = 20
_TITLE = re.compile('(<text id="title"[^>]*>)[^<]*')


def main() -> int:
    """Profile all sizes; the argument is py-spy's command."""
    spy = sys.argv[1] if len(sys.argv) > 1 else ".bench/tools/bin/py-spy"
    _FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="cuesta-flames-") as folder, upstream() as port:
        house = House(Path(folder), Path(), upstream=port)
        for size in _SIZES:
            with house.run(CUESTA) as server, calling(server.port) as caller:
                _profile(spy, server, caller, size)
    return 0


def _profile(spy: str, server: Server, caller: Caller, size: int) -> None:
    name = size_label(size)
    target = _FOLDER / f"steady-{name.replace(' ', '-').lower()}"
    following = steady_bodies(size, size)
    for _ in range(_WARM):
        caller.post(*following())
    raw = target.with_suffix(".raw")
    for form, file in (("flamegraph", target.with_suffix(".svg")), ("raw", raw)):
        words = ["--format", form, "--output", str(file), "--pid", str(server.pid)]
        process = subprocess.Popen(
            [spy, "record", "--gil", "--duration", str(_SECONDS), "--rate", str(_RATE), *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while process.poll() is None:
            caller.post(*following())
        if process.returncode:
            raise SystemExit(f"{spy} failed with status {process.returncode}; may it attach?")
    _retitle(target.with_suffix(".svg"), f"A steady {name} request")
    text = _summary(raw.read_text().splitlines(), f"A steady {name} request, commit {commit()}")
    raw.unlink()
    target.with_suffix(".txt").write_text(text)
    print(text)


def _retitle(svg: Path, title: str) -> None:
    """Put a title in the place of the command, which names folders of this machine."""
    svg.write_text(_TITLE.sub(rf"\g<1>{title}", svg.read_text(), count=1))


def _summary(stacks: list[str], title: str) -> str:
    """Return the busiest lines: by themselves, and with all that they call."""
    own: Counter[str] = Counter()
    under: Counter[str] = Counter()
    for stack in stacks:
        frames, _, count = stack.rpartition(" ")
        names = frames.split(";")
        own[names[-1]] += int(count)
        for name in set(names):
            under[name] += int(count)
    total = own.total() or 1
    parts = [f"{title}: {total} samples of the thread that holds the lock"]
    for what, counts in (("by itself", own), ("with what it calls", under)):
        lines = [f"{n / total:6.1%}  {name}" for name, n in counts.most_common(_LINES)]
        parts.append("\n".join([f"Share of samples, {what}:", *lines]))
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.exit(main())
