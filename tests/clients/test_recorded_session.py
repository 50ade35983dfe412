"""A real Claude Code session, recorded; its replay is held to the bytes that the provider saw."""

import pytest
from claude_rig import Tasks, claude, headless

from cuesta.exchange.options import CompactionOptions
from cuesta.harnesses.saved.base import Problems
from cuesta.harnesses.saved.recordings import Recordings
from cuesta.lab.recorded import replayed
from cuesta.store.recordings import read_recordings
from cuesta.testing.simulator import Simulator

pytestmark = pytest.mark.clients


def test_a_recorded_session_is_replayed_to_the_byte(cuesta, environment, home):
    folder = home / "recordings"
    with Simulator(Tasks({"counting": 30})).in_thread() as simulator:
        run = [cuesta, "run", "--upstream", simulator.url, "--threshold", "30000"]
        command = [*run, "--record", str(folder), "--", *claude("-p", "Do your counting.")]
        done = headless(command, environment, home)
    assert "counting is finished" in done.stdout
    assert f"conversations are recorded in {folder}" in " ".join(done.stderr.split())
    (path,) = folder.iterdir()
    assert b"sk-dummy" not in path.read_bytes()

    records = list(read_recordings(folder))
    options = CompactionOptions(**records[0].opened.options)
    assert options.threshold == 30_000
    replay = list(replayed(records, options))
    assert [body for _, body in replay] == [record.sent for record, _ in replay]
    seen = sorted(call.raw for call in simulator.calls if call.path == "/v1/messages")
    forms = [form.body or record.body for record, _ in replay for form in record.forms]
    assert sorted(forms) == seen
    assert sum(record.event.new_cliff for record, _ in replay) >= 2

    problems = Problems()
    sessions = list(Recordings().read(path.read_bytes(), problems))
    assert not problems.counts
    longest = max(sessions, key=lambda session: len(session.messages))
    assert len(longest.calls) >= 30
    assert longest.whole
    assert set(longest.members) == {"system", "tools"}
    print(f"\n| Claude Code, recorded and replayed | {len(replay)} requests, "  # noqa: T201 - figures
          f"{sum(r.event.new_cliff for r, _ in replay)} cliffs, all bytes the same |")  # fmt: skip
